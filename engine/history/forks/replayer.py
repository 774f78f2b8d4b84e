"""Replayer: feeds a fork the results and external events recorded in its parent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Literal

from engine.history.forks.fork_records import ReplayPolicy
from engine.history.forks.replay_log import Called, RecordedEvent, ReplayLog, waiting_agents
from engine.journal.projection import RunProjection
from engine.models.protocol import SCRIPTED
from engine.records import ANSWER, Budget, Event, RunId, RunInfo, Shape, StatePath, Transition
from engine.records.payloads import PauseData, RecoverData, StepData, payload, snapshots_of
from engine.records.shape import is_active, is_within, parent_of
from engine.statechart.run_state import AgentState, RunState
from engine.workspace.workspaces import Workspaces

Treatment = Literal['keep', 'live', 'simulated', 'stop']
"""How work about to start is treated: `keep` replays its ending, `live` and `simulated` perform it, `stop`
forbids it."""
UNRECORDED = 'nothing is recorded'
"""The start of a pause's reason when a fork cannot continue without a person."""


def unrecorded(step: Transition) -> str:
    """Return why a run that may only replay stops at this step; '' if it does not.

    It has paused, or what is left is to be done by people or to be waited for.
    """
    if step.event.played or step.event.name not in ('pause', 'recover'):
        return ''
    reason = str(step.event.data.get('reason' if step.event.name == 'pause' else 'left', ''))
    return reason.partition(';')[0] if reason.startswith(UNRECORDED) else ''


