"""Run: a live run, with one mailbox and one chart. Decide, journal, act."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from engine.errors import (
    EngineError,
    EventRefused,
    InvalidInput,
    PatternError,
    RunElsewhere,
    StaleOwner,
    StepPassed,
)
from engine.host.clock import HistoryClock
from engine.journal.budget_meter import resets_budget
from engine.journal.projection import RunProjection
from engine.records import (
    ANSWER,
    CONTROL,
    ENDINGS,
    ENGINE_EVENTS,
    EXHAUSTED,
    RUN,
    Change,
    Event,
    JournalOutage,
    Outcome,
    RunInfo,
    StatePath,
    Transition,
)
from engine.records.jsonable import describe_error, to_jsonable
from engine.runtime.activity import RuntimeContext
from engine.runtime.activity_runner import ActivityRunner
from engine.runtime.budget_enforcer import BudgetEnforcer
from engine.runtime.control_events import ALARM, apply_edit, validate_control
from engine.runtime.debugger.debugger import Debugger
from engine.runtime.debugger.guard_explanations import GuardExplanations
from engine.runtime.mailbox import Envelope, Mailbox
from engine.runtime.recorder import Recorder, step_of
from engine.runtime.recording.replay_source import ReplaySource
from engine.runtime.timeouts import TimerSnapshot
from engine.statechart.chart import Chart
from engine.statechart.run_state import RunState

log = logging.getLogger('hemicycle')


class Run:
    """A live run. Everything that happens to it goes through its mailbox."""

    def __init__(  # noqa: PLR0913  (its collaborators)
        self,
        info: RunInfo,
        chart: Chart,
        state: RunState,
        projection: RunProjection,
        context: RuntimeContext,
        replayer: ReplaySource | None = None,
    ) -> None:
        self.info, self.chart, self.state, self.projection = info, chart, state, projection
        self._context, self._replayer = context, replayer
        self._recorder = Recorder(context, state.unchanged)
        self._mailbox = Mailbox(self._handle, context.services.scheduler.wait_for_turn)
        self._clock = HistoryClock(context.services.clock, lambda: projection.time)
        self._runner = ActivityRunner(
            chart,
            projection,
            context,
            self._clock,
            lambda: (self.info, self.state),
            self._mailbox.post,
            replayer,
        )
        self._enforcer = BudgetEnforcer(projection, self._runner, self._clock, self._mailbox.post)
        self._debugger = Debugger(projection, chart.shape, lambda: self.state)
        self.lost = ''
        """Why this process may no longer write to the run, or ''."""
        self.claimed = False
        """Whether that is because another process has claimed it."""
        self.detached = asyncio.Event()
        """Set when the run no longer runs here."""
        self.outcome: Outcome | None = None
        """How it ended, once journaled; None also if an aborted action left its writes in memory."""

    async def send(self, event: Event, *, seen: int | None = None) -> None:
        """Send an event and wait until it is journaled.

        Raises:
            EventRefused: no active state accepts it, or the run has ended.
            StepPassed: its last step is no longer `seen`.
            InvalidInput: its data is invalid.
            JournalError: the run is no longer ours.
        """
        data = self.state.pattern.validate_input(event.name, event.data)
        if event.name == ANSWER and (problems := self.state.answer_problems(event)):
            raise InvalidInput(problems)
        await self._mailbox.ask(event if data is event.data else replace(event, data=data), seen)

    async def has_accepted(self, name: str, key: str) -> bool:
        """Return whether an event with this key is journaled. Raises `RunElsewhere` if it cannot know."""
        if key not in self.projection.keys:
            return False
        # It may still be in the middle of being journaled.
        await self._mailbox.ask(Event(name=name, key=key))
        return True

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in progress, and no event is waiting."""
        return not (self._runner.running_states or self._mailbox.is_busy)

    @property
    def is_resting(self) -> bool:
        """Whether only a person or a timeout can move the run on."""
        return self._runner.is_resting and not self._mailbox.is_busy

    @property
    def deadline(self) -> float | None:
        """When the next timeout or budget event is due by time alone; None if there is none."""
        due = [at for at in (self._runner.deadline, self._enforcer.alarm) if at is not None]
        return min(due) - self._clock.ahead if due else None

    def export_timers(self) -> tuple[TimerSnapshot, ...]:
        """Return the remaining timeouts, for the run's next owner."""
        return self._runner.export_timers()

    def restore_timers(self, timers: Sequence[TimerSnapshot]) -> None:
        """Continue the timeouts kept by the run's previous owner."""
        self._runner.restore_timers(timers)

    def withhold_work(self) -> None:
        """Decide and journal, but start no work."""
        self._runner.withhold_work()

    async def drain(self) -> None:
        """Start no more work, and wait until work in progress has ended and is journaled."""
        self._runner.withhold_work()
        while not self.is_idle:
            await self._runner.wait_until_idle()
            await self._mailbox.wait_until_empty()

    async def release(self) -> None:
        """Stop working on the run without ending it: it continues wherever it is claimed next."""
        reason = 'its process is closing'
        self._enforcer.stop()
        await self._mailbox.close(lambda event: RunElsewhere(self.info.id, event.name, reason))
        await self._runner.stop()
        self.detached.set()

    async def _handle(self, envelope: Envelope) -> None:
        try:
            await self._receive(envelope)
        finally:  # A replay continues even after a refused event.
            if self._replayer:
                await self._replay_next(self._replayer)

    async def _receive(self, envelope: Envelope) -> None:
        event, awaited = envelope.event, envelope.answer is not None
        if awaited and self._is_repeated(envelope):
            return
        if self.lost or self.projection.status.ended:
            return  # A late report from an activity.
        if event.since and self.projection.entered.get(event.at, (0,))[0] != event.since:
            return  # The ending of a past visit: its state was left while this envelope waited.
        await self._carry_out(self._handle_external(event, awaited=awaited))
        if not (self._is_fully_replayed or self._runner.withheld):  # Work held back would look finished.
            while following := self._enforcer.next_event(self._mailbox.waiting):
                await self._carry_out(self._decide_safely(following, awaited=False))
            if dead_end := self._find_dead_end():
                await self._carry_out([self._abort(dead_end)])

    def _is_repeated(self, envelope: Envelope) -> bool:
        """Return whether the event is already journaled: its sender got no answer and repeats it.

        Raises:
            EventRefused: the run is not here, has ended, or has moved past the step that the sender saw.
        """
        run, event, projection = self.info.id, envelope.event, self.projection
        if self.lost:
            raise RunElsewhere(run, event.name, self.lost)
        if event.key in projection.keys:
            return True
        if projection.status.ended:
            raise EventRefused(run, event.name, f'it is {projection.status}')
        if envelope.seen is not None and envelope.seen != projection.seq:
            raise StepPassed(run, event.name, envelope.seen, projection.seq)
        return False

    @property
    def _is_fully_replayed(self) -> bool:
        """Whether everything is replayed: no work, no timeouts, no budget."""
        return self._replayer is not None and self._replayer.strict

    async def _replay_next(self, replayer: ReplaySource) -> None:
        """Post the next event to replay; continue without replay once none is left."""
        await asyncio.sleep(0)  # Other runs must not wait for the whole replay.
        if self.lost or self.projection.status.ended or self._mailbox.waiting or replayer.stopped:
            return
        if self._runner.withheld:
            return
        started = replayer.started if replayer.strict else self._runner.replayed_states
        at_work = () if replayer.strict else self._runner.running_states
        event = None if replayer.is_waiting else replayer.next_event(started, at_work, self.state)
        if event:
            self._mailbox.post(event)
        elif (replayer.strict and not replayer.is_waiting) or (
            started and not at_work and not replayer.strict
        ):
            await self._end_replay(replayer, started)

    async def _end_replay(self, replayer: ReplaySource, started: Collection[StatePath]) -> None:
        if event := replayer.final_event(started, self.state, self.info.budget):
            if event.name == 'recover':
                replayer.go_live()
            await self._carry_out([self._control(event) if event.name == 'recover' else self._step(event)])
        if not replayer.strict:
            self._runner.start_replayed_work()

    def _handle_external(self, event: Event, *, awaited: bool) -> list[Transition]:
        if event is ALARM:
            return []
        try:
            return self._decide_safely(event, awaited=awaited)
        except (EventRefused, InvalidInput):
            if self._replayer is None or not event.played:
                raise
            self._replayer.skip(event)  # Edits in a fork may have made it take another path.
            return []

    def _decide_safely(self, event: Event, *, awaited: bool) -> list[Transition]:
        try:
            return self._decide(event, awaited=awaited)
        except PatternError as error:
            problem = str(error)
        except EngineError:
            raise  # A refusal: nothing was written.
        except Exception as error:
            log.exception('run %s: event %s', self.info.id, event.name)
            problem = describe_error(error)
        self.state.log.drain()  # Writes made before the exception are not journaled.
        return [self._abort(problem)]

    def _decide(self, event: Event, *, awaited: bool) -> list[Transition]:
        """Return the steps that an event causes. Writes memory, and nothing else."""
        if event.name in CONTROL and event.name != 'start':
            return [self._control(event)]
        now = self._now()
        timestamped = Event(  # Like `replace`, at half the cost.
            name=event.name,
            at=event.at,
            data=event.data,
            attempt=event.attempt,
            since=event.since,
            time=now,
            ran=self.projection.ran_at(now),
            played=event.played,
            who=event.who,
            key=event.key,
        )
        microsteps = self.chart.fire(self.projection.active, self.state, timestamped, journaled=event)
        if not microsteps and (awaited or event.name not in ENDINGS | {EXHAUSTED}):
            raise EventRefused(self.info.id, event.name, self._refusal_reason(timestamped))
        if not microsteps and event.name in ('failed', 'expired', EXHAUSTED):
            return [self._abort(str(event.data.get('error', '')) or f'{event.at} {event.name}')]
        if not microsteps:
            return [self._step(event)]
        return [
            step_of(microstep, self.info.id, self.projection.seq + number, now)
            for number, microstep in enumerate(microsteps, start=1)
        ]

    def _control(self, event: Event) -> Transition:
        if not (self._is_fully_replayed and event.played):  # Recorded events were checked at the time.
            event = validate_control(event, self.info.id, self.projection, self.chart.shape, self.state)
        if event.name == 'edit':
            return replace(self._step(event), changes=self._edit(event))
        if event.name in ('cancel', 'abort'):
            return self._ending(event)
        if event.name == 'recover' and resets_budget(event.data):
            self.state.notices = ('',) * len(self.state.notices)  # Those belonged to its parent's budget.
        if event.name in ('retry', 'recover'):
            changes = self._edit(event) if event.data.get('changes') else ()
            noted = self._note_retry(event) if event.name == 'retry' else ()
            # In a replay, the call in progress began before there was a notice to give.
            notices = self._deliver_notices(event.at) if event.played or not self._is_fully_replayed else ()
            return replace(self._step(event), changes=(*changes, *noted, *notices))
        return self._step(event)

    def _note_retry(self, event: Event) -> tuple[Change, ...]:
        """Let the pattern record a retry in memory."""
        with self.state.writing():
            self.state.pattern.on_retry(self.state.memory, replace(event, time=self._now()))
        return self.state.log.drain()

    def _edit(self, event: Event) -> tuple[Change, ...]:
        self.state, changes = apply_edit(self.state, event)
        return changes

    def _budget_events(self, steps: Sequence[Transition]) -> Iterator[Transition]:
        """Yield the budget events these steps cause; journaled with them, so nothing starts in between."""
        left = {path for step in steps for path in step.left}
        for event in self._enforcer.due_events():
            yield self._apply_step(self._step(event), left)

    def _apply_step(self, step: Transition, left: Collection[StatePath] = ()) -> Transition:
        """Apply a step; if it produces notices for the agents, give them."""
        self.projection.apply(step)
        if step.raised or step.event.name not in ('warn', 'extend'):
            return step
        self.state.notices = self.projection.meter.notices
        at_work = set(self._runner.running_states).difference(left)
        if self._replayer and self._is_fully_replayed:
            at_work = self._replayer.find_unnotified(self.state.agents)
        return replace(step, changes=self._deliver_notices(RUN, at_work))

    def _deliver_notices(self, at: StatePath, at_work: Collection[StatePath] = ()) -> tuple[Change, ...]:
        """Give the agents at `at` that are about to call a model the notices they have not seen.

        Other agents get theirs from the action that precedes their next call.
        """
        for path in self.state.agents:
            leaf = StatePath(f'{path}.thinking')
            if leaf in self.projection.active and leaf not in at_work and at in (RUN, leaf):
                self.state.deliver_notices(path)
        return self.state.log.drain()

    def _step(self, event: Event) -> Transition:
        """Return a step without state changes."""
        return Transition(
            run=self.info.id,
            seq=self.projection.seq + 1,
            time=self._now(),
            event=event,
            active=self.projection.active,
        )

    def _abort(self, error: str) -> Transition:
        return self._ending(Event(name='abort', data={'error': error}))

    def _ending(self, event: Event) -> Transition:
        left = tuple(StatePath(path) for path in reversed(self.projection.entered))
        return replace(self._step(event), left=left, active=())

    def _now(self) -> float:
        if self._replayer and self._is_fully_replayed:
            return max(self.projection.time, self._replayer.time)
        return self._clock.now()

    async def _carry_out(self, steps: list[Transition]) -> None:
        """Journal, then act. Raises `JournalError` if the run is no longer ours."""
        try:
            await self._journal_and_act(steps)
        except Exception as error:
            # Memory may be ahead of the journal now; the next owner re-reads the journal.
            await self._lose_ownership(error)
            raise

    async def _journal_and_act(self, steps: list[Transition]) -> None:
        steps = [self._apply_step(step) for step in steps]
        if not self._is_fully_replayed:
            steps += self._budget_events(steps)
        if not (self._replayer and self._replayer.ignores_breakpoints):
            steps += [self._apply_step(self._step(event)) for event in self._debugger.due_events(steps)]
        if not self._is_fully_replayed:
            self._enforcer.schedule_alarm()
        if not steps:
            return
        if self._replayer:
            self._replayer.advance(steps)
        self.info = await self._recorder.write(self.info, self.projection, steps, self.state.dump_tails)
        for step in steps:
            self._context.feed.publish(step)
        stopped = [] if self._is_fully_replayed else self._runner.apply(steps)
        if self.projection.status.ended:
            await self._runner.wait_cancelled(stopped)
            await self._runner.stop()
            await self._context.services.workspaces.remove_agent_homes(self.info.id)
            self.outcome = None if self.projection.aborted else self._make_outcome()
            self._detach()
            return
        for step in () if self._is_fully_replayed else steps:
            if step.event.name in CONTROL and not step.raised:
                self._runner.control(step.event)

    async def _lose_ownership(self, error: Exception) -> None:
        """Stop because the journal rejects writes from this process; the next claim continues the run."""
        self.lost, self.claimed = describe_error(error), isinstance(error, StaleOwner)
        self._enforcer.stop()
        await self._runner.stop()
        self._detach()
        self._context.feed.publish(JournalOutage(run=self.info.id, problem=self.lost))

    def _detach(self) -> None:
        self._context.on_ended(self)
        self.detached.set()

    def _make_outcome(self) -> Outcome:
        memory, answer = to_jsonable(self.state.memory), self.chart.shape.answer
        return Outcome(
            run=self.info.id,
            status=self.projection.status,
            answer=memory.get(answer) if answer else None,
            error=self.projection.reason,
            memory=memory,
        )

    def _find_dead_end(self) -> str:
        """Return why nothing more can happen to this run, or ''."""
        projection = self.projection
        if (
            self.lost
            or projection.status.ended
            or projection.waiting
            or self._runner.busy
            or self._mailbox.waiting
        ):
            return ''
        if set(self.chart.enabled_events(projection.active)) - ENGINE_EVENTS:
            return ''
        stuck = f'nothing leads out of {", ".join(projection.active)}'
        return f'{projection.error}; {stuck}' if projection.error else stuck

    def _refusal_reason(self, event: Event) -> str:
        """Return why no active state accepts an event: the guards that reject it, or what is accepted."""
        unmet = self.chart.find_unmet(self.projection.active, self.state, event)
        if unmet:
            explanations = GuardExplanations(self.state.pattern, self.info.parameters)
            document = self.state.dump()
            reasons = (explanations.refusal(guard, document, event) for guard in unmet)
            return '; '.join(dict.fromkeys(reasons))
        accepted = [
            name for name in self.chart.enabled_events(self.projection.active) if name not in ENGINE_EVENTS
        ]
        return f'the active states accept {", ".join(accepted)}' if accepted else 'no active state accepts it'
