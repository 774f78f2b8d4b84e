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
        self._suspended = False
        self.last = ''
        """The current address, last set by the page or by the browser."""
        ui.on('went', lambda event: self._on_navigate(str(event.args)))
        ui.run_javascript(LISTEN)

    def show(self, address: str, *, add_history: bool) -> None:
        """Show an address: as a new entry of the browser's history, or instead of the current one."""
        if address != self.last and not self._suspended:
            self.last = address
            method = 'pushState' if add_history else 'replaceState'
            ui.run_javascript(f'history.{method}(null, "", {json.dumps(address)})')

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Suspend changes of the address while the page moves to one: no state in between may be reloaded."""
        self._suspended = True
        try:
            yield
        finally:
            self._suspended = False

    async def _on_navigate(self, address: str) -> None:
        self.last = address
        await self._go(*parse_address(address))


def parse_address(address: str) -> tuple[str, int | None, str]:
    """Return the last part of the path, the step (None if there is none), and the inspector's tab."""
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    at = query.get('at', [''])[0]
    return parts.path.rpartition('/')[2], int(at) if at.isdigit() else None, query.get('inspect', [''])[0]
