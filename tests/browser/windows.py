"""Windows that tests reuse: a new one costs as much as loading a page in it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error

from ui.web.pages.run.panes import tab_titles

ANSWERS = '!document.querySelector("#app") || window.did_handshake === true'
"""A NiceGUI page holds back input until its socket is connected, and then lets a click overtake text typed
10 ms earlier: a test is that fast, a person is not."""
UNKNOWN = """new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
        for (const node of addedNodes)
            for (const one of node.querySelectorAll ? [node, ...node.querySelectorAll("*")] : [])
                if (one.localName.startsWith("q-")) console.error(`No ${one.localName} in our Quasar`);
}).observe(document, { childList: true, subtree: true })"""
"""Vue silently renders an unknown component as an element of that name."""
LASTING_CALLS = (
    *('add_init_script', 'expose_binding', 'expose_function', 'new_cdp_session', 'on'),
    *('route', 'route_web_socket', 'set_default_navigation_timeout', 'set_default_timeout', 'set_offline'),
)
"""Calls on a page or its context that would still affect the next test."""
RUN_PAGE = re.compile(rf'/runs/[0-9a-f]+(/({"|".join(tab_titles())}))?$')
"""The run page, which tests open in Debug, where everything is in sight, unless they name another face."""
BLANK = '/hemicycle/diagram/edges.js'
"""A document without scripts, of the same origin, that a window shows between tests."""
CLEAR_STORAGE = 'localStorage.clear(); sessionStorage.clear(); window.name = ""'


class Window:
    """A page in its own context."""

    def __init__(self, browser: Browser, size: dict[str, int], scheme: str, **options: Any) -> None:
        self.errors: list[str] = []
        """Console errors and exceptions of the page."""
        self.scheme = scheme
        self.reusable = not options
        """Whether it can be reset for another test."""
        self._origins: set[str] = set()
        self.context = browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion='reduce', **options
        )
        self.context.add_init_script(UNKNOWN)
        self.page = self.context.new_page()
        self.page.on('console', self._record_error)
        self.page.on('pageerror', lambda error: self.errors.append(str(error)))
        for name in ('goto', 'reload', 'go_back', 'go_forward', 'wait_for_url'):
            self._wait_after(name)
        for owner in (self.context, self.page):
            for name in LASTING_CALLS:
                self._track(owner, name)

    def prepare(self, size: dict[str, int]) -> None:
        """Prepare it for a test at this size."""
        self.errors = []
        if self.page.viewport_size != size:
            self.page.set_viewport_size(size)
        self.page.emulate_media(
            media='null', color_scheme=self.scheme, reduced_motion='reduce', forced_colors='null'
        )

    def reset(self) -> bool:
        """Reset it after a test; if that is not possible, close it and return false."""
        if self.reusable and not self.page.is_closed() and len(self._origins) < 2:
            try:
                for other in self.context.pages:
                    if other is not self.page:
                        other.close()
                for origin in self._origins:
                    self.page.goto(origin + BLANK)
                    self.page.evaluate(CLEAR_STORAGE)
                self.page.mouse.move(-1, -1)
                self.context.clear_cookies()
                self.context.clear_permissions()
            except Error:  # Its server may have stopped.
                self.reusable = False
            self._origins.clear()
            if self.reusable:
                return True
        self.context.close()
        return False

    def _record_error(self, message: ConsoleMessage) -> None:
        if message.type == 'error':
            self.errors.append(f'{message.text} ({message.location.get("url", "")})')

    def _track(self, owner: object, name: str) -> None:
        act = getattr(owner, name, None)
        if act is None:
            return

        def tracked(*arguments: object, **options: object) -> object:
            self.reusable = False
            return act(*arguments, **options)

        setattr(owner, name, tracked)

    def _wait_after(self, name: str) -> None:
        go = getattr(self.page, name)

        def navigate(*arguments: Any, **options: Any) -> object:
            if name == 'goto':
                address = urlsplit(arguments[0])
                self._origins.add(f'{address.scheme}://{address.netloc}')
                if RUN_PAGE.search(address.path) and 'face=' not in address.query:
                    query = '&'.join(filter(None, (address.query, 'face=debug')))
                    arguments = (address._replace(query=query).geturl(), *arguments[1:])
            try:
                answer = go(*arguments, **options)
            except Error as error:
                if 'ERR_ABORTED' not in error.message:
                    raise
                answer = go(*arguments, **options)  # the page was just reloading itself
            # By default, the condition is evaluated in each frame of the page that is loading.
            self.page.wait_for_function(ANSWERS, polling=25)
            return answer

        setattr(self.page, name, navigate)


class Windows:
    """The idle windows of one browser."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Window] = []

    def open(self, width: int, height: int, scheme: str, **options: Any) -> Window:
        """Return an idle window, or a new one if none fits or options are given."""
        size = {'width': width, 'height': height}
        for window in self._free:
            if window.scheme == scheme and not options:
                self._free.remove(window)
                window.prepare(size)
                return window
        return Window(self._browser, size, scheme, **options)

    def close(self, window: Window) -> None:
        """Take a window back from a test."""
        if window.reset():
            self._free.append(window)
