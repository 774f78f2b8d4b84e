"""The agents of a run: a row of stages, and a pane for each agent of the stage that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from engine.errors import WorkspaceError
from engine.records import Usage, View, is_within
from ui.formatting.debugger import pause_sentence
from ui.formatting.steps import clock_end, duration, path_text
from ui.formatting.usage import usage_summary
from ui.formatting.values import count
from ui.web.components.elements import Engagement, Splitters, batch_updates
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, Text, set_class
from ui.web.pages.run.agents.agent import AgentPane
from ui.web.pages.run.agents.regions import columns_for, lay_out_panes, tracks
from ui.web.pages.run.agents.stages import Stage, StageRow, VisibleAgents, stages_of, work_in_progress
from ui.web.pages.run.pane import Face, Moment, Panel, RunPage
from ui.web.replay.history import History, latest

MIN_HEIGHT, MIN_WIDTH = '150px', '150px'


class AgentPanes(Panel):
    """All agents of a run. The stage at work is shown, unless a person has picked or is reading another.

    Panes change in place, and nothing around them moves. While they do not follow the run, a button
    names the stage at work and switches to it.
    """

    title = 'Agents'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        context = page.context
        self._stages = stages_of(context)
        self._selection = VisibleAgents(context.shape, context.history)
        self._moment: Moment | None = None
        self._live = True
        self._picked = ''
        """The stage that a person picked, if any."""
        self._engaged = False
        """Whether the focus or the selection is in a pane."""
        self._visible_agents: list[str] = []
        """The agents that are shown."""
        self._stage = ''
        """The stage that is shown; if several are, that of the first agent."""
        self._enlarged = ''
        """The enlarged pane, if any."""
        self._wide = False
        self._counts: dict[str, int] = {}
        """File counts by snapshot."""
        self._panes: dict[str, AgentPane] = {}
        with Box('agents') as self.root:
            self._row = StageRow(self._stages, context.history, self.pick)
            page.draw('above agents')
            with Box('stage') as self._grid:
                self._splits = Splitters()
                Engagement(self._set_engaged)
                for state in context.shape.states:
                    if state.role:
                        self._panes[state.path] = pane = AgentPane(state, context, self._enlarge)
                        pane.root.set_visibility(False)  # until it is known whether any agent has started
                with Box('panel no-agents') as self._nobody:
                    empty_state('hourglass_empty', 'No agent has started yet.')
            self._follow = button('', kind='follow')
            self._follow_text = Text('span', '')
            self._follow_text.move(self._follow)
            self._follow.classes(remove='icon').on('click', lambda: self.pick(''))
            self._follow.set_visibility(False)

    @override
    def follow(self, moment: Moment) -> None:
        if self._live and not moment.live:
            for pane in self._panes.values():
                pane.clear_stream()
        self._live = moment.live

    @override
    def show(self, moment: Moment) -> None:
        """Arrange and fill the panes."""
        self._moment, view, live = moment, moment.view, moment.live
        judge = '' if live else self.page.follower.index.judge_at(view.seq)
        now = [judge] if judge in self._panes else self._selection.at_work(view)
        stage = self._stage_of(now)
        if self._picked:
            self._stage = self._picked
            self._visible_agents = self._picked_agents(view, now)
        elif not (self._engaged and live and self._stage):
            self._stage, self._visible_agents = stage, now
        self._enlarged = self._enlarged if self._enlarged in self._visible_agents else ''
        for path, pane in self._panes.items():
            is_shown = path in self._visible_agents
            pane.root.set_visibility(is_shown and self._enlarged in ('', path))
            pane.pin(is_shown and len(self._visible_agents) > 1, enlarged=path == self._enlarged)
            if is_shown:
                files = self._counts.get(view.files.get(path, ''), 0)
                words = count(files, 'file') if files else ''
                read = self._engaged and live
                pane.show(
                    view,
                    view.agents.get(path),
                    live=live,
                    may_control=moment.may_control,
                    files=words,
                    being_read=read,
                )
            else:
                pane.track(view)
        self._arrange()
        self._nobody.set_visibility(not self._visible_agents)
        self._show_stages(view, stage, now)

    @override
    async def complete(self, moment: Moment) -> None:
        """Count the files of the agents' folders at this step, and show the counts."""
        view = moment.view
        unknown = {digest for digest in view.files.values() if digest not in self._counts}
        for digest in unknown:
            try:
                files = await self.context.conductor.workspaces.files(self.context.run, digest)
            except WorkspaceError:
                continue  # the files tab reports it
            self._counts[digest] = len(files)
        if unknown and self._moment and self._moment.view.seq == view.seq:
            self.refresh()

    @override
    def show_face(self, face: Face) -> None:
        self._arrange()

    def set_wide(self, wide: bool) -> None:
        """Set whether the panes also have the width of the diagram."""
        self._wide = wide
        self._arrange()

    @override
    def stream(self, text: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        with batch_updates():
            for path, pieces in text.items():
                if path in self._panes:
                    self._panes[path].append(pieces)

    @property
    def streamed(self) -> int:
        """Characters of replies that are being streamed now."""
        return sum(pane.streamed for pane in self._panes.values())

    @override
    def tick(self, moment: Moment, now: float) -> None:
        view = moment.view
        live, now = moment.live and not view.status.ended, clock_end(view, now)
        for pane in self._panes.values():
            if pane.root.visible:
                pane.tick(view, now, live=live)
        self._row.show_caption(self._describe_activity(view, now))

    def refresh(self) -> None:
        """Show the current view again, after more of the history has been read or the choice has changed."""
        if self._moment:
            self.show(self._moment)

    @property
    def views(self) -> dict[str, str]:
        """What can be shown: titles of stages, by key; '' follows the run."""
        ended = self._moment is not None and self._moment.view.status.ended
        return {'': 'Agents' if ended else 'Agents at work'} | {
            stage.key: stage.title for stage in self._stages
        }

    @property
    def picked(self) -> str:
        """The key of the stage that a person picked; '' while the agents at work are shown."""
        return self._picked

    def reveal_question(self, agent: str) -> None:
        """Show the pane of an agent that asks a question, and focus the answer."""
        self.reveal(agent)
        self._panes[agent].focus_question()

    def reveal(self, agent: str) -> None:
        """Show the pane of an agent."""
        self.pick(self._stage_of([agent]))

    def _stage_of(self, agents: Sequence[str]) -> str:
        return next((stage.key for stage in self._stages if agents and agents[0] in stage.agents), '')

    def _picked_agents(self, view: View, now: Sequence[str]) -> list[str]:
        """Return the agents of the picked stage; while it is at work, those shown without a pick."""
        works = any(is_within(leaf, path) for leaf in view.active for path in now)
        if works and self._picked == self._stage_of(now):
            return list(now)
        picked = next((stage for stage in self._stages if stage.key == self._picked), None)
        return self._selection.active_agents(picked, view) if picked else []

    def _show_stages(self, view: View, key: str, now: Sequence[str]) -> None:
        self._row.show(view, self._stage)
        title = ''
        if key and key != self._stage:
            title = next((stage.title for stage in self._stages if stage.key == key), '')
        elif not self._picked:
            waiting = (
                pane.next_agent
                for path, pane in self._panes.items()
                if path in self._visible_agents and pane.next_agent
            )
            others = (self.context.name_of(path) for path in now if path not in self._visible_agents)
            title = next(waiting, '') or next(others, '')
        self._follow.set_visibility(bool(title))
        if title:
            self._follow_text.show(f'Show {title}')

    def _describe_activity(self, view: View, now: float) -> str:
        """Describe how the shown stage joined, what the engine is doing, or the active state."""
        stage = next((stage for stage in self._stages if stage.key == self._stage), None)
        joined = stage is not None and len(stage.agents) > 1 and stage.key not in view.entered
        if stage and joined and (self._picked or view.status.ended):
            return join_summary(stage, view, self.context.history)
        if not view.active:
            return ''
        if not view.status.ended:
            if activity := work_in_progress(self.context.shape, view):
                return f'{activity} · {duration(now - view.time)}'
            leaf = view.active[0]
            since = view.entered.get(leaf, (0, now))[1]
            more = f' and {len(view.active) - 1} more' if len(view.active) > 1 else ''
            where = f'{path_text(leaf).capitalize()}{more}'
            if view.paused:
                return f'{pause_sentence(view.stopped) or "Paused"} · {where}'
            return f'{where} · {duration(now - since)}'
        return f'{path_text(view.active[0]).capitalize()} after {count(view.seq, "step")}'

    def _set_engaged(self, engaged: bool) -> None:
        self._engaged = engaged
        set_class(self._grid, 'read', on=engaged)

    def pick(self, key: str) -> None:
        """Show a stage; '' follows the run."""
        self._picked, self._engaged = key, False
        self.refresh()

    def _enlarge(self, path: str) -> None:
        self._enlarged = '' if self._enlarged == path else path
        self.refresh()

    def _arrange(self) -> None:
        panes = [self._enlarged] if self._enlarged else self._visible_agents
        columns = columns_for(len(panes), wide=self._wide or self.page.face == 'watch')
        rows = -(-len(panes) // columns)
        self._grid.style(
            f'grid-template-columns: {tracks(columns, "c", MIN_WIDTH)};'
            f'grid-template-rows: {tracks(max(rows, 1), "r", MIN_HEIGHT)}'
        )
        for path, cell in zip(panes, lay_out_panes(len(panes), columns), strict=True):
            self._panes[path].root.style(cell.style)
        self._splits.show(columns, rows)


def join_summary(stage: Stage, view: View, history: History) -> str:
    """Summarize what the agents of a stage did up to this step; '' if none has started."""
    agents = {path: view.agents[path] for path in stage.agents if path in view.agents}
    if not agents:
        return ''
    failed = sum(bool(agent.get('problem')) for agent in agents.values())
    tools = sum(
        part['kind'] == 'call'
        for agent in agents.values()
        for message in agent.get('messages', ())
        for part in message['parts']
    )
    spent = sum((view.spending[path].total for path in agents if path in view.spending), Usage())
    stay = latest(history.stays, stage.key, view.seq)
    facts = [
        f'joined at step {stay.seq}' if stay else '',
        f'{sum(map(_has_answered, agents.values()))} of {len(agents)} answered',
        f'{failed} failed' if failed else '',
        count(tools, 'tool call') if tools else '',
        usage_summary(spent),
        duration(stay.until - stay.since) if stay else '',
    ]
    return ' · '.join(filter(None, facts))


def _has_answered(agent: Mapping[str, Any]) -> bool:
    """Return whether its last message is an answer rather than a call or a task."""
    last = (agent.get('messages') or [{'role': '', 'parts': ()}])[-1]
    asks = any(part['kind'] == 'call' for part in last['parts'])
    return not agent.get('problem') and last['role'] == 'assistant' and not asks
