"""The strip under a run's head: the phases' time, the report, what the run takes from people."""

from __future__ import annotations

from nicegui import ui

from engine import Conductor, RunInfo, Shape, View
from ui.panes.asks import Asks
from ui.panes.phases import Phases
from ui.parts import Text, link


class Strip:
    """Nothing of it is there for a run whose pattern keeps none of these."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape) -> None:
        self._shape = shape
        with ui.element('div').classes('run-strip') as self._root:
            self._phases = Phases(shape)
            with link(f'/runs/{info.id}/report', 'btn small') as self._report:
                ui.icon('description')
                Text('span', 'Read the report')
            self._asks = Asks(conductor, info, shape)
        self._root.set_visibility(False)

    def show(self, view: View, newest: View, *, mine: bool) -> None:
        """Show the time at the step of `view`, and what the run takes at its newest step."""
        self._phases.show(view)
        self._report.set_visibility(bool(self._shape.report and newest.memory.get(self._shape.report)))
        self._asks.show(newest, mine=mine)
        parts = (self._phases.root, self._report, self._asks.root)
        self._root.set_visibility(any(part.visible for part in parts))

    def tick(self, now: float) -> None:
        """Let time burn down."""
        self._phases.tick(now)
