"""Fixtures for tests in a real Chromium: servers, pages and their console, the accessibility check."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.bench.servers.processes import free_port
from tests.browser.patterns.crew_pattern import crew
from tests.browser.patterns.hotel_pattern import hotel
from tests.browser.server import Server
from tests.browser.windows import Window, Windows
from tests.support.pages import chromium

HERE = Path(__file__).parent
OpenPage = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Console:
    """Errors in the browsers' consoles during a test, which fails at its end if any were not expected."""

    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Ignore errors that match this regular expression, such as those caused by a killed server."""
        self.expected.append(pattern)

    def unexpected_errors(self) -> list[str]:
        return [error for error in self.errors if not any(re.search(item, error) for item in self.expected)]


@pytest.fixture(scope='package')
def browser() -> Iterator[Browser]:
    # For this package only: while Playwright's event loop runs, tests cannot run their own.
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
    """A server shared by tests: its lists may contain runs of other tests."""
    server = Server(tmp_path_factory.mktemp('server'))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope='package')
def crews(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server shared by tests, with a crew and a hotel that ask for a person, and text that streams."""
    server = Server(tmp_path_factory.mktemp('crews'), pace=150)
    server.patterns = crew(server.folder)
    hotel(server.folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def crew_server(crews: Server) -> Server:
    """That server, on which no run of another test goes on or asks."""
    crews.cancel_runs()
    return crews


@pytest.fixture(scope='package')
def port() -> int:
    """The preferred port of all `new_server`s, so that the browser has already cached their scripts."""
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
    window.page.add_style_tag(url=f'{server.url}/runs.css')
    yield window
    windows.close(window)


@pytest.fixture
def home(home_window: Window, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The home page with the styles of runs, loaded once per module, for tests that call scripts directly."""
    failed = request.session.testsfailed
    yield home_window.page
    home_window.reusable &= request.session.testsfailed == failed
    errors, home_window.errors = home_window.errors, []
    assert errors == []


@pytest.fixture
def open_page(
    windows: Windows, console: Console, new_server: Server, request: pytest.FixtureRequest
) -> Iterator[OpenPage]:
    """Opens pages, each in its own context: `open_page(width=390, height=844, scheme='dark')`.

    Depends on `new_server` so that pages close before it stops and do not log a lost connection.
    """
    opened, failed = [], request.session.testsfailed

    def open_one(width: int = 1440, height: int = 900, scheme: str = 'light', **options: object) -> Page:
        window = windows.open(width, height, scheme, **options)
        opened.append(window)
        return window.page

    yield open_one
    for window in opened:
        window.reusable &= request.session.testsfailed == failed
        windows.close(window)
    console.errors += [error for window in opened for error in window.errors]
    assert console.unexpected_errors() == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()


OVERFLOW = 'document.documentElement.scrollWidth - window.innerWidth'
ZOOMED = 720
"""A window of 1440 pixels at 200 %."""
WIDTHS = (1440, 1024, ZOOMED, 390)


def unfold(page: Page) -> None:
    """Open everything on the page that can be unfolded."""
    page.locator('details').evaluate_all('folds => folds.forEach(fold => { fold.open = true })')


def check_page(page: Page) -> None:
    """Check a page, loaded only once: that it fits at each width; in a wide window all rules of axe in light
    colours, in a narrow one in dark colours."""
    expect(page.get_by_role('heading', level=1)).to_have_count(1)
    expect(page.get_by_role('main')).to_have_count(1)
    expect(page.locator('.skeleton:visible, .transcript-feed:visible .talk:empty')).to_have_count(0)
    assert findings(page) == []
    for width in WIDTHS:
        page.set_viewport_size({'width': width, 'height': 844})
        assert page.evaluate(OVERFLOW) <= 0, width
    recolour(page, 'dark')
    assert findings(page) == [], width


AXE = Axe().axe_script
"""Half a megabyte, evaluated only once in a page."""
NO_TOOLTIPS = {'exclude': [['[id^="q-portal--tooltip"]']]}
"""A whole page except its tooltips, which repeat the names of buttons and are outside every landmark."""
COLOUR_RULES = {'type': 'rule', 'values': ['color-contrast', 'link-in-text-block']}
"""Rules whose results depend on the colour scheme."""
EXPERIMENTAL_RULES = {'label-content-name-mismatch': {'enabled': True}}
"""Rules that axe leaves out by default: a name holds the words that are seen, so that speech can press it."""
EXCEPT_DIAGRAMS = (
    """axe.configure({ rules: [{ id: 'label-content-name-mismatch', selector: ':not(.diagram *)' }] })"""
)
"""A state's name begins with what it shows; the texts on an agent's card change while it works."""
RECOLOURED = """dark => (!document.getElementById('app')  // a page of ours without scripts
        || document.body.classList.contains('body--dark') === dark)
    && document.getAnimations().every(one => !(one instanceof CSSTransition))"""


@pytest.fixture
def axe() -> Callable[..., None]:
    """Fails where a page has an accessibility finding of any impact.

    With `dark`, a light page's colours are also checked in dark mode; afterwards, it is light again.
    With `within`, only that part is checked, such as a menu, which is rightly outside every landmark.
    """

    def check(page: Page, *, dark: bool = False, within: str = '') -> None:
        context = {'include': [[within]]} if within else NO_TOOLTIPS
        assert findings(page, context) == []
        if dark:
            recolour(page, 'dark')
            assert findings(page, context, runOnly=COLOUR_RULES) == []
            recolour(page, 'light')

    return check


def findings(page: Page, context: dict[str, list[list[str]]] = NO_TOOLTIPS, **options: object) -> list[str]:
    """Return axe's findings on a page or a part of it."""
    # Describing the elements that pass would take as long again.
    options = {'preload': False, 'resultTypes': ['violations'], 'rules': EXPERIMENTAL_RULES, **options}
    if not page.evaluate('"axe" in window'):
        page.evaluate(AXE)
        page.evaluate(EXCEPT_DIAGRAMS)
    violations = page.evaluate(
        '([context, options]) => axe.run(context, options).then(({ violations }) => violations)',
        [context, options],
    )
    return [
        f'{item["id"]}: {item["help"]}: {[node["html"][:200] for node in item["nodes"]]}'
        for item in violations
    ]


def recolour(page: Page, scheme: Literal['light', 'dark']) -> None:
    """Switch the page to a colour scheme."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(RECOLOURED, arg=scheme == 'dark')
