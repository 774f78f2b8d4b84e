"""A recording in place of models: what the launch form says of it, and which there are to choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from engine import Conductor, EngineError, RunInfo, RunQuery
from ui.parts import Text, link
from ui.theme import button, notice

LOOKED_AT = 60
"""The newest runs of a pattern, among which recordings are looked for."""
OFFERED = 8


async def recordings(conductor: Conductor, pattern: str) -> list[RunInfo]:
    """The newest runs of a pattern that were recorded; none where the journal does not answer."""
    try:
        page = await conductor.runs(RunQuery(pattern=pattern, limit=LOOKED_AT))
    except EngineError:
        return []
    return [info for info in page.runs if recorded(info)][:OFFERED]


def recorded(info: RunInfo) -> bool:
    """Whether the answers of a run's models were kept."""
    return bool(info.options.get('record'))


class Replay:
    """Says that a recording answers, whose it is, and how to call models all the same."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        """Draw nothing, until `take`."""
        self.run: RunInfo | None = None
        self._on_change = on_change
        self._place = ui.element('div').classes('notices')

    def take(self, run: RunInfo | None) -> None:
        """Let the recording of a run answer; None lets the models."""
        if run is self.run:
            return
        self.run = run
        self._place.clear()
        if run is not None:
            with self._place, notice('info', 'replay'):
                Text('b', 'The recording answers in place of all models.')
                with ui.element('p'):
                    Text('span', 'It is that of ')
                    with link(f'/runs/{run.id}'):
                        Text('span', run.title or run.id)
                    Text('span', '. What was not asked then, since the input is another one, fails.')
                button('Call models instead', kind='small').on('click', lambda: self.take(None))
        self._on_change()

    @property
    def options(self) -> dict[str, Any]:
        """What the run is started with, in place of what the form says."""
        return {'replay': self.run.id, 'record': False} if self.run else {}
