"""A full journal: the run waits, reports, retries and loses nothing; and when snapshots are taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import EventRefused, LocalConductor, Pattern, SimulatedClock, Status
from engine.agents.chart import agent
from engine.errors import JournalUnavailable
from engine.journal import MemoryJournal, fold
from engine.journal.memory_journal import estimate_size
from engine.records import JournalOutage
from engine.runtime import recorder as recorder_module
from tests.support.harness import FakeModel, Lone, catalog, complete_run, pipeline_reply, until


class Full(MemoryJournal):
    """Refuses appends while it is full."""

    full = False
    tries = 0

    async def append(self, info: Any, transitions: Any, snapshot: Any = None) -> int:
        if self.full:
            self.tries += 1
            raise JournalUnavailable('disk full')
        return await super().append(info, transitions, snapshot)


@pytest.fixture
async def full() -> Any:
    """A run whose journal is full from the second step on."""
    journal, clock, model = Full(), SimulatedClock(), FakeModel()
    async with LocalConductor(journal, catalog=catalog(model, Lone), clock=clock) as conductor:
        run = (await conductor.start('lone')).id
        journal.full = True
        await until(lambda: clock._sleepers)
        yield conductor, journal, clock, run, model


async def test_a_full_journal_is_reported_and_waited_for(full: Any) -> None:
    conductor, journal, clock, run, model = full
    with conductor.feed.subscribe(run) as reader:
        await clock.advance(10)
        assert journal.tries == 5  # After 0, 0.5, 1.5, 3.5 and 7.5 seconds.
        assert (await conductor.info(run)).seq == 1
        journal.full = False
        await clock.advance(60)
        outcome = await conductor.result(run)
        troubles = [item.problem for item in reader.drain() if isinstance(item, JournalOutage)]
    assert outcome.status is Status.DONE and len(model.requests) == 1
    assert set(troubles[:-1]) == {'disk full'} and troubles[-1] == ''


async def test_a_cancel_during_an_outage_is_journaled_later(full: Any) -> None:
    conductor, journal, clock, run, _ = full
    cancelling = asyncio.ensure_future(conductor.cancel(run))
    await clock.advance(1)
    assert not cancelling.done()
    journal.full = False
    await clock.advance(60)
    await asyncio.wait([cancelling])
    # The reply was already decided and ends this run; a longer run would be cancelled.
    assert isinstance(cancelling.exception(), EventRefused | None)
    assert (await conductor.info(run)).status.ended


async def test_releasing_during_an_outage_is_quick_and_loses_nothing(full: Any) -> None:
    conductor, journal, clock, run, _ = full
    waiting = asyncio.ensure_future(conductor.pause(run))
    await clock.advance(1)
    async with asyncio.timeout(1):
        await conductor.close()
    with pytest.raises(EventRefused, match='closing'):
        await waiting
    journal.full = False
    async with LocalConductor(journal, catalog=catalog(FakeModel(), Lone)) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE


class Long(Lone):
    """Loops for a long time."""

    initial = 'a'
    states = [agent('a', prompt='ask')]
    transitions = [['done', 'a', 'a']]


async def test_snapshots_equal_the_folded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, 'SNAPSHOT_STEPS', 2)
    journal = MemoryJournal()
    async with LocalConductor(journal, catalog=catalog(FakeModel(pipeline_reply))) as conductor:
        run = await complete_run(conductor, 'pipeline', {'task': 'six?'})
        seqs = [item.seq for item in journal._snapshots[run]]
        assert len(seqs) >= 2
        steps, shape = await conductor.transitions(run), await conductor.shape(run)
        for at in [*range(len(steps) + 1), *seqs]:  # Twice, since reading a snapshot must not change it.
            assert await conductor.view(run, at) == fold(run, shape, steps[:at]), at


async def test_snapshots_take_no_more_space_than_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, 'SNAPSHOT_STEPS', 10)
    journal = MemoryJournal()
    async with LocalConductor(journal, catalog=catalog(FakeModel('word ' * 20), Long)) as conductor:
        run = (await conductor.start('long')).id
        await until(lambda: journal._infos[run].seq > 400)
        await conductor.cancel(run)
        *earlier, _ = journal._snapshots[run]
        assert earlier and estimate_size((), earlier) <= estimate_size(journal._transitions[run], ())


class Level(Pattern):
    """Loops for a long time, and stores nothing."""

    initial = 'a'
    states = ['a', 'b']
    transitions = [['go', 'a', 'b'], ['go', 'b', 'a']]


async def test_snapshots_of_constant_size_are_taken_as_often_as_allowed() -> None:
    journal = MemoryJournal()
    async with LocalConductor(journal, catalog=catalog(FakeModel(), Level)) as conductor:
        run = (await conductor.start('level')).id
        for _ in range(1_000):
            await conductor.send(run, 'go')
        assert [item.seq for item in journal._snapshots[run]] == [200, 400, 600, 800, 1_000]
