"""The comparing page: two runs on one diagram and side by side, at any row."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError, RunId
from ui.beside.screen import BesideScreen
from ui.door import Door
from ui.pages import missing
from ui.parts import Text, link
from ui.served import served
from ui.theme import frame


def register(door: Door) -> None:
    """Register `/compare?a=RUN&b=RUN`, and its rows (`&at=17`)."""

    @served('/compare')
    async def compare(a: str = '', b: str = '', at: str = '') -> None:
        if not (a and b):
            choose()
            return
        conductor = door()
        try:
            found = await conductor.compare(RunId(a), RunId(b))
        except EngineError as error:
            missing.unread(error)
            return
        with frame(f'{found.a.info.title} and {found.b.info.title}', wide=True):
            screen = BesideScreen(conductor, found)
            await screen.draw(int(at) - 1 if at.isdecimal() and len(at) < 9 else None)


def choose() -> None:
    """The page where no two runs are named."""
    with frame('Compare'), ui.element('div').classes('vacant'):
        ui.icon('compare_arrows').props('size="40px"').classes('muted')
        Text('h1', 'Choose two runs')
        Text(
            'p',
            'Tick two runs in the list and press Compare, or take “Compare with …” from a run’s menu.',
            'muted',
        )
        with ui.element('div').classes('ways'), link('/runs', 'btn primary'):
            Text('span', 'All runs')
