"""Fixtures for tests in a real Chromium: servers, pages and their console, the accessibility check."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.bench.processes import free_port
from tests.browser.server import Server
from tests.browser.windows import Window, Windows
from tests.support import chromium

HERE = Path(__file__).parent
OpenPage = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Console:
    """Errors in the browsers' consoles during a test; at its end, only expected ones may be left."""

    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Ignore errors that match this regular expression (of a killed server, say)."""
        self.expected.append(pattern)

    def unexpected_errors(self) -> list[str]:
        return [error for error in self.errors if not any(re.search(known, error) for known in self.expected)]


@pytest.fixture(scope='package')
def browser() -> Iterator[Browser]:
    # For this folder only: while Playwright's loop runs, tests with their own loop cannot.
    path = chromium.path()
    if path is None:
        pytest.fail('no Chromium or Chrome was found: install one, or name it in HEMICYCLE_CHROMIUM')
    with sync_playwright() as playwright:
        expect.set_options(timeout=10_000)
        browser = playwright.chromium.launch(executable_path=path, args=chromium.ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope='package')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that tests share: its lists may contain runs of other tests."""
    server = Server(tmp_path_factory.mktemp('server'))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope='package')
def port() -> int:
    """The port of servers for one test, so that the browser has cached their scripts."""
    return free_port()


@pytest.fixture
def new_server(tmp_path: Path, port: int) -> Iterator[Server]:
    """A server with an empty database, for one test: set `pace` or `patterns`, then `start` it."""
    server = Server(tmp_path, port=free_port(port))
    yield server
    server.stop()


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture(scope='package')
def windows(browser: Browser) -> Windows:
    return Windows(browser)


@pytest.fixture(scope='module')
def home_window(windows: Windows, server: Server) -> Iterator[Window]:
    window = windows.open(1440, 900, 'light')
    window.page.goto(server.url)
    yield window
    windows.close(window)


@pytest.fixture
def home(home_window: Window, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The home page, loaded once for a module that calls scripts there directly."""
    failed = request.session.testsfailed
    yield home_window.page
    home_window.as_new &= request.session.testsfailed == failed
    errors, home_window.errors = home_window.errors, []
    assert errors == []


@pytest.fixture
def open_page(
    windows: Windows, console: Console, new_server: Server, request: pytest.FixtureRequest
) -> Iterator[OpenPage]:
    """Opens pages, each in a context of its own: `open_page(width=390, height=844, scheme='dark')`.

    The server is named so that pages are closed before it ends: they would complain that it is gone.
    """
    opened, failed = [], request.session.testsfailed

    def open_one(width: int = 1440, height: int = 900, scheme: str = 'light', **options: object) -> Page:
        window = windows.open(width, height, scheme, **options)
        opened.append(window)
        return window.page

    yield open_one
    for window in opened:
        window.as_new &= request.session.testsfailed == failed
        windows.close(window)
    console.errors += [error for window in opened for error in window.errors]
    assert console.unexpected_errors() == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()


AXE = Axe().axe_script
"""Half a megabyte, which a page gets once."""
SEEN = {'exclude': [['[id^="q-portal--tooltip"]']]}
"""All of a page but tooltips, which repeat the names of buttons and are outside of every landmark."""
COLOURS = {'type': 'rule', 'values': ['color-contrast', 'link-in-text-block']}
"""The rules whose answer is another in another colour scheme."""
RECOLOURED = """dark => (!document.getElementById('app')  // of ours without scripts
        || document.body.classList.contains('body--dark') === dark)
    && document.getAnimations().every(one => !(one instanceof CSSTransition))"""


@pytest.fixture
def axe() -> Callable[..., None]:
    """Fails where a page has an accessibility finding of any impact.

    With `dark`, a light page's colours are looked at in dark as well; it is light again afterwards.
    `within` looks at that part alone, such as a menu: those are outside of every landmark, rightly.
    """

    def check(page: Page, *, dark: bool = False, within: str = '') -> None:
        context = {'include': [[within]]} if within else SEEN
        assert findings(page, context) == []
        if dark:
            recolour(page, 'dark')
            assert findings(page, context, runOnly=COLOURS) == []
            recolour(page, 'light')

    return check


def findings(page: Page, context: dict[str, list[list[str]]] = SEEN, **options: object) -> list[str]:
    """The findings of axe on a page, or on a part of it."""
    # Without descriptions of the elements that pass: they take as long again.
    options = {'preload': False, 'resultTypes': ['violations'], **options}
    if not page.evaluate('"axe" in window'):
        page.evaluate(AXE)
    found = page.evaluate(
        '([context, options]) => axe.run(context, options).then(({ violations }) => violations)',
        [context, options],
    )
    return [
        f'{item["id"]}: {item["help"]}: {[node["html"][:200] for node in item["nodes"]]}' for item in found
    ]


def recolour(page: Page, scheme: Literal['light', 'dark']) -> None:
    """Switch the page to the other colour scheme."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(RECOLOURED, arg=scheme == 'dark')
