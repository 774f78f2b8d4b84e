"""The diagram of a run: its chart, lit at the step that is shown; a click goes to a state's visit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import Shape, Transition, View
from ui.diagram import INSTALL, available, lit, svg
from ui.elements import Diagram
from ui.live import Follower
from ui.reading import place
from ui.theme import WORDS, button, notice


class ChartPane:
    """The chart with its agents unfolded, or each as one state."""

    def __init__(self, shape: Shape, follower: Follower, seek: Callable[[int], Awaitable[None]]) -> None:
        self._shape, self._follower, self._seek = shape, follower, seek
        self._folded = False
        self._step = 0
        with ui.element('section').classes('panel diagram-panel').props('aria-label="Diagram"'):
            with ui.element('div').classes('panel-head'):
                self._where = ui.label().classes('where')
                ui.element('span').classes('grow')
                hint = "Fold or unfold the agents' inner states"
                button('', icon='unfold_less', kind='quiet', label=hint).on('click', self._refold)
                fit = button('', icon='fit_screen', kind='quiet', label='Show all of the diagram')
            with ui.element('div').classes('panel-body flat'):
                if not available():
                    with notice('wait', 'account_tree'):
                        ui.label(INSTALL)
                self._drawing = Diagram('', label=f'State diagram of {shape.title}', on_pick=self._pick)
        fit.on('click', lambda: self._drawing.run_method('fit'))

    async def draw(self) -> None:
        """Lay the chart out, once for each way of folding."""
        self._drawing.show(await svg(self._shape, folded=self._folded))

    def show(self, view: View, step: Transition | None) -> None:
        """Light what is active after `step`, what had been seen by then, and the edge that was taken."""
        self._step = view.seq
        visits, walked = self._follower.visits, self._follower.walked
        seen = [path for path, steps in visits.items() if steps[0] <= view.seq]
        taken = [edge for edge, first in walked.items() if first <= view.seq]
        self._drawing.light(lit(view, step, seen=seen or list(view.entered), walked=taken))
        where = ', '.join(place(path) for path in view.active)
        self._where.set_text(where or WORDS[view.status])

    async def _refold(self) -> None:
        self._folded = not self._folded
        await self.draw()

    async def _pick(self, path: str) -> None:
        """Go to the next visit of a state after the step that is shown, or to its first."""
        steps = self._follower.visits.get(path)
        if steps:
            await self._seek(next((step for step in steps if step > self._step), steps[0]))
