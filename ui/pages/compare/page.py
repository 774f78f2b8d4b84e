"""The compare page: two runs on one diagram and side by side, at any row."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.records import RunId
from ui.components.theme import frame
from ui.components.widgets import Text, text_link
from ui.pages.compare.player import KEYS
from ui.pages.compare.screen import CompareScreen
from ui.pages.shared import errors
from ui.web.backend import Backend
from ui.web.routing import serve_page


def register(backend: Backend) -> None:
    """Serve `/compare?a=RUN&b=RUN`; `&at=17` selects a row."""

    @serve_page('/compare')
    async def compare(a: str = '', b: str = '', at: str = '') -> None:
        if not (a and b):
            choose()
            return
        conductor = backend()
        try:
            comparison = await conductor.compare(RunId(a), RunId(b))
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'{comparison.a.info.title} and {comparison.b.info.title}', wide=True, keys=KEYS):
            screen = CompareScreen(conductor, comparison)
            await screen.draw(int(at) - 1 if at.isdecimal() and len(at) < 9 else None)


def choose() -> None:
    """Draw the page for an address that does not name two runs."""
    with frame('Compare'), ui.element('div').classes('vacant'):
        ui.icon('compare_arrows').props('size="40px"').classes('muted')
        Text('h1', 'Choose two runs')
        Text(
            'p',
            'Select two runs in the list and press Compare, or choose “Compare with…” from a run’s menu.',
            'muted',
        )
        with ui.element('div').classes('error-actions'):
            text_link('/runs', 'All runs', 'btn primary')
