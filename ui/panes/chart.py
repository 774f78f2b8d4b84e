"""The diagram of a run: its chart, lit at the step that is shown; a click goes to a state's visit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import View
from ui.drawing.diagram import INSTALL, available, lit, svg
from ui.drawing.looking import FOLLOWED, look_buttons
from ui.drawing.saving import export_menu
from ui.elements import Diagram
from ui.panes.around import Around
from ui.panes.checklist import Checklist
from ui.panes.folds import Folds
from ui.panes.why import Why
from ui.parts import attach
from ui.presenters.reading import whereabouts
from ui.presenters.words import WORDS
from ui.replay.live import Follower
from ui.stepping.context import PlaceMenu
from ui.stepping.spots import spots
from ui.theme import button, notice

LARGE = 'Give the diagram all of the page'


class ChartPane:
    """The chart, in a column of the page or as large as the page."""

    def __init__(
        self,
        around: Around,
        follower: Follower,
        seek: Callable[[int], Awaitable[None]],
        on_size: Callable[[bool], None],
        places: PlaceMenu,
    ) -> None:
        """Draw the panel; `on_size` is told whether the diagram is to have all of the page.

        `places` is the menu of what is drawn.
        """
        self._shape, self._follower, self._seek, self._on_size = around.shape, follower, seek, on_size
        self._reasons = around.reasons
        self._folds = Folds(self._shape, self.draw)
        self._step, self._large = 0, False
        self._stepper = around.stepper
        self._stepper.on_change(self._mark)
        self.why = Why(around, follower.index, seek)
        self.why.more.append(places.draw_edge)
        with ui.element('section').classes('panel diagram-panel').props('aria-label="Diagram"'):
            with ui.element('div').classes('panel-head'):
                self._where = ui.label().classes('where')
                ui.element('span').classes('grow')
                self._folds.draw()
                look_buttons(lambda: self._drawing, fit=FOLLOWED)
                export_menu(lambda: self._shape, lambda: self._folds.folded)
                self._size = button('', icon='open_in_full', kind='quiet small large', label=LARGE)
                attach(self._size, aria_pressed='false')
                self._size.on('click', self._enlarge)
            with ui.element('div').classes('panel-body flat'):
                if not available():
                    with notice('wait', 'account_tree'):
                        ui.label(INSTALL)
                self._drawing = Diagram(
                    '',
                    label=f'State diagram of {self._shape.title}',
                    on_pick=self._pick,
                    on_fold=self._folds.turn,
                    on_context=lambda asked: places.open(asked, self._folds.folded),
                )
                self.why.of(self._drawing)
            self._plan = Checklist(self._shape)

    async def draw(self) -> None:
        """Lay the chart out, once for each way of folding."""
        self.why.folded = self._folds.folded
        self.why.close()
        self._drawing.show(await svg(self._shape, folded=self._folds.folded))

    def show(self, view: View) -> None:
        """Say where the run is, and show its plan."""
        self._plan.show(view)
        self._where.set_text(whereabouts(view.active) or WORDS[view.status])

    def light(self, view: View) -> None:
        """Light what is active in `view`, what had been seen by then, and the edge that was taken."""
        self._step = view.seq
        index = self._follower.index
        seen = [path for path, steps in index.visits.items() if steps[0] <= view.seq]
        taken = [edge for edge, steps in index.walked.items() if steps[0] <= view.seq]
        self._drawing.light(lit(view, self._reasons.step, seen=seen or list(view.entered), walked=taken))
        self.why.show()
        self._drawing.overlay('why', {'edges': self.why.spots})

    def _mark(self) -> None:
        """Show where breakpoints are."""
        view = self._stepper.view
        if view is not None:
            self._drawing.overlay('breakpoints', spots(view.breakpoints, self._stepper.hit))

    def shrink(self) -> None:
        """Give the room of the page back."""
        if self._large:
            self._enlarge()

    def _enlarge(self) -> None:
        self._large = not self._large
        attach(self._size, aria_pressed=str(self._large).lower())
        self._on_size(self._large)

    async def _pick(self, path: str) -> None:
        """Go to the next visit of a state after the step that is shown, or to its first."""
        steps = self._follower.index.visits.get(path)
        if steps:
            await self._seek(next((step for step in steps if step > self._step), steps[0]))
