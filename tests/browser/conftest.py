"""Fixtures for tests in a real Chromium: servers, pages and their console, the accessibility check."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect, sync_playwright

from tests.browser.server import Server
from tests.support import chromium

HERE = Path(__file__).parent
ANSWERS = '!document.querySelector("#app") || window.did_handshake === true'
"""A page of NiceGUI's keeps what is done to it back until its socket is there, and then lets a click overtake
what was typed 10 ms before it: faster than a person, and not faster than a test."""
OpenPage = Callable[..., Page]
UNKNOWN = """new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
        for (const node of addedNodes)
            for (const one of node.querySelectorAll ? [node, ...node.querySelectorAll("*")] : [])
                if (one.localName.startsWith("q-")) console.error(`No ${one.localName} in our Quasar`);
}).observe(document, { childList: true, subtree: true })"""
"""Vue draws a component that it does not know as an element of that name, and says nothing."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Console:
    """What browsers complained of during a test; at its end, nothing may be left that was not expected."""

    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def hear(self, message: ConsoleMessage) -> None:
        if message.type == 'error':
            self.errors.append(f'{message.text} ({message.location.get("url", "")})')

    def expect(self, pattern: str) -> None:
        """Do not mind errors in which this regular expression is found (a server that was killed, say)."""
        self.expected.append(pattern)

    def unexpected(self) -> list[str]:
        return [error for error in self.errors if not any(re.search(known, error) for known in self.expected)]


@pytest.fixture(scope='package')
def browser() -> Iterator[Browser]:
    # One for this folder: while Playwright's loop is there, tests that bring their own cannot run.
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
    """A server that tests share: what it lists may be another's."""
    server = Server(tmp_path_factory.mktemp('server'))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Server]:
    """A server with an empty database, for one test: set `pace` or `patterns`, then `start` it."""
    server = Server(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture
def open_page(browser: Browser, console: Console, new_server: Server) -> Iterator[OpenPage]:
    """Makes pages, each in a context of its own: `open_page(width=390, height=844, scheme='dark')`.

    The server is named so that pages are closed before it ends: they would complain that it is gone.
    """
    contexts = []

    def make(width: int = 1440, height: int = 900, scheme: str = 'light', **options: object) -> Page:
        context = browser.new_context(
            viewport={'width': width, 'height': height},
            color_scheme=scheme,
            reduced_motion='reduce',
            **options,
        )
        context.add_init_script(UNKNOWN)
        contexts.append(context)
        page = context.new_page()
        for name in ('goto', 'reload', 'go_back', 'go_forward'):
            _wait_after(page, name)
        page.on('console', console.hear)
        page.on('pageerror', lambda error: console.errors.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert console.unexpected() == []


def _wait_after(page: Page, name: str) -> None:
    go = getattr(page, name)

    def went(*arguments: object, **options: object) -> object:
        try:
            answer = go(*arguments, **options)
        except Error as error:
            if 'ERR_ABORTED' not in error.message:
                raise
            answer = go(*arguments, **options)  # the page reloaded itself at the same moment
        page.wait_for_function(ANSWERS)
        return answer

    setattr(page, name, went)


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
    """What axe finds on a page, or on a part of it."""
    # Of what is in order, axe would describe each element, too: that takes it as long again.
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
    """Have the page in the other colour scheme."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(RECOLOURED, arg=scheme == 'dark')
