"""The chart of many runs, in a panel with its tools: for heat, or for the ways of variants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine.records import Shape
from ui.formatting.diagram.folding import agent_paths, default_folds
from ui.formatting.diagram.overlays import Decoration, Layer
from ui.formatting.diagram.rendering import svg
from ui.web.components.diagram.collapse_menu import CollapseMenu
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.diagram.save_menu import save_menu
from ui.web.components.diagram.zoom_controls import zoom_buttons
from ui.web.components.elements import Diagram

PICKED: Decoration = {'classes': 'picked'}


def _first(shape: Shape) -> frozenset[str]:
    """Return the states folded at first: agents, which look alike inside, and those drawn too small."""
    return default_folds(shape) | agent_paths(shape)


class ManyRunsChart:
    """A chart with room for a number on each edge; what a person folds is remembered by pattern."""

    def __init__(
        self,
        label: str,
        *,
        tools: ui.element,
        body: ui.element,
        on_fold: Callable[[], Awaitable[None]],
        on_pick: Callable[[str], None] | None = None,
    ) -> None:
        """Draw nothing yet.

        Args:
            label: what the chart shows, before its title.
            tools: where its buttons are put.
            body: where it is drawn.
            on_fold: is awaited after a person has folded or unfolded states.
            on_pick: gets the state or the edge that is clicked; by default, it is lit.
        """
        self._label, self._tools, self._body = label, tools, body
        self._on_pick, self._on_fold = on_pick or self.pick, on_fold
        self._shape: Shape | None = None
        self._folds: CollapseMenu | None = None
        self._drawing: Diagram | None = None

    @property
    def folded(self) -> frozenset[str]:
        """The paths of the states drawn folded."""
        return self._folds.folded if self._folds else frozenset()

    async def draw(self, shape: Shape) -> None:
        """Lay out the chart."""
        if shape != self._shape:
            self._shape = shape
            self._draw_panel(shape)
        if self._drawing is not None:
            self._drawing.show(await svg(shape, folded=self.folded, wide=True))

    def overlay(self, name: str, layer: Layer) -> None:
        """Show an overlay, once the chart is drawn."""
        if self._drawing is not None:
            self._drawing.overlay(name, layer)

    def pick(self, name: str) -> None:
        """Light a drawn state or edge, instead of another; '' lights none."""
        layer: Layer = {'edges': {name: PICKED}} if '>' in name else {'states': {name: PICKED}}
        self.overlay('picked', layer if name else {})

    def _draw_panel(self, shape: Shape) -> None:
        self._body.clear()
        self._tools.clear()
        folds = self._folds = CollapseMenu(shape, self._on_fold, default=_first, storage_key='folded_traffic')
        with self._tools:
            folds.draw()
            zoom_buttons(lambda: self._drawing)
            save_menu(lambda: self._shape, lambda: self.folded)
        with self._body:
            notice_without_graphviz()
            self._drawing = Diagram(
                '',
                title=shape.title,
                label=f'{self._label} {shape.title}',
                states=[state.path for state in shape.states],
                on_pick=self._on_pick,
                on_fold=folds.toggle,
            )
            self._drawing.on_edge(self._on_edge)

    def _on_edge(self, edge: str, how: str) -> None:
        if how == 'press' and edge:
            self._on_pick(edge)
