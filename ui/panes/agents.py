"""The agents of a run: a pane for each region, or for each at work; a line for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nicegui import ui

from engine import Status, View, WorkspaceError
from ui.elements import Conversation, Splits
from ui.panes.agent import AgentPane
from ui.panes.around import Around
from ui.panes.join import Join
from ui.presenters.blocks import readable
from ui.presenters.regions import cells, columns_for, parallels, side_by_side, tracks
from ui.presenters.words import WORDS
from ui.theme import empty

LEAST_HEIGHT, LEAST_WIDTH = '170px', '150px'


class AgentPanes:
    """All agents of a run, arranged by what is active, with the result above them when there is one.

    Args:
        around: the run.
        widen: told whether there are so many panes that they need the width of the window.
    """

    def __init__(self, around: Around, widen: Callable[[bool], None]) -> None:
        self._around, self._widen = around, widen
        self._parallels = parallels(around.shape)
        self._ends = {state.path for state in around.shape.states if state.kind == 'final'}
        self._shown: tuple[View, bool, bool] | None = None
        self._beside: list[str] = []
        self._alone = ''
        """The pane that is enlarged, if one is."""
        self._wide = False
        self._counts: dict[str, int] = {}
        """How many files a snapshot holds."""
        self._joins: list[Join] = []
        self._panes: dict[str, AgentPane] = {}
        with ui.element('div').classes('agents') as self.root:
            self._splits = Splits()
            self._draw_result()
            for state in around.shape.states:
                if state.path in self._parallels:
                    inside = [agent for held in self._parallels[state.path].values() for agent in held]
                    self._joins.append(Join(state.path, inside, around, self.refresh))
                if state.role:
                    self._panes[state.path] = pane = AgentPane(state, around, self._enlarge)
                    pane.root.set_visibility(False)  # until it is known whether it was asked anything
            with ui.element('div').classes('panel nobody') as self._nobody:
                empty('hourglass_empty', 'No agent has been asked anything yet.')

    def show(self, view: View, *, live: bool, mine: bool) -> None:
        """Arrange and fill the panes for `view`."""
        self._shown = (view, live, mine)
        beside = [] if view.status.ended else side_by_side(self._parallels, view, self._ends)
        if beside != self._beside:
            crowded, self._beside = self.crowded, beside
            if self.crowded or crowded:
                self._widen(self.crowded)
            self._alone = self._alone if self._alone in beside else ''
        hidden = {
            agent for join in self._joins if join.show(view) and not join.opened for agent in join.agents
        }
        for path, pane in self._panes.items():
            agent = view.agents.get(path)
            seen = path in beside or (agent is not None and path not in hidden)
            pane.root.set_visibility(seen)
            pane.pin(path in beside, alone=path == self._alone)
            if seen:
                files = self._counts.get(view.files.get(path, ''))
                pane.show(view, agent, live=live, mine=mine, files=files)
        self._arrange()
        folded = sum(
            pane.root.visible and not pane.unfolded and not pane.pinned for pane in self._panes.values()
        )
        # The open panes share the height that the folded lines leave.
        self.root.style(f'--folded: {folded + sum(join.root.visible for join in self._joins)}')
        self._nobody.set_visibility(not view.agents and not beside)
        self._show_result(view)

    async def count_files(self, view: View) -> None:
        """Learn how many files the agents' folders hold at this step, and say it."""
        unknown = {digest for digest in view.files.values() if digest not in self._counts}
        for digest in unknown:
            try:
                files = await self._around.conductor.workspaces.files(self._around.run, digest)
            except WorkspaceError:
                continue  # the files tab says so
            self._counts[digest] = len(files)
        if unknown and self._shown and self._shown[0].seq == view.seq:
            self.refresh()

    def be_wide(self, wide: bool) -> None:
        """There is more room now, or less."""
        self._wide = wide
        self._arrange()

    @property
    def crowded(self) -> bool:
        """Whether so many panes stand side by side that they need the width of the window."""
        return len(self._beside) > 2

    def stream(self, text: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Add streamed pieces to their panes."""
        for path, pieces in text.items():
            if path in self._panes:
                self._panes[path].heard(pieces)

    def still(self) -> None:
        """Take all streamed text away: what is shown is not the present."""
        for pane in self._panes.values():
            pane.talk.reset()

    def tick(self, view: View, now: float, *, live: bool) -> None:
        """Let the clocks of the panes go on."""
        for pane in self._panes.values():
            if pane.root.visible:
                pane.tick(view, now, live=live)

    def refresh(self) -> None:
        """Draw what is shown anew: more is known of it."""
        if self._shown:
            view, live, mine = self._shown
            self.show(view, live=live, mine=mine)

    def _enlarge(self, path: str) -> None:
        self._alone = '' if self._alone == path else path
        self.refresh()

    def _arrange(self) -> None:
        panes = [self._alone] if self._alone else self._beside
        columns = columns_for(len(panes), wide=self._wide)
        rows = -(-len(panes) // columns)
        gridded = len(panes) > 1 or bool(self._alone)
        self.root.classes(add='regions' if gridded else '', remove='' if gridded else 'regions')
        self.root.style(
            f'grid-template-columns: {tracks(columns, "c", LEAST_WIDTH)};'
            f'grid-template-rows: {tracks(rows, "r", LEAST_HEIGHT)}'
            if gridded
            else 'grid-template-columns: none; grid-template-rows: none'
        )
        places = dict(zip(panes, cells(len(panes), columns), strict=True)) if gridded else {}
        for path, pane in self._panes.items():
            if path in places:
                pane.root.style(places[path].style)
            else:
                pane.root.style(remove='grid-row:; grid-column:')
            if self._alone and path in self._beside and path != self._alone:
                pane.root.set_visibility(False)
        self._splits.show(columns if gridded else 0, rows if gridded else 0)

    def _draw_result(self) -> None:
        with (
            ui.element('section')
            .classes('panel agent open result')
            .props('aria-label="Result"') as self._result
        ):
            with ui.element('div').classes('panel-head'):
                ui.icon('flag')
                ui.label('Result').classes('agent-name')
                self._verdict = ui.label().classes('muted small')
            with ui.element('div').classes('panel-body').props('tabindex="0"'):
                self._answer = Conversation([], label='Result', follow=False)

    def _show_result(self, view: View) -> None:
        shape = self._around.shape
        answer = view.memory.get(shape.answer) if shape.answer and view.status.ended else None
        shown = view.status.ended and (bool(answer) or bool(view.error))
        self._result.set_visibility(shown)
        if shown:
            failed = view.status is not Status.DONE
            self._result.classes(add='failed' if failed else '', remove='' if failed else 'failed')
            why = f':** {view.error}' if view.error else '.**'
            text = f'**{WORDS[view.status]}{why}\n\n' if failed else ''
            body = answer if isinstance(answer, str) else readable(str(answer or ''))
            self._answer.show([{'kind': 'text', 'text': text + (body or '')}])
            self._verdict.set_text('the last draft before it ended' if failed and body else '')
