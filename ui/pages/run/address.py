"""The address of a run page, kept in step with what it shows."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from nicegui import ui

HEARS = "addEventListener('popstate', () => emitEvent('went', location.pathname + location.search))"


class Address:
    """Keeps the browser's address in step with the page, and follows the back button.

    Args:
        go: gets the last part of the path, the step, and the inspector's tab of the address that the
            browser went to.
    """

    def __init__(self, go: Callable[[str, int | None, str], Awaitable[None]]) -> None:
        self._go = go
        self._held = False
        self.last = ''
        """The address as this page has last set it."""
        ui.on('went', lambda event: self._went(str(event.args)))
        ui.run_javascript(HEARS)

    def say(self, address: str, *, leap: bool) -> None:
        """Show an address; a leap adds an entry to the browser's history, a step replaces it."""
        if address != self.last and not self._held:
            self.last = address
            method = 'pushState' if leap else 'replaceState'
            ui.run_javascript(f'history.{method}(null, "", {json.dumps(address)})')

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Say nothing while the page goes to an address: half of the way there is nowhere to reload."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    async def _went(self, address: str) -> None:
        self.last = address
        await self._go(*parse_address(address))


def parse_address(address: str) -> tuple[str, int | None, str]:
    """The last part of the path, the step (None if there is none), and the inspector's tab."""
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    at = query.get('at', [''])[0]
    return parts.path.rpartition('/')[2], int(at) if at.isdigit() else None, query.get('inspect', [''])[0]
