"""The address of a run's page: said to the browser, and gone to where the browser goes back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

from nicegui import ui

HEARS = "addEventListener('popstate', () => emitEvent('went', location.pathname + location.search))"


class Address:
    """Keeps the browser's address at what the page shows, and goes where the browser goes back to.

    Args:
        go: gets the last part of the path and the step of the address that the browser went to.
    """

    def __init__(self, go: Callable[[str, int | None], Awaitable[None]]) -> None:
        self._go = go
        self.said = ''
        """What the browser shows, as far as this page has said it."""
        ui.on('went', lambda event: self._went(str(event.args)))
        ui.run_javascript(HEARS)

    def say(self, address: str, *, leap: bool) -> None:
        """Show an address; a leap is an entry of its own in the browser's history, a step is not."""
        if address != self.said:
            self.said = address
            method = 'pushState' if leap else 'replaceState'
            ui.run_javascript(f'history.{method}(null, "", {json.dumps(address)})')

    async def _went(self, address: str) -> None:
        end, step = read(address)
        self.said = address
        await self._go(end, step)


def read(address: str) -> tuple[str, int | None]:
    """The last part of an address's path, and the step it names; None where it names none."""
    parts = urlsplit(address)
    at = parse_qs(parts.query).get('at', [''])[0]
    return parts.path.rpartition('/')[2], int(at) if at.isdigit() else None
