"""One run: one mailbox, one chart. Decide, journal, act."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from engine.budgets.meter import begins_anew
from engine.budgets.treasurer import Treasurer
from engine.chart import Chart
from engine.control import ALARM, allowed, edited
from engine.errors import EngineError, EventRefused, InvalidInput, PatternError
from engine.forks.playback import Player
from engine.host import Host
from engine.mailbox import Letter, Mailbox
from engine.plain import said
from engine.recorder import Recorder, step_of
from engine.records import (
    CONTROL,
    ENDINGS,
    EXHAUSTED,
    RUN,
    Change,
    Event,
    RunInfo,
    StatePath,
    Transition,
    Trouble,
)
from engine.state import RunState
from engine.stepping.debugger import Debugger
from engine.view import Ledger
from engine.work import Work

log = logging.getLogger('hemicycle')
BY_ENGINE = ENDINGS | {'always', EXHAUSTED}
"""What no person sends."""


class Run:
    """A live run. Everything that happens to it goes through its mailbox."""

    def __init__(  # noqa: PLR0913  (what a run is made of)
        self,
        info: RunInfo,
        chart: Chart,
        state: RunState,
        ledger: Ledger,
        host: Host,
        player: Player | None = None,
    ) -> None:
        self.info, self.chart, self.state, self.ledger = info, chart, state, ledger
        self._host, self._player = host, player
        self._recorder = Recorder(host)
        self._mailbox = Mailbox(self._handle)
        self._work = Work(chart, ledger, host, lambda: (self.info, self.state), self._mailbox.post, player)
        self._treasurer = Treasurer(ledger, self._work, host.services.clock, self._mailbox.post)
        self._debugger = Debugger(ledger, chart.shape, lambda: self.state)
        self.lost = ''
        """Why this process may no longer write to the run, if it may not."""

    async def send(self, event: Event) -> None:
        """Hand an event in and wait until it is journaled.

        Raises:
            EventRefused: no active state takes it, or the run has ended.
            InvalidInput: its data does not fit.
            JournalError: the run is not ours any more.
        """
        data = self.state.pattern.checked(event.name, event.data)
        await self._mailbox.ask(event if data is event.data else replace(event, data=data))

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, and nothing waits to be looked at."""
        return not (self._work.under_way or self._mailbox.is_busy)

    async def release(self) -> None:
        """Stop working on the run without ending it: it goes on where it is claimed next."""
        gone = 'its process is closing'
        self._treasurer.stop()
        await self._mailbox.close(lambda event: EventRefused(self.info.id, event.name, gone))
        await self._work.stop()

    async def _handle(self, letter: Letter) -> None:
        try:
            await self._receive(letter)
        finally:  # What is played waits for nobody's letter: also not for one that is refused.
            if self._player:
                await self._play(self._player)

    async def _receive(self, letter: Letter) -> None:
        event = letter.event
        if self.lost or self.ledger.status.ended:
            if letter.answer is None:
                return  # What an activity had still to say when the run ended.
            raise EventRefused(self.info.id, event.name, self.lost or f'it is {self.ledger.status}')
        if event.since and self.ledger.entered.get(event.at, (0,))[0] != event.since:
            return  # The ending of a visit that is over: its state was left while this letter waited.
        await self._carry_out(self._answered(event, asked=letter.answer is not None))
        if not self._muted:
            while following := self._treasurer.closing(self._mailbox.waiting):
                await self._carry_out(self._decided(following, asked=False))
            if dead_end := self._dead_end():
                await self._carry_out([self._abort(dead_end)])

    @property
    def _muted(self) -> bool:
        """Whether all that happens is played: no work, no time-outs, no budget."""
        return self._player is not None and self._player.strict

    async def _play(self, player: Player) -> None:
        """Hand in what is played next; or go on without, where nothing is left of it."""
        await asyncio.sleep(0)  # Nobody else should have to wait until all is played.
        if self.lost or self.ledger.status.ended or self._mailbox.waiting or player.stopped:
            return
        started = player.started if player.strict else self._work.kept
        at_work = () if player.strict else self._work.under_way
        item = None if player.waits else player.next(started, at_work, self.state)
        if item:
            self._mailbox.post(player.event(item))
        elif (player.strict and not player.waits) or (started and not at_work and not player.strict):
            await self._without(player, started)

    async def _without(self, player: Player, started: Collection[StatePath]) -> None:
        if event := player.last_word(started, self.state, self.info.budget):
            if event.name == 'recover':
                player.leave()
            await self._carry_out([self._control(event) if event.name == 'recover' else self._step(event)])
        if not player.strict:
            self._work.let_go()

    def _answered(self, event: Event, *, asked: bool) -> list[Transition]:
        if event is ALARM:
            return []
        try:
            return self._decided(event, asked=asked)
        except (EventRefused, InvalidInput):
            if self._player is None or not event.played:
                raise
            self._player.skip(event)  # What was changed in a fork may have led elsewhere.
            return []

    def _decided(self, event: Event, *, asked: bool) -> list[Transition]:
        try:
            return self._decide(event, asked=asked)
        except PatternError as error:
            problem = str(error)
        except EngineError:
            raise  # A refusal: nothing was written.
        except Exception as error:
            log.exception('run %s: event %s', self.info.id, event.name)
            problem = said(error)
        self.state.log.take()  # What was written before one of them raised is not journaled.
        return [self._abort(problem)]

    def _decide(self, event: Event, *, asked: bool) -> list[Transition]:
        """What the event leads to. Writes memory, and nothing else."""
        if event.name in CONTROL and event.name != 'start':
            return [self._control(event)]
        now = self._now()
        timed = replace(event, time=now, ran=self.ledger.ran_at(now))
        moves = self.chart.fire(self.ledger.active, self.state, timed, kept=event)
        if not moves and (asked or event.name not in ENDINGS | {EXHAUSTED}):
            raise EventRefused(self.info.id, event.name, self._expected())
        if not moves and event.name in ('failed', 'expired', EXHAUSTED):
            return [self._abort(str(event.data.get('error', '')) or f'{event.at} {event.name}')]
        if not moves:
            return [self._step(event)]
        return [
            step_of(move, self.info.id, self.ledger.seq + number, now)
            for number, move in enumerate(moves, start=1)
        ]

    def _control(self, event: Event) -> Transition:
        if not (self._muted and event.played):  # what was recorded has been checked
            event = allowed(event, self.info.id, self.ledger, self.chart.shape, self.state)
        if event.name == 'edit':
            return replace(self._step(event), changes=self._edit(event))
        if event.name in ('cancel', 'abort'):
            return self._ending(event)
        if event.name == 'recover' and begins_anew(event.data):
            self.state.notices = ('',) * len(self.state.notices)  # Those were of its parent's budget.
        if event.name in ('retry', 'recover'):
            changes = self._edit(event) if event.data.get('changes') else ()
            # While all is played, the call that is under way had begun before there was anything to tell.
            told = self._told(event.at) if event.played or not self._muted else ()
            return replace(self._step(event), changes=(*changes, *told))
        return self._step(event)

    def _edit(self, event: Event) -> tuple[Change, ...]:
        self.state, changes = edited(self.state, event)
        return changes

    def _of_budget(self, steps: Sequence[Transition]) -> Iterator[Transition]:
        """What the budget calls for after these steps: journaled with them, so nothing starts in between."""
        left = {path for step in steps for path in step.left}
        for event in self._treasurer.due():
            yield self._taken(self._step(event), left)

    def _taken(self, step: Transition, left: Collection[StatePath] = ()) -> Transition:
        """Take a step; one that gives the agents something to know tells it to them."""
        self.ledger.take(step)
        if step.raised or step.event.name not in ('warn', 'extend'):
            return step
        self.state.notices = self.ledger.meter.notices
        at_work = set(self._work.under_way).difference(left)
        if self._player and self._muted:
            at_work = self._player.untold(self.state.agents)
        return replace(step, changes=self._told(RUN, at_work))

    def _told(self, at: StatePath, at_work: Collection[StatePath] = ()) -> tuple[Change, ...]:
        """Tell the agents at `at` that are about to call a model what they have not been told.

        All other agents are told by the action that brings them to their next call.
        """
        for path in self.state.agents:
            leaf = StatePath(f'{path}.thinking')
            if leaf in self.ledger.active and leaf not in at_work and at in (RUN, leaf):
                self.state.tell(path)
        return self.state.log.take()

    def _step(self, event: Event) -> Transition:
        """A step that moves nothing."""
        return Transition(
            run=self.info.id,
            seq=self.ledger.seq + 1,
            time=self._now(),
            event=event,
            active=self.ledger.active,
        )

    def _abort(self, error: str) -> Transition:
        return self._ending(Event(name='abort', data={'error': error}))

    def _ending(self, event: Event) -> Transition:
        left = tuple(StatePath(path) for path in reversed(self.ledger.entered))
        return replace(self._step(event), left=left, active=())

    def _now(self) -> float:
        # A machine's clock may be set back; a history's may not.
        now = self._player.time if self._player and self._muted else self._host.services.clock.now()
        return max(self.ledger.time, now)

    async def _carry_out(self, steps: list[Transition]) -> None:
        """Journal, then act. Raises `JournalError` where the run is not ours any more."""
        try:
            await self._journal_and_act(steps)
        except Exception as error:
            # What is in memory may be ahead of the journal now: whoever goes on reads the journal again.
            await self._lose(error)
            raise

    async def _journal_and_act(self, steps: list[Transition]) -> None:
        steps = [self._taken(step) for step in steps]
        if not self._muted:
            steps += self._of_budget(steps)
        if not (self._player and self._player.overlooks):
            steps += [self._taken(self._step(event)) for event in self._debugger.due(steps)]
        if not self._muted:
            self._treasurer.wind()
        if not steps:
            return
        if self._player:
            self._player.saw(steps)
        self.info = await self._recorder.write(self.info, self.ledger, steps, self.state.dump)
        for step in steps:
            self._host.feed.publish(step)
        stopped = [] if self._muted else self._work.follow(steps)
        if self.ledger.status.ended:
            await self._work.settle(stopped)
            await self._work.stop()
            self._host.ended(self)
            return
        for step in () if self._muted else steps:
            if step.event.name in CONTROL and not step.raised:
                self._work.control(step.event)

    async def _lose(self, error: Exception) -> None:
        """The journal takes nothing more from this process: stop, and leave the run to whoever claims it."""
        self.lost = said(error)
        self._treasurer.stop()
        self._host.feed.publish(Trouble(run=self.info.id, problem=self.lost))
        await self._work.stop()
        self._host.ended(self)

    def _dead_end(self) -> str:
        """Why nothing can happen to this run any more, or ''."""
        ledger = self.ledger
        if self.lost or ledger.status.ended or ledger.waiting or self._work.busy or self._mailbox.waiting:
            return ''
        if set(self.chart.takes(ledger.active)) - BY_ENGINE:
            return ''
        return f'{ledger.error and f"{ledger.error}; "}nothing leads out of {", ".join(ledger.active)}'

    def _expected(self) -> str:
        taken = [name for name in self.chart.takes(self.ledger.active) if name not in BY_ENGINE]
        return f'the active states take {", ".join(taken)}' if taken else 'no active state takes it'
