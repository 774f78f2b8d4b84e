"""The address of a run page, kept in sync with the content."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from nicegui import ui

LISTEN = "addEventListener('popstate', () => emitEvent('went', location.pathname + location.search))"


class Address:
    """Keeps the browser's address in sync with the page, and follows the back button.

    Args:
        go: called with the last part of the path, the step and the inspector's tab after the browser
            has navigated to another address.
    """

    def __init__(self, go: Callable[[str, int | None, str], Awaitable[None]]) -> None:
        self._go = go
        self._held = False
        self.last = ''
        """The current address, last set by the page or by the browser."""
        ui.on('went', lambda event: self._went(str(event.args)))
        ui.run_javascript(LISTEN)

    def say(self, address: str, *, leap: bool) -> None:
        """Show an address. A leap adds an entry to the browser's history; a step replaces the current one."""
        if address != self.last and not self._held:
            self.last = address
            method = 'pushState' if leap else 'replaceState'
            ui.run_javascript(f'history.{method}(null, "", {json.dumps(address)})')

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Suspend changes of the address while the page moves to one: no state in between may be reloaded."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    async def _went(self, address: str) -> None:
        self.last = address
        await self._go(*parse_address(address))


def parse_address(address: str) -> tuple[str, int | None, str]:
    """Return the last part of the path, the step (None if there is none), and the inspector's tab."""
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    at = query.get('at', [''])[0]
    return parts.path.rpartition('/')[2], int(at) if at.isdigit() else None, query.get('inspect', [''])[0]