class Replayer:
    """Replays a log to one run.

    While it is `strict`, nothing runs live: every step is the parent's, at the parent's time, and the
    budget, timeouts and breakpoints act as they did then. Once work runs live, real time passes, and recorded
    events are delivered to the states they belong to.

    Args:
        script: the recorded events.
        policy: the replay policy.
        projection: the run's projection.
        shape: the shape of its chart.
    """

    def __init__(
        self, script: ReplayLog, policy: ReplayPolicy, projection: RunProjection, shape: Shape
    ) -> None:
        self._policy, self._projection = policy, projection
        self._items, self._known = list(script.items), script.visits
        self._visits: Counter[str] = Counter()
        self._invoking = [state.path for state in shape.states if state.invokes]
        self._roles = {state.path: state.role for state in shape.states if state.role}
        self.strict = policy.strict
        self.held = False
        """Whether a person has paused the replay."""
        self._single_step = False
        """Whether to replay one event despite the pause, because a person stepped in."""
        self._debugged = False
        """Whether a person has set breakpoints, or stepped over or out, so that the replay halts there."""
        self.stopped = ''
        """Why it cannot continue until a person decides, or ''."""
        self.released = False
        """Whether a person has resumed it since, so that unrecorded work runs live."""
        self.diverged = False
        """Whether the run has diverged from its parent."""
        self._given_up: set[tuple[str, int]] = set()
        """Visits (state and number) whose work has no recorded result."""
        self._unrestored: dict[str, str] = {}
        """Folders not yet restored to the state after the replayed events, with the snapshots to restore."""
        self._lock = asyncio.Lock()
        self.time = 0.0
        """When the event replayed last was recorded."""
        self._current: RecordedEvent | None = None

    # Past events

    def advance(self, steps: Sequence[Transition]) -> None:
        """Advance by the steps of one turn of the run."""
        for step in steps:
            self._visits.update(step.entered)
            event = step.event
            if step.raised:
                continue
            if event.played:
                self._consume(event, steps[-1].active)
            elif event.name == 'breakpoints':
                self._debugged = True
            elif event.name in ('pause', 'resume', 'step', 'recover'):
                self._follow_steering(event)
            elif self.strict:
                self.diverged = True

    def skip(self, event: Event) -> None:
        """Drop a replayed event that the run did not accept."""
        self._consume(event, ())

    def _consume(self, event: Event, active: tuple[StatePath, ...]) -> None:
        played = next((item for item in self._items if item.step == event.played), None)
        if played is None:
            return
        self._items.remove(played)
        self.diverged = self.diverged or played.active != active
        files = self._projection.files
        self._unrestored |= {name: files[name] for name in snapshots_of(event) if name in files}

    def _follow_steering(self, event: Event) -> None:
        if event.name == 'recover':
            recovery = payload(RecoverData, event)
            self.strict = self.strict and 'left' not in recovery
            self.held = bool(recovery.get('paused', self.held))
            self.stopped = '' if 'left' in recovery else self.stopped
            return
        how = payload(StepData, event).get('how') if event.name == 'step' else ''
        self._debugged = self._debugged or how in ('over', 'out')
        self._single_step = how == 'in'
        self.released = self.released or (event.name == 'resume' and bool(self.stopped))
        self.held = event.name == 'pause' or how == 'in'
        reason = payload(PauseData, event).get('reason', '') if event.name == 'pause' else ''
        # A bundle may have brought any value.
        self.stopped = reason if str(reason).startswith(UNRECORDED) else ''

    # The next event

    @property
    def is_waiting(self) -> bool:
        """Whether a person has paused the replay and has not stepped to the next event."""
        return self.strict and self.held and not self._single_step

    @property
    def ignores_breakpoints(self) -> bool:
        """Whether breakpoints are ignored, because the recorded pauses are replayed anyway."""
        return self.strict and not self._debugged

    def next_event(
        self, started: Collection[StatePath], at_work: Collection[StatePath], state: RunState
    ) -> Event | None:
        """Return the next event due, or None if there is none yet.

        Args:
            started: the states whose work has begun and is replayed.
            at_work: the states whose work is running live.
            state: the run's data.
        """
        item = self._find_next(started, at_work, state)
        return self._to_event(item) if item else None

    def _find_next(
        self, started: Collection[StatePath], at_work: Collection[StatePath], state: RunState
    ) -> RecordedEvent | None:
        if self.strict and not self.diverged:
            return self._items[0] if self._items else None
        over: list[RecordedEvent] = []
        for item in list(self._items):
            if item.control or (over and item.event.name == 'edit'):
                self._items.remove(item)
            elif item.ending and item.event.at in self._invoking:
                if self._is_over(item):
                    self._items.remove(item)
                elif self._is_due(item, started, state):
                    return item
                elif item.event.at in at_work:
                    return None  # Later events must wait until this work has ended.
                else:
                    over.append(item)
            elif not over and self._is_playable(item, state):
                return item
            else:
                over.append(item)
        candidates = (item for item in over if not item.ending and item.event.name != 'expired')
        return (
            None
            if at_work or started
            else next((item for item in candidates if self._is_playable(item, state)), None)
        )

    def _to_event(self, item: RecordedEvent) -> Event:
        """Convert a recorded event to the one the run receives."""
        self._current, self.time, event = item, item.time, item.event
        self._single_step = False
        since = self._projection.entered.get(event.at, (0,))[0] if event.since else 0
        return replace(event, since=since, played=item.step)

    @property
    def started(self) -> tuple[StatePath, ...]:
        """The active states whose work would be running if it were not replayed."""
        return tuple(path for path in self._invoking if path in self._projection.entered)

    def choose_treatment(self, path: StatePath, state: RunState) -> Treatment:
        """Decide how to treat work that is about to start in a state."""
        visit, attempt = self._visits[path], self._projection.attempts.get(path, 1)
        item = next((item for item in self._items if self._matches(item, path, visit, attempt)), None)
        play = self._policy.find_source(path, self._role(path, state), item.step if item else 0)
        if play == 'recorded' and (path, visit) not in self._given_up:
            if item is None and self._known[path] >= visit:
                return 'keep'  # In the parent, this work never ended, because the state was left.
            if item is not None and self._is_same(item, state):
                return 'keep'
        return play if play != 'recorded' else 'live' if self.released else self._policy.beyond

    def find_unnotified(self, agents: Collection[str]) -> set[StatePath]:
        """Return the states of agents that were busy when the current event told all others of the budget."""
        informed = self._current.informed if self._current else frozenset()
        return {StatePath(f'{path}.thinking') for path in agents if path not in informed}

    def first_event(self) -> Event | None:
        """Return the event a run begins with, if everything is replayed."""
        first = self._items[0] if self.strict and self._items else None
        return self._to_event(first) if first and first.event.name == 'start' else None

    def give_up(self, paths: Collection[StatePath]) -> None:
        """Mark these states' current work as having no recorded result."""
        self._given_up |= {(path, self._visits[path]) for path in paths}

    def adapt_info(self, info: RunInfo, path: StatePath, state: RunState) -> RunInfo:
        """Return the run's summary for work in a state; simulated work gets the scripted model."""
        return (
            replace(info, models={'': SCRIPTED})
            if self.choose_treatment(path, state) == 'simulated'
            else info
        )

    def finish(self, started: Collection[StatePath], state: RunState, budget: Budget | None) -> Event | None:
        """End an exhausted replay, and return the event for it: the run pauses, or leaves strict mode.

        None if it is live already.
        """
        self.give_up(started)
        stuck = [path for path in started if self.choose_treatment(path, state) == 'stop']
        what = f'of how {", ".join(stuck or started)} ended' if started else 'any more'
        if stuck:
            pause: PauseData = {'reason': f'{UNRECORDED} {what}; resume to go on live'}
            return Event(name='pause', data=pause)
        if not self.strict:
            return None
        self.strict = False
        recovery: RecoverData = {'left': f'{UNRECORDED} {what}'}
        if budget:
            recovery['budget'] = asdict(budget)
        return Event(name='recover', data=recovery)

    async def restore_files(self, workspaces: Workspaces, run: RunId) -> None:
        """Restore the agents' folders to their state after the replayed events."""
        async with self._lock:
            while self._unrestored:
                folder, snapshot = next(iter(self._unrestored.items()))
                await workspaces.of(run, folder).restore(snapshot)
                del self._unrestored[folder]

    def _matches(self, item: RecordedEvent, path: str, visit: int, attempt: int) -> bool:
        return item.ending and (item.event.at, item.visit, item.attempt) == (path, visit, attempt)

    def _is_over(self, item: RecordedEvent) -> bool:
        path, visit = item.event.at, self._visits[item.event.at]
        if item.visit != visit:
            return item.visit < visit
        return not is_active(path, self._projection.active) or item.attempt < self._projection.attempts.get(
            path, 1
        )

    def _is_due(self, item: RecordedEvent, started: Collection[StatePath], state: RunState) -> bool:
        path = item.event.at
        return (
            path in started
            and item.visit == self._visits[path]
            and item.attempt == self._projection.attempts.get(path, 1)
            and self.choose_treatment(path, state) == 'keep'
        )

    def _is_playable(self, item: RecordedEvent, state: RunState) -> bool:
        event = item.event
        if event.name == 'expired' and item.visit != self._visits[event.at]:
            return False
        if event.name == 'approve' and not self._is_allowed(item, state):
            return False
        if event.name == ANSWER and not self._is_answered(item, state):
            return False
        return not event.at or is_active(event.at, self._projection.active)

    def _is_same(self, item: RecordedEvent, state: RunState) -> bool:
        """Return whether a recorded batch of tool results belongs to the current calls."""
        home = parent_of(item.event.at)
        return item.calls is None or home not in state.agents or item.calls == _calls(state.agents[home])

    def _is_allowed(self, item: RecordedEvent, state: RunState) -> bool:
        """Return whether the recorded approval is for exactly the calls now awaiting it."""
        waiting = waiting_agents(self._projection.active)
        addressed = [home for home in waiting if home in state.agents and is_within(home, item.event.at)]
        addressed += [home for home in waiting if item.event.at == f'{home}.approving']
        return all(item.allowed.get(home) == _calls(state.agents[home]) for home in addressed)

    def _is_answered(self, item: RecordedEvent, state: RunState) -> bool:
        """Return whether the recorded answer is to the questions being asked now."""
        batches = {home: state.agents[home].batch for home in item.questions if home in state.agents}
        return bool(item.questions) and all(
            (batch := batches.get(home)) and batch.question and batch.question.is_same(question)
            for home, question in item.questions.items()
        )

    def _role(self, path: str, state: RunState) -> str:
        home = parent_of(path)
        return state.agents[home].role if home in state.agents else self._roles.get(StatePath(home), '')


def _calls(agent: AgentState) -> Called:
    """Return the latest tool calls of an agent."""
    last = next((message.calls for message in reversed(agent.messages) if message.calls), ())
    return tuple((call.name, call.arguments) for call in last)
