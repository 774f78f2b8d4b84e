"""Decide, journal, act: no side effect happens before its step is stored, however slow the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from engine import (
    Activity,
    Conductor,
    EventRefused,
    LocalConductor,
    Memory,
    Pattern,
    Retry,
    SimulatedClock,
    Status,
    Transition,
)
from engine.errors import ModelError
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.patterns.pipeline import Pipeline
from engine.records import RunId
from tests.support.forks import Pair, working
from tests.support.harness import FakeModel, catalog, pipeline_reply, until
from tests.support.journals.slow_journal import HeldJournal


class Heard(Memory):
    visit: int = 0
    results: list[str] = []


class Visits(Pattern):
    """One piece of work that can be restarted at any time; tests set what it does."""

    Memory = Heard
    initial = 'one'
    states = [
        {
            'name': 'one',
            'on_enter': 'count',
            'invoke': 'work',
            'within': 30,
            'retry': Retry(attempts=2, delay=1.0, jitter=0.0),
        },
        {'name': 'end', 'final': True},
        {'name': 'late', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [
        {'trigger': 'again', 'source': 'one', 'dest': 'one'},
        ['done', 'one', 'end', None, None, 'keep'],
        ['skip', 'one', 'end'],
        ['expired', 'one', 'late'],
    ]
    begun: list[Activity]
    seen: list[int]
    ends: dict[int, asyncio.Future[str]]

    def count(self, memory: Heard, event: Any) -> None:
        memory.visit += 1

    async def work(self, memory: Heard, activity: Activity) -> str:
        self.begun.append(activity)
        self.seen.append(memory.visit)
        return await self.ends.setdefault(activity.since, asyncio.get_running_loop().create_future())

    def keep(self, memory: Heard, event: Any) -> None:
        memory.results.append(event.data['value'])


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def held_journal() -> HeldJournal:
    return HeldJournal(MemoryJournal())


@pytest.fixture
async def conductor(held_journal: HeldJournal, clock: SimulatedClock) -> AsyncIterator[Conductor]:
    Visits.begun, Visits.seen, Visits.ends = [], [], {}
    async with LocalConductor(held_journal, catalog=catalog(FakeModel(), Visits), clock=clock) as conductor:
        yield conductor
        held_journal.holds = False
        while held_journal.waiting:
            held_journal.release()
        await settle()


@pytest.fixture
async def run(conductor: Conductor, held_journal: HeldJournal) -> RunId:
    """A run in its first visit, with its work started."""
    starting = asyncio.ensure_future(conductor.start('visits'))
    await held_journal.next()
    held_journal.release()
    run = (await starting).id
    await until(lambda: Visits.begun)
    return run


def list_visits() -> list[int]:
    return [activity.since for activity in Visits.begun]


def names(steps: Any) -> list[str]:
    return [step.event.name for step in steps]


@pytest.mark.parametrize(
    ('pattern', 'parameters', 'reply'),
    [(Pipeline, {'task': 'six?'}, pipeline_reply), (Pair, {}, working)],
    ids=['pipeline', 'pair'],
)
async def test_a_model_is_called_only_in_a_journaled_state(
    pattern: type[Pattern], parameters: dict[str, Any], reply: Callable[[ModelRequest], Any]
) -> None:
    journal = MemoryJournal()
    held_journal = HeldJournal(journal)
    ahead: list[str] = []

    def answer(request: ModelRequest) -> Any:
        (history,) = journal._transitions.values()
        if not history or f'{request.hints.state}.thinking' not in history[-1].active:
            ahead.append(f'{request.hints.state} after {len(history)} steps')
        return reply(request)

    model = FakeModel(answer)
    async with LocalConductor(held_journal, catalog=catalog(model, Pair)) as conductor:
        starting = asyncio.ensure_future(conductor.start(pattern.name, parameters))
        await held_journal.next()
        assert model.requests == []
        held_journal.release()
        run = (await starting).id

        async def over() -> bool:
            return (await conductor.info(run)).status.ended

        await held_journal.let_through(over)
        assert (await conductor.info(run)).status is Status.DONE
    assert len(model.requests) >= 4 and ahead == []


async def test_no_work_starts_before_its_step_is_journaled(
    conductor: Conductor, held_journal: HeldJournal
) -> None:
    starting = asyncio.ensure_future(conductor.start('visits'))
    assert names(await held_journal.next()) == ['start']
    assert Visits.begun == [] and not starting.done()
    held_journal.release()
    run = (await starting).id
    await until(lambda: list_visits() == [1])
    asking = asyncio.ensure_future(conductor.send(run, 'again'))
    assert names(await held_journal.next()) == ['again']
    assert list_visits() == [1] and not asking.done()
    held_journal.release()
    await asking
    await until(lambda: list_visits() == [1, 2])
    assert Visits.ends[1].cancelled() and not Visits.ends[2].cancelled()


async def test_no_work_is_stopped_before_its_step_is_journaled(
    conductor: Conductor, held_journal: HeldJournal, run: RunId
) -> None:
    cancelling = asyncio.ensure_future(conductor.cancel(run))
    await held_journal.next()
    assert not Visits.ends[1].cancelled() and not cancelling.done()
    held_journal.release()
    await cancelling
    assert Visits.ends[1].cancelled()


async def test_no_retry_starts_before_the_failure_is_journaled(
    conductor: Conductor, held_journal: HeldJournal, clock: SimulatedClock, run: RunId
) -> None:
    Visits.ends.pop(1).set_exception(ModelError('busy', retryable=True))
    assert names(await held_journal.next()) == ['retry']
    await clock.advance(10)
    assert len(Visits.begun) == 1
    held_journal.release()
    await until(lambda: len(clock._sleepers) == 2)  # the timeout, and the delay
    await clock.advance(1)
    await until(lambda: len(Visits.begun) == 2)


async def test_no_watcher_sees_a_step_before_it_is_journaled(
    conductor: Conductor, held_journal: HeldJournal, run: RunId
) -> None:
    seqs: list[int] = []

    async def look() -> None:
        async for item in conductor.watch(run):
            if isinstance(item, Transition):
                seqs.append(item.seq)

    looking = asyncio.ensure_future(look())
    waiting = asyncio.ensure_future(conductor.result(run))
    Visits.ends[1].set_result('over')
    assert names(await held_journal.next()) == ['done']
    assert seqs == [1] and not waiting.done() and (await conductor.info(run)).seq == 1
    held_journal.release()
    assert (await waiting).memory['results'] == ['over']
    await looking
    assert seqs == [1, 2]


async def test_a_queued_event_is_refused_when_the_run_ends(
    conductor: Conductor, held_journal: HeldJournal, run: RunId
) -> None:
    Visits.ends[1].set_result('over')
    assert names(await held_journal.next()) == ['done']
    asking = asyncio.ensure_future(conductor.send(run, 'pause'))
    await settle()
    held_journal.release()
    with pytest.raises(EventRefused, match='it is done'):
        await asking


async def test_a_late_result_of_a_visit_is_dropped_while_its_successor_is_being_journaled(
    conductor: Conductor, held_journal: HeldJournal, run: RunId
) -> None:
    asking = asyncio.ensure_future(conductor.send(run, 'again'))
    assert names(await held_journal.next()) == ['again']
    Visits.ends[1].set_result('from the first visit')
    await settle()
    held_journal.release()
    await asking
    await until(lambda: list_visits() == [1, 2])
    Visits.ends[2].set_result('from the second')
    assert names(await held_journal.next()) == ['done']
    held_journal.release()
    assert (await conductor.result(run)).memory['results'] == ['from the second']


async def test_a_late_timeout_of_a_visit_is_dropped_while_its_successor_is_being_journaled(
    conductor: Conductor, held_journal: HeldJournal, clock: SimulatedClock, run: RunId
) -> None:
    asking = asyncio.ensure_future(conductor.send(run, 'again'))
    await held_journal.next()
    await clock.advance(31)
    held_journal.release()
    await asking
    await until(lambda: list_visits() == [1, 2])
    await clock.advance(29)
    assert not held_journal.waiting and (await conductor.view(run)).active == ('one',)
    await clock.advance(2)
    assert names(await held_journal.next()) == ['expired']
    held_journal.release()
    assert (await conductor.result(run)).status is Status.FAILED


async def test_work_belongs_to_its_visit_even_if_the_next_is_already_decided(
    conductor: Conductor, held_journal: HeldJournal, clock: SimulatedClock
) -> None:
    starting = asyncio.ensure_future(conductor.start('visits'))
    await held_journal.next()
    (run,) = conductor._live.runs
    asking = asyncio.ensure_future(conductor.send(run, 'again'))
    await settle()
    held_journal.release()
    # The second event was already queued: it is decided before the first visit's work gets a turn.
    assert names(await held_journal.next()) == ['again']
    assert set(list_visits()) <= {1} and set(Visits.seen) <= {1}
    if 1 in Visits.ends:
        Visits.ends[1].set_result('from the first visit')
    await clock.advance(31)
    held_journal.release()
    await asyncio.gather(starting, asking)
    await until(lambda: 2 in list_visits())
    assert list_visits().count(2) == 1 and not held_journal.waiting
    Visits.ends[2].set_result('from the second')
    assert names(await held_journal.next()) == ['done']
    held_journal.release()
    assert (await conductor.result(run)).memory['results'] == ['from the second']


@pytest.mark.parametrize('event', ['again', 'skip'])
async def test_a_retry_due_while_its_visit_is_ending_is_not_made(
    conductor: Conductor, held_journal: HeldJournal, clock: SimulatedClock, run: RunId, event: str
) -> None:
    Visits.ends.pop(1).set_exception(ModelError('busy', retryable=True))
    await held_journal.next()
    held_journal.release()
    await until(lambda: len(clock._sleepers) == 2)  # the timeout, and the delay
    asking = asyncio.ensure_future(conductor.send(run, event))
    assert names(await held_journal.next()) == [event]
    await clock.advance(2)
    assert list_visits() == [1]
    held_journal.release()
    await asking
    await settle()
    assert list_visits() == ([1, 3] if event == 'again' else [1])
