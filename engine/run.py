"""One run: one mailbox, one chart. Decide, journal, act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.activity import Services
from engine.chart import Chart
from engine.control import edited, refusal
from engine.errors import EventRefused, JournalError, JournalUnavailable, PatternError
from engine.feed import Feed
from engine.journal import Journal
from engine.mailbox import Letter, Mailbox
from engine.records import CONTROL, ENDINGS, Event, RunInfo, StatePath, Transition, Trouble
from engine.state import RunState
from engine.view import Ledger, snapshot_of
from engine.work import Work

SNAPSHOT_STEPS = 200
"""A snapshot is kept at most this often, and no sooner than the steps since the last one outweigh it: a seek stays
short, and all snapshots together take no more room than the steps do."""
LONGEST_WAIT = 30.0
"""Seconds between two tries to write to a journal that has no room."""


class Run:
    """A live run. Everything that happens to it goes through its mailbox."""

    def __init__(
        self,
        info: RunInfo,
        chart: Chart,
        state: RunState,
        ledger: Ledger,
        *,
        journal: Journal,
        feed: Feed,
        services: Services,
        ended: Callable[[Run], None],
    ) -> None:
        self.info, self.chart, self.state, self.ledger = info, chart, state, ledger
        self._journal, self._feed, self._services, self._ended = journal, feed, services, ended
        self._mailbox = Mailbox(self._handle)
        self._work = Work(chart, ledger, services, feed, lambda: (self.info, self.state), self._mailbox.post)
        self._weight = self._last_weight = self._last_seq = 0
        self.lost = ''
        """Why this process may no longer write to the run, if it may not."""

    async def send(self, event: Event) -> None:
        """Hand an event in and wait until it is journaled.

        Raises:
            EventRefused: no active state takes it, or the run has ended.
            InvalidInput: its data does not fit.
        """
        await self._mailbox.ask(event)

    async def release(self) -> None:
        """Stop working on the run without ending it: it goes on where it is claimed next."""
        self._mailbox.close()
        await self._work.stop()

    async def _handle(self, letter: Letter) -> None:
        event = letter.event
        if self.lost or self.ledger.status.ended:
            if letter.answer is None:
                return  # What an activity had still to say when the run ended.
            raise EventRefused(self.info.id, event.name, self.lost or f'it is {self.ledger.status}')
        if event.since and self.ledger.entered.get(event.at, (0,))[0] != event.since:
            return  # The ending of a visit that is over: its state was left while this letter waited.
        try:
            steps = self._decide(event)
        except PatternError as error:
            # What the actions wrote before one of them raised is not journaled, and dies with this run.
            self.state.log.take()
            steps = [self._abort(str(error))]
        for step in steps:
            self.ledger.take(step)
        if await self._write(steps):
            await self._act(steps)

    def _decide(self, event: Event) -> list[Transition]:
        """What the event leads to. Writes memory, and nothing else."""
        if event.name in CONTROL and event.name != 'start':
            return [self._control(event)]
        moves = self.chart.fire(self.ledger.active, self.state, event)
        if not moves and event.name in ('failed', 'expired'):
            return [self._abort(str(event.data.get('error', '')) or f'{event.at} {event.name}')]
        if not moves and event.name not in ENDINGS:
            raise EventRefused(self.info.id, event.name, self._expected())
        now = self._services.clock.now()
        if not moves:
            return [self._step(event)]
        return [
            Transition(
                run=self.info.id,
                seq=self.ledger.seq + number,
                time=now,
                event=move.event,
                raised=move.raised,
                left=move.left,
                entered=move.entered,
                active=move.active,
                edges=move.edges,
                guards=move.guards,
                changes=move.changes,
            )
            for number, move in enumerate(moves, start=1)
        ]

    def _control(self, event: Event) -> Transition:
        problem = refusal(event, self.ledger)
        if problem:
            raise EventRefused(self.info.id, event.name, problem)
        if event.name == 'edit':
            self.state, changes = edited(self.state, event)
            return replace(self._step(event), changes=changes)
        if event.name in ('cancel', 'abort'):
            return replace(self._step(event), left=self._all_active(), active=())
        return self._step(event)

    def _step(self, event: Event) -> Transition:
        """A step that moves nothing."""
        return Transition(
            run=self.info.id,
            seq=self.ledger.seq + 1,
            time=self._services.clock.now(),
            event=event,
            active=self.ledger.active,
        )

    def _abort(self, error: str) -> Transition:
        event = Event(name='abort', data={'error': error})
        return replace(self._step(event), left=self._all_active(), active=())

    def _all_active(self) -> tuple[StatePath, ...]:
        return tuple(StatePath(path) for path in reversed(self.ledger.entered))

    async def _write(self, steps: list[Transition]) -> bool:
        """Journal the steps; while there is no room, wait for it. False: the run is not ours any more."""
        ledger = self.ledger
        self.info = replace(
            self.info,
            seq=ledger.seq,
            status=ledger.status,
            updated=ledger.time,
            usage=ledger.usage,
            error=ledger.error if ledger.status.ended else '',
            waiting=ledger.waiting,
        )
        due = ledger.seq - self._last_seq >= SNAPSHOT_STEPS and self._weight >= self._last_weight
        snapshot = snapshot_of(self.info.id, ledger, self.state.dump()) if due else None
        wait = 0.5
        while True:
            try:
                weight = await self._journal.append(self.info, steps, snapshot)
            except JournalUnavailable as error:
                self._feed.publish(Trouble(run=self.info.id, problem=str(error)))
                await self._services.clock.sleep(wait)
                wait = min(LONGEST_WAIT, wait * 2)
            except JournalError as error:
                self.lost = str(error)
                self._feed.publish(Trouble(run=self.info.id, problem=self.lost))
                await self._work.stop()
                self._ended(self)
                return False
            else:
                break
        if wait > 0.5:
            self._feed.publish(Trouble(run=self.info.id, problem=''))
        self.info = replace(self.info, bytes=self.info.bytes + weight)
        self._weight += weight
        if snapshot:
            self._last_seq, self._last_weight, self._weight = ledger.seq, self._weight + self._last_weight, 0
        return True

    async def _act(self, steps: list[Transition]) -> None:
        for step in steps:
            self._feed.publish(step)
        stopped = self._work.follow(steps)
        if self.ledger.status.ended:
            await self._work.settle(stopped)
            await self._work.stop()
            self._ended(self)
            return
        if steps[0].event.name in CONTROL:
            self._work.control(steps[0].event)
        self._check_for_a_dead_end()

    def _check_for_a_dead_end(self) -> None:
        """A run in which nothing can happen any more fails, and says where."""
        if self._work.busy or self.ledger.waiting:
            return
        if set(self.chart.takes(self.ledger.active)) <= ENDINGS | {'always'}:
            where = ', '.join(self.ledger.active)
            problem = f'{self.ledger.error}; ' if self.ledger.error else ''
            self._mailbox.post(Event(name='abort', data={'error': f'{problem}nothing leads out of {where}'}))

    def _expected(self) -> str:
        taken = [name for name in self.chart.takes(self.ledger.active) if name not in ENDINGS | {'always'}]
        return f'the active states take {", ".join(taken)}' if taken else 'no active state takes it'
