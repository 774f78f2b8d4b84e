"""The live diagram of a chart that is being written: of the last text without errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.records import Shape
from ui.formatting.diagram.folding import fold_levels
from ui.formatting.diagram.overlays import Layer
from ui.web.components.diagram.fitting import Room, fit
from ui.web.components.diagram.legend import legend
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.diagram.save_menu import save_menu
from ui.web.components.diagram.zoom_controls import zoom_buttons
from ui.web.components.elements import Diagram
from ui.web.components.widgets import Box, Text, set_class

ROOM: Room = (640, 480)
"""The place of the diagram in a window of 1440 by 900."""
STALE = 'As it was before the errors in the text'


class ChartPanel:
    """The diagram with its tools; nothing in it is laid out twice."""

    def __init__(
        self,
        title: str,
        *,
        on_state: Callable[[str], Any],
        on_edge: Callable[[str], Any],
        on_menu: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        """Draw it empty; `on_state` and `on_edge` get what is clicked, `on_menu` what a menu is asked for."""
        self.shape: Shape | None = None
        self.folded: frozenset[str] = frozenset()
        self._room, self._drawn, self._turn = ROOM, '', 0
        with Box('panel editor-chart', 'section', aria_labelledby='chart') as self._panel:
            with Box('panel-head'):
                Text('h2', 'Diagram', id='chart')
                self._note = Text('span', '', 'muted small', role='status')
                Box('grow', 'span')
                self.tools = Box('editor-tools')
                zoom_buttons(lambda: self._diagram)
                save_menu(lambda: self.shape, lambda: self.folded)
                legend()
            with Box('panel-body flat'):
                notice_without_graphviz()
                self._diagram = Diagram('', title=title, on_pick=on_state, on_context=on_menu)
                self._diagram.on_edge(lambda name, how: on_edge(name) if how == 'press' else None)
                self._diagram.on_resize(self._on_resize)

    async def show(self, shape: Shape) -> None:
        """Lay out a chart, unless it is drawn already; of several at once, only the last is shown."""
        if shape != self.shape:
            self.shape = shape
            await self._draw()

    async def _draw(self) -> None:
        if self.shape is None:
            return
        self._turn += 1
        turn, shape = self._turn, self.shape
        drawn, folded = await fit(shape, self._room, await asyncio.to_thread(_levels, shape))
        if turn == self._turn and not self._panel.is_deleted:
            self.folded = folded
            if drawn != self._drawn:
                self._drawn = drawn
                self._diagram.show(drawn, [str(state.path) for state in shape.states])

    async def _on_resize(self, width: int, height: int, by_user: bool) -> None:
        if not by_user and (width, height) != self._room:
            self._room = (width, height)
            await self._draw()

    def mark_stale(self, stale: bool) -> None:
        """Dim the diagram, and say that the text has errors."""
        set_class(self._panel, 'stale', on=stale and self.shape)
        self._note.show(STALE if stale and self.shape else '')

    def light(self, states: Sequence[str], edges: Sequence[str]) -> None:
        """Light states and edges, instead of others."""
        picked: Any = {'classes': 'picked'}
        layer: Layer = {'states': dict.fromkeys(states, picked), 'edges': dict.fromkeys(edges, picked)}
        self._diagram.overlay('picked', layer if states or edges else {})

    def overlay(self, layer: Layer) -> None:
        """Show what a rehearsal came to, instead of the last one."""
        self._diagram.overlay('rehearsal', layer)


def _levels(shape: Shape) -> list[frozenset[str]]:
    return list(fold_levels(shape, [shape.initial]))
