"""Windows that tests reuse: a new one costs as much as loading a page in it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error

ANSWERS = '!document.querySelector("#app") || window.did_handshake === true'
"""A page of NiceGUI's keeps what is done to it back until its socket is there, and then lets a click overtake
what was typed 10 ms before it: faster than a person, and not faster than a test."""
UNKNOWN = """new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
        for (const node of addedNodes)
            for (const one of node.querySelectorAll ? [node, ...node.querySelectorAll("*")] : [])
                if (one.localName.startsWith("q-")) console.error(`No ${one.localName} in our Quasar`);
}).observe(document, { childList: true, subtree: true })"""
"""Vue draws a component that it does not know as an element of that name, and says nothing."""
STAYS = (
    *('add_init_script', 'expose_binding', 'expose_function', 'new_cdp_session', 'on'),
    *('route', 'route_web_socket', 'set_default_navigation_timeout', 'set_default_timeout', 'set_offline'),
)
"""What a test does to a page or its context that would still hold in the next test."""
QUIET = '/hemicycle/diagram/edges.js'
"""A document without scripts, of the same origin: where a window is left between tests."""
FORGET = 'localStorage.clear(); sessionStorage.clear(); window.name = ""'


class Window:
    """A page in its own context."""

    def __init__(self, browser: Browser, size: dict[str, int], scheme: str, **options: Any) -> None:
        self.errors: list[str] = []
        """What the page complained of."""
        self.scheme = scheme
        self.as_new = not options
        """Whether it can be, for another test."""
        self._origins: set[str] = set()
        self.context = browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion='reduce', **options
        )
        self.context.add_init_script(UNKNOWN)
        self.page = self.context.new_page()
        self.page.on('console', self._hear)
        self.page.on('pageerror', lambda error: self.errors.append(str(error)))
        for name in ('goto', 'reload', 'go_back', 'go_forward'):
            self._wait_after(name)
        for owner in (self.context, self.page):
            for name in STAYS:
                self._note(owner, name)

    def take(self, size: dict[str, int]) -> None:
        """Lend it to a test at this size."""
        self.errors = []
        if self.page.viewport_size != size:
            self.page.set_viewport_size(size)
        self.page.emulate_media(
            media='null', color_scheme=self.scheme, reduced_motion='reduce', forced_colors='null'
        )

    def give_back(self) -> bool:
        """Reset it after a test; if that is not possible, it is closed and the result is false."""
        if self.as_new and not self.page.is_closed() and len(self._origins) < 2:
            try:
                for other in self.context.pages:
                    if other is not self.page:
                        other.close()
                for origin in self._origins:
                    self.page.goto(origin + QUIET)
                    self.page.evaluate(FORGET)
                self.page.mouse.move(-1, -1)
                self.context.clear_cookies()
                self.context.clear_permissions()
            except Error:  # Its server is gone, say.
                self.as_new = False
            self._origins.clear()
            if self.as_new:
                return True
        self.context.close()
        return False

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == 'error':
            self.errors.append(f'{message.text} ({message.location.get("url", "")})')

    def _note(self, owner: object, name: str) -> None:
        act = getattr(owner, name, None)
        if act is None:
            return

        def act_noted(*arguments: object, **options: object) -> object:
            self.as_new = False
            return act(*arguments, **options)

        setattr(owner, name, act_noted)

    def _wait_after(self, name: str) -> None:
        go = getattr(self.page, name)

        def went(*arguments: Any, **options: Any) -> object:
            if name == 'goto':
                address = urlsplit(arguments[0])
                self._origins.add(f'{address.scheme}://{address.netloc}')
            try:
                answer = go(*arguments, **options)
            except Error as error:
                if 'ERR_ABORTED' not in error.message:
                    raise
                answer = go(*arguments, **options)  # the page reloaded itself at the same moment
            self.page.wait_for_function(ANSWERS)
            return answer

        setattr(self.page, name, went)


class Windows:
    """The windows of one browser that no test uses."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Window] = []

    def open(self, width: int, height: int, scheme: str, **options: Any) -> Window:
        """A clean window, or a new one if there is none or options are given."""
        size = {'width': width, 'height': height}
        for window in self._free:
            if window.scheme == scheme and not options:
                self._free.remove(window)
                window.take(size)
                return window
        return Window(self._browser, size, scheme, **options)

    def close(self, window: Window) -> None:
        """Take a window back from a test."""
        if window.give_back():
            self._free.append(window)
