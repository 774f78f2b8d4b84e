"""The diagram of a run, highlighted at the step that is shown; clicking a state goes to a visit of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui
from typing_extensions import override

from ui.formatting.diagram.folding import closed_states, composites_around, fold_levels
from ui.formatting.diagram.rendering import highlight
from ui.formatting.steps import active_text
from ui.formatting.values import status_text
from ui.web.components.diagram.collapse_menu import CollapseMenu
from ui.web.components.diagram.fitting import COLUMN, Room, fit
from ui.web.components.diagram.legend import legend
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.diagram.save_menu import save_menu
from ui.web.components.diagram.zoom_controls import FIT_ACTIVE, zoom_buttons
from ui.web.components.elements import Diagram
from ui.web.components.theme import button
from ui.web.components.widgets import Box, set_attributes, set_class
from ui.web.pages.run.debugger.badges import breakpoint_layer
from ui.web.pages.run.diagram.cards import AgentCards
from ui.web.pages.run.diagram.edge_explanation import EdgeExplanation
from ui.web.pages.run.pane import Moment, Pane, RunPage

MAX_STEPS = 2_000
"""Maximum steps of a run to preload highlights for; in longer runs, a dragged slider requests each step."""
LARGE = 'Enlarge the diagram'


class ChartPane(Pane):
    """The chart, in a column of the page or filling it."""

    place = 'column'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        context, context_menu = page.context, page.debugger.context_menu
        self._shape, self._follower = context.shape, page.follower
        page.debugger.on_reveal(self.shrink)
        self._folds = CollapseMenu(self._shape, self.draw)
        self._step, self._large = 0, False
        self._cards = AgentCards(context)
        self._room: Room = COLUMN
        self._active: tuple[str, ...] = ()
        self._drawn = ''
        self._fitted = frozenset[str]()
        """The composite states around the states that were active at the last layout."""
        self._closed = closed_states(self._shape)
        self._moved_by_user = False
        """Whether a person has panned or zoomed it."""
        self._controller = context.debug_controller
        self._controller.on_change(self._mark_breakpoints)
        self.explanation = EdgeExplanation(context, page.follower.index, page.seek, context_menu.edge_entries)
        with Box('panel diagram-panel', 'section', aria_label='Diagram'):
            with Box('panel-head'):
                self._location = ui.label().classes('where')
                Box('grow', 'span')
                self._folds.draw()
                zoom_buttons(lambda: self._drawing, fit=FIT_ACTIVE)
                legend()
                save_menu(lambda: self._shape, lambda: self._folds.folded)
                self._size = button('', icon='open_in_full', kind='quiet small large', label=LARGE)
                set_attributes(self._size, aria_pressed='false')
                self._size.on('click', self._enlarge)
            with Box('panel-body flat'):
                notice_without_graphviz()
                self._drawing = Diagram(
                    '',
                    title=self._shape.title,
                    states=[state.path for state in self._shape.states],
                    on_pick=self._pick,
                    on_fold=self._folds.toggle,
                    opens_agents=True,
                    on_context=lambda target: context_menu.open(target, self._folds.folded),
                )
                self._drawing.on_resize(self._on_resize)
                self.explanation.attach_to(self._drawing)
            page.draw('below diagram')

    async def draw(self) -> None:
        """Lay out the chart for the available space, with the active states in sight."""
        opened = self._opens_agents
        self._fitted = composites_around(self._shape, self._active, opened=opened)
        by_user = self._folds.by_user
        levels = [self._folds.folded] if by_user else fold_levels(self._shape, self._active, opened=opened)
        drawn, folds = await fit(self._shape, self._room, levels, cards=True)
        if not self._folds.by_user:
            self._folds.show(folds)
        self.explanation.folded = self._folds.folded
        if drawn != self._drawn:
            self._drawn = drawn
            self._drawing.show(drawn)
            self.explanation.reposition()

    @override
    def show_step(self, moment: Moment) -> None:
        view = moment.view
        self._location.set_text(active_text(view.active) or status_text(view.status, view.error))

        self._show_cards(moment, view.time)

    @override
    def tick(self, moment: Moment, now: float) -> None:
        self._show_cards(moment, now if moment.live else moment.view.time)

    @override
    def stream(self, text: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        self._cards.stream(text)

    @property
    def _opens_agents(self) -> bool:
        """Whether active agents show their states: while a past step is debugged."""
        return self.page.face == 'debug' and not self.page.moment.live

    def _show_cards(self, moment: Moment, now: float) -> None:
        self._drawing.show_cards(self._cards.texts(moment.view, now, live=moment.live))

    @override
    async def complete(self, moment: Moment) -> None:
        """Lay the chart out again if active states would be out of sight, or to close agents."""
        self._active = tuple(map(str, moment.view.active))
        inside = composites_around(self._shape, self._active, opened=self._opens_agents)
        hidden = inside & self._folds.folded or (self._fitted - inside) & self._closed
        outdated = hidden and inside != self._fitted
        if not self._drawn or (
            outdated and not (self._folds.by_user or self._moved_by_user or self.explanation.is_open)
        ):
            await self.draw()

    async def _on_resize(self, width: int, height: int, by_user: bool) -> None:
        self._moved_by_user = by_user
        if not by_user and (width, height) != self._room and self._drawn:
            self._room = (width, height)
            await self.draw()

    @override
    def follow(self, moment: Moment) -> None:
        """Highlight active states, visited ones, and the transition that was taken."""
        view = moment.view
        self._step = view.seq
        index = self._follower.index
        seen = [path for path, steps in index.visits.items() if steps[0] <= view.seq]
        traversed = [edge for edge, steps in index.edge_steps.items() if steps[0] <= view.seq]
        self._drawing.highlight(
            highlight(self._shape, view, moment.step, visited=seen or list(view.entered), traversed=traversed)
        )
        self.explanation.show()
        self._drawing.overlay('why', {'edges': self.explanation.decorations})

    def preload(self) -> None:
        """Send the browser the highlights of all steps, since the slider is being dragged."""
        index = self._follower.index
        if not 0 < index.seq <= MAX_STEPS:
            return
        self._drawing.preload(
            {
                'visits': {path: steps[0] for path, steps in index.visits.items()},
                'traversed': {edge: steps[0] for edge, steps in index.edge_steps.items()},
                'waits': [state.path for state in self._shape.states if state.waits],
                'steps': [list(map(list, both)) for both in zip(index.active, index.edges, strict=True)],
            }
        )

    def _mark_breakpoints(self) -> None:
        view = self._controller.view
        if view is not None:
            self._drawing.overlay('breakpoints', breakpoint_layer(view.breakpoints, self._controller.hit))

    def shrink(self) -> None:
        """Return from the whole window to the column, if enlarged."""
        if self._large:
            self._enlarge()

    def _enlarge(self) -> None:
        self._large = not self._large
        set_attributes(self._size, aria_pressed=str(self._large).lower())
        set_class(self.page.grid, 'charted', on=self._large)

    async def _pick(self, path: str) -> None:
        """Go to the next visit of a state after the current step, or to its first."""
        steps = self._follower.index.visits.get(path)
        if steps:
            await self.page.seek(next((step for step in steps if step > self._step), steps[0]))
