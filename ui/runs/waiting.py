"""The runs that wait for a person, one click from each; nothing where none waits."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError, RunInfo, RunQuery, Status
from ui.door import Door
from ui.parts import Text, link
from ui.presenters.words import ago

EVERY = 1.0
MOST = 20
WAITING = RunQuery(status=(Status.WAITING,), limit=MOST)


class Waiting:
    """A section of its own, hidden while nothing waits."""

    def __init__(self, door: Door) -> None:
        """Draw it, hidden."""
        self._door = door
        self._shown: tuple[tuple[str, str, str], ...] = ()
        with ui.element('section').classes('section').props('aria-labelledby="waiting"') as self._section:
            self._title = Text('h2', 'Waiting for you', id='waiting')
            self._list = ui.element('ul').classes('waiting-list')
        self._section.set_visibility(False)

    async def load(self) -> None:
        """Look now, and from now on."""
        await self._look()
        ui.timer(EVERY, self._look, immediate=False)

    async def _look(self) -> None:
        try:
            page = await self._door().runs(WAITING)
        except EngineError:
            return  # the list of runs says so
        shown = tuple((info.id, info.title, info.waiting) for info in page.runs)
        if shown == self._shown:
            return
        self._shown = shown
        self._section.set_visibility(bool(shown))
        self._title.show(f'Waiting for you ({page.total})')
        self._list.clear()
        with self._list:
            for info in page.runs:
                self._draw(info)

    def _draw(self, info: RunInfo) -> None:
        with ui.element('li'), link(f'/runs/{info.id}', 'notice wait'):
            ui.icon('front_hand').props('size="20px"')
            with ui.element('span').classes('grow'):
                Text('b', info.waiting or 'An answer is needed')
                Text('span', info.title or info.id, 'waiting-run')
            Text('span', ago(info.updated, self._door().clock.now()), 'small num')
            ui.icon('chevron_right').props('size="20px"')
