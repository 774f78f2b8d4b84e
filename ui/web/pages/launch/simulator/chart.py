"""The diagram of a walk: where it is, where it has been, and the edges just taken."""

from __future__ import annotations

from collections.abc import Callable

from engine.operations.rehearsal.simulator import Moment, Simulator
from engine.records import Shape, is_active
from ui.formatting.debugger import is_waiting_for_person
from ui.formatting.diagram.folding import fold_levels
from ui.formatting.steps import edge_name, innermost
from ui.web.components.diagram.fitting import Room, fit
from ui.web.components.diagram.legend import legend
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.diagram.zoom_controls import FIT_ACTIVE, zoom_buttons
from ui.web.components.elements import Diagram
from ui.web.components.widgets import Box, Text

ROOM: Room = (720, 400)
"""The place of the diagram in a window of 1440 by 900."""


class WalkChart:
    """The panel with the diagram."""

    def __init__(self, title: str, on_pick: Callable[[str], object]) -> None:
        """Draw the panel, empty; `on_pick` gets the state that is clicked."""
        self._shape: Shape | None = None
        self._room, self._active, self._drawn = ROOM, tuple[str, ...](), ''
        with Box('panel walk-chart', 'section', aria_labelledby='chart'):
            with Box('panel-head'):
                Text('h2', 'Diagram', id='chart')
                Box('grow', 'span')
                zoom_buttons(lambda: self._diagram, fit=FIT_ACTIVE)
                legend()
            with Box('panel-body flat walk-diagram'):
                notice_without_graphviz()
                self._diagram = Diagram('', title=title, on_pick=on_pick)
                self._diagram.on_resize(self._on_resize)

    async def show(self, simulator: Simulator) -> None:
        """Show where a walk is."""
        moment, before = simulator.moment, simulator.moments[: simulator.at + 1]
        shape = simulator.shape
        leaves = [str(path) for path in moment.active]
        left = [path for step in moment.microsteps for path in step.left]
        stopped = innermost(left or (before[-2].active if len(before) > 1 else ()))
        broken = (leaves or stopped) if moment.ending == 'failed' else []
        taken = [edge_name(edge) for edge in moment.edges]
        states = [str(state.path) for state in shape.states]
        self._diagram.highlight(
            {
                'active': leaves,
                'inside': [path for path in states if path not in leaves and is_active(path, moment.active)],
                'visited': _visited(before),
                'waiting': [path for path in leaves if is_waiting_for_person(shape, path)],
                'broken': broken,
                'halted': [],
                'taken': taken,
                'traversed': [edge_name(edge) for past in before for edge in past.edges],
            }
        )
        if shape != self._shape or self._active != moment.active:
            self._shape, self._active = shape, moment.active
            await self._draw()

    async def _draw(self) -> None:
        if self._shape is not None:
            drawn, _ = await fit(self._shape, self._room, fold_levels(self._shape, self._active))
            if drawn != self._drawn:
                self._drawn = drawn
                self._diagram.show(drawn, [str(state.path) for state in self._shape.states])

    async def _on_resize(self, width: int, height: int, by_user: bool) -> None:
        if not by_user and (width, height) != self._room:
            self._room = (width, height)
            await self._draw()


def _visited(moments: tuple[Moment, ...]) -> list[str]:
    return list(
        dict.fromkeys(str(path) for past in moments for step in past.microsteps for path in step.entered)
    )
