"""Run: a live run, with one mailbox and one chart. Decide, journal, act."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from typing_extensions import override

from engine.errors import (
    EngineError,
    EventRefused,
    InvalidInput,
    PatternError,
    RunElsewhere,
    StaleOwner,
    StepPassed,
)
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
from engine.runtime.activity import LiveRun, RuntimeContext
from engine.runtime.control_events import ALARM, apply_edit
from engine.runtime.debugger.guard_explanations import GuardExplanations
from engine.runtime.mailbox import Envelope, Mailbox
from engine.runtime.recorder import Recorder, step_of
from engine.runtime.world.timeouts import TimerSnapshot
from engine.runtime.world.world import World
from engine.statechart.chart import Chart
from engine.statechart.run_state import RunState

log = logging.getLogger('hemicycle')


class Run(LiveRun):
    """A live run. Everything that happens to it goes through its mailbox."""

    def __init__(  # noqa: PLR0913  (its collaborators)
        self,
        info: RunInfo,
        chart: Chart,
        state: RunState,
        projection: RunProjection,
        context: RuntimeContext,
        make_world: Callable[[LiveRun], World] = World,
    ) -> None:
        self.info, self.chart, self.state, self.projection = info, chart, state, projection
        self.context = context
        self._recorder = Recorder(context, state.unchanged)
        self.mailbox = Mailbox(self._handle, context.services.scheduler.wait_for_turn)
        self.world = make_world(self)
        self.lost = ''
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
        await self.mailbox.ask(event if data is event.data else replace(event, data=data), seen)

    async def has_accepted(self, name: str, key: str) -> bool:
        """Return whether an event with this key is journaled. Raises `RunElsewhere` if it cannot know."""
        if key not in self.projection.keys:
            return False
        # It may still be in the middle of being journaled.
        await self.mailbox.ask(Event(name=name, key=key))
        return True

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in progress, and no event is waiting."""
        return not (self.world.runner.running_states or self.mailbox.is_busy)

    @property
    def is_resting(self) -> bool:
        """Whether only a person or a timeout can move the run on."""
        return self.world.runner.is_resting and not self.mailbox.is_busy

    @property
    def deadline(self) -> float | None:
        """When the next timeout or budget event is due by time alone; None if there is none."""
        return self.world.deadline

    def export_timers(self) -> tuple[TimerSnapshot, ...]:
        """Return the remaining timeouts, for the run's next owner."""
        return self.world.runner.export_timers()

    def restore_timers(self, timers: Sequence[TimerSnapshot]) -> None:
        """Continue the timeouts kept by the run's previous owner."""
        self.world.runner.restore_timers(timers)

    def withhold_work(self) -> None:
        """Decide and journal, but start no work."""
        self.world.runner.withhold_work()

    async def drain(self) -> None:
        """Start no more work, and wait until work in progress has ended and is journaled."""
        self.world.runner.withhold_work()
        while not self.is_idle:
            await self.world.runner.wait_until_idle()
            await self.mailbox.wait_until_empty()

    async def release(self) -> None:
        """Stop working on the run without ending it: it continues wherever it is claimed next."""
        reason = 'its process is closing'
        await self.mailbox.close(lambda event: RunElsewhere(self.info.id, event.name, reason))
        await self.world.stop()
        self.detached.set()

    async def _handle(self, envelope: Envelope) -> None:
        async with self.world.turn(envelope.event):
            await self._receive(envelope)

    async def _receive(self, envelope: Envelope) -> None:
        event, awaited = envelope.event, envelope.answer is not None
        if awaited and self._is_repeated(envelope):
            return
        if self.lost or self.projection.status.ended:
            return  # A late report from an activity.
        if event.since and self.projection.entered.get(event.at, (0,))[0] != event.since:
            return  # The ending of a past visit: its state was left while this envelope waited.
        await self._carry_out([] if event is ALARM else self._decide_safely(event, awaited=awaited))
        while following := self.world.shutdown_event():
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
        now = self.world.now()
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

    @override
    async def control(self, event: Event) -> None:
        await self._carry_out([self._control(event)])

    def _control(self, event: Event) -> Transition:
        event = self.world.validate(event)
        if event.name == 'edit':
            return replace(self._step(event), changes=self._edit(event))
        if event.name in ('cancel', 'abort'):
            return self._ending(event)
        if event.name == 'recover' and resets_budget(event.data):
            self.state.notices = ('',) * len(self.state.notices)  # Those belonged to its parent's budget.
        if event.name in ('retry', 'recover'):
            changes = self._edit(event) if event.data.get('changes') else ()
            noted = self._note_retry(event) if event.name == 'retry' else ()
            return replace(self._step(event), changes=(*changes, *noted, *self._deliver_notices(event)))
        return self._step(event)

    def _note_retry(self, event: Event) -> tuple[Change, ...]:
        """Let the pattern record a retry in memory."""
        with self.state.writing():
            self.state.pattern.on_retry(self.state.memory, replace(event, time=self.world.now()))
        return self.state.log.drain()

    def _edit(self, event: Event) -> tuple[Change, ...]:
        self.state, changes = apply_edit(self.state, event)
        return changes

    def _apply_step(self, step: Transition, left: Collection[StatePath] = ()) -> Transition:
        """Apply a step; if it produces notices for the agents, give them."""
        self.projection.apply(step)
        if step.raised or step.event.name not in ('warn', 'extend'):
            return step
        self.state.notices = self.projection.meter.notices
        return replace(step, changes=self._deliver_notices(step.event, left))

    def _deliver_notices(self, event: Event, left: Collection[StatePath] = ()) -> tuple[Change, ...]:
        """Give the agents an event is for the notices they have not seen, if they are about to call a model.

        Other agents get theirs from the action that precedes their next call.
        """
        at = RUN if event.name in ('warn', 'extend') else event.at
        at_work = self.world.at_work(event, left)
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
            time=self.world.now(),
            event=event,
            active=self.projection.active,
        )

    def _abort(self, error: str) -> Transition:
        return self._ending(Event(name='abort', data={'error': error}))

    def _ending(self, event: Event) -> Transition:
        left = tuple(StatePath(path) for path in reversed(self.projection.entered))
        return replace(self._step(event), left=left, active=())

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
        left = {path for step in steps for path in step.left}
        # Journaled with the steps that cause them, so nothing starts in between.
        steps += [self._apply_step(self._step(event), left) for event in self.world.budget_events()]
        steps += [self._apply_step(self._step(event)) for event in self.world.breakpoint_events(steps)]
        self.world.note(steps)
        if not steps:
            return
        self.info = await self._recorder.write(self.info, self.projection, steps, self.state.dump_tails)
        for step in steps:
            self.context.feed.publish(step)
        stopped = self.world.act(steps)
        if self.projection.status.ended:
            await self.world.runner.wait_cancelled(stopped)
            await self.world.stop()
            await self.context.services.workspaces.remove_agent_homes(self.info.id)
            self.outcome = None if self.projection.aborted else self._make_outcome()
            self._detach()

    async def _lose_ownership(self, error: Exception) -> None:
        """Stop because the journal rejects writes from this process; the next claim continues the run."""
        self.lost, self.claimed = describe_error(error), isinstance(error, StaleOwner)
        await self.world.stop()
        self._detach()
        self.context.feed.publish(JournalOutage(run=self.info.id, problem=self.lost))

    def _detach(self) -> None:
        self.context.on_ended(self)
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
            or self.world.may_act
            or self.mailbox.waiting
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
