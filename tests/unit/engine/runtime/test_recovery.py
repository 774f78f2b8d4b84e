"""Recovery, ownership and forks: runs of a dead process continue elsewhere, exactly once."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from engine import Conductor, EngineError, EventRefused, LocalConductor, SimulatedClock, Status, Transition
from engine.agents.chart import agent
from engine.errors import (
    JournalConflict,
    JournalError,
    JournalUnavailable,
    ModelError,
    StaleOwner,
    UnknownPattern,
    UnknownStep,
)
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.journal.budget_meter import BudgetMeter
from engine.records import JournalOutage, RunId, RunInfo
from engine.records.jsonable import describe_error
from engine.runtime.live_runs import MAX_CONCURRENT_RECOVERIES
from engine.runtime.world.activity_runner import ActivityRunner
from tests.support.harness import (
    FakeModel,
    HastyClock,
    Lone,
    catalog,
    in_turn,
    pipeline_reply,
    until,
    wait_for_state,
)


class Two(Lone):
    """Two agents in sequence."""

    initial = 'first'
    states = [agent('first', prompt='ask'), agent('second', prompt='ask'), {'name': 'end', 'final': True}]
    transitions = [['done', 'first', 'second'], ['done', 'second', 'end'], ['failed', '*', 'end']]


def make_conductor(
    journal: MemoryJournal, reply: Any = 'ok', *, owner: str = 'a', **options: Any
) -> Conductor:
    model = reply if isinstance(reply, FakeModel) else FakeModel(reply)
    return LocalConductor(journal, catalog=catalog(model, Lone, Two), owner=owner, **options)


def hanging() -> FakeModel:
    return FakeModel(lambda request: asyncio.Event())


async def leave_behind(journal: MemoryJournal, pattern: str = 'two', **options: Any) -> RunId:
    """Start a run whose process closes during its first model call."""
    async with make_conductor(journal, hanging(), **options) as crashed:
        run = (await crashed.start(pattern)).id
        await wait_for_state(crashed, run, 'first.thinking' if pattern == 'two' else 'working.thinking')
    return run


async def test_an_unfinished_run_continues_where_it_was() -> None:
    journal = MemoryJournal()
    run = await leave_behind(journal)
    async with make_conductor(journal) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE
        names = [step.event.name for step in await successor.transitions(run)]
        assert names[:3] == ['start', 'recover', 'done']
        assert await successor.audit(run) == len(names)
        assert await successor.recover() == []


class Returning(Lone):
    """Two hours' work, which a person may interrupt."""

    initial = 'working'
    states = [
        {
            'name': 'working',
            'initial': 'first',
            'children': ['first', 'second', 'third'],
            'transitions': [['next', 'first', 'second'], ['next', 'second', 'third']],
        },
        'resting',
        {'name': 'end', 'final': True},
    ]
    transitions = [
        ['rest', 'working', 'resting'],
        {'trigger': 'go_on', 'source': 'resting', 'dest': 'working', 'history': 'deep'},
        ['stop', 'working', 'end'],
    ]


async def test_history_is_remembered_after_a_crash_and_by_forks() -> None:
    journal, owners = MemoryJournal(), iter('abc')

    def conductor() -> Conductor:
        return LocalConductor(journal, catalog=catalog(FakeModel('ok'), Returning), owner=next(owners))

    async with conductor() as crashed:
        run = (await crashed.start('returning')).id
        for event in ('next', 'rest'):
            await crashed.send(run, event)
    async with conductor() as successor:
        await successor.recover()
        fork = await successor.fork(run, 3)
        for each in (run, fork):
            await successor.send(each, 'go_on')
            assert (await successor.view(each)).active == ('working.second',)
        early = await successor.fork(run, 2)
        for event in ('next', 'rest', 'go_on'):
            await successor.send(early, event)
        assert (await successor.view(early)).active == ('working.third',)
        for each in (run, fork, early):
            await successor.audit(each)


class Crowded(MemoryJournal):
    """Records the maximum number of concurrent claims."""

    def __init__(self) -> None:
        super().__init__()
        self.claiming = self.most = 0

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        self.claiming += 1
        self.most = max(self.most, self.claiming)
        await settle()
        self.claiming -= 1
        return await super().claim(run, owner)


async def test_recovery_claims_a_limited_number_of_runs_at_a_time() -> None:
    journal = Crowded()
    async with make_conductor(journal, hanging()) as crashed:
        unfinished = [(await crashed.start('two')).id for _ in range(MAX_CONCURRENT_RECOVERIES + 4)]
    async with make_conductor(journal) as successor:
        assert await successor.recover() == unfinished
    assert journal.most == MAX_CONCURRENT_RECOVERIES


async def test_closing_waits_for_a_paid_call() -> None:
    journal, answer = MemoryJournal(), asyncio.Event()
    model, grace = FakeModel(lambda request: answer, simulated=False), asyncio.Future[None]()
    crashed = make_conductor(journal, model)
    run = (await crashed.start('two')).id
    await wait_for_state(crashed, run, 'first.thinking')
    closing = asyncio.create_task(crashed.close(grace))
    await settle()
    assert not closing.done() and model.running
    answer.set()
    await closing
    async with make_conductor(journal, fake_model := FakeModel()) as successor:
        names = [f'{step.event.name}@{step.event.at}' for step in await successor.transitions(run)]
        assert 'done@first.thinking' in names, 'its answer is journaled'
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE
    assert len(model.requests) == len(fake_model.requests) == 1, 'nothing new was started or repeated'


@pytest.mark.parametrize('simulated', [False, True])
async def test_closing_cuts_off_a_call_after_the_grace_or_if_it_is_free(simulated: bool) -> None:
    journal, grace = MemoryJournal(), asyncio.Future[None]()
    model = FakeModel(lambda request: asyncio.Event(), simulated=simulated)
    crashed = make_conductor(journal, model)
    run = (await crashed.start('two')).id
    await wait_for_state(crashed, run, 'first.thinking')
    closing = asyncio.create_task(crashed.close(grace))
    await settle()
    assert bool(model.running) is not simulated
    if not simulated:
        grace.set_result(None)
    await closing
    assert not model.running
    async with make_conductor(journal) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE


async def test_an_event_waits_for_the_recovery_of_its_run() -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, hanging()) as first:
        run = (await first.start('lone')).id
    async with make_conductor(journal, hanging(), owner='b') as second:
        recovering = asyncio.create_task(second.recover())
        await asyncio.sleep(0)
        assert not second.can_control(run)
        await second.cancel(run)
        assert await recovering == [run]
        assert (await second.result(run)).status is Status.CANCELLED


async def test_a_paused_run_stays_paused_after_recovery() -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, hanging()) as crashed:
        run = (await crashed.start('two')).id
        await crashed.pause(run)
    model = FakeModel()
    async with make_conductor(journal, model) as successor:
        await successor.recover()
        assert (await successor.info(run)).status is Status.PAUSED and model.requests == []
        await successor.resume(run)
        assert (await successor.result(run)).status is Status.DONE


async def test_recovery_in_the_middle_of_a_retry_keeps_the_attempt() -> None:
    journal, clock = MemoryJournal(), SimulatedClock()
    async with make_conductor(journal, ModelError('busy', retryable=True), clock=clock) as crashed:
        run = (await crashed.start('two')).id
        await until(lambda: crashed._live.runs[run].projection.attempts)
    model = FakeModel()
    async with make_conductor(journal, model) as successor:
        await successor.recover()
        await successor.result(run)
    assert model.requests[0].hints.attempt == 2 and model.requests[1].hints.attempt == 1


async def test_runs_of_a_live_owner_are_left_alone() -> None:
    journal = MemoryJournal()
    run = await leave_behind(journal, owner='a')
    async with make_conductor(journal, owner='b', is_alive=lambda owner: owner == 'a') as other:
        assert await other.recover() == []
        with pytest.raises(EventRefused, match='another process runs it'):
            await other.pause(run)


async def test_a_run_is_not_recovered_twice() -> None:
    journal, model = MemoryJournal(), FakeModel()
    run = await leave_behind(journal)
    async with make_conductor(journal, model) as successor:
        recovered = await asyncio.gather(successor.recover(), successor.recover(), successor.recover())
        assert sorted(map(len, recovered)) == [0, 0, 1]
        await successor.result(run)
    assert len(model.requests) == 2
    assert [step.event.name for step in await journal.transitions(run)].count('recover') == 1


class SlowToCreate(MemoryJournal):
    async def create(self, info: Any, shape: Any) -> None:
        await super().create(info, shape)
        await settle(20)


async def test_a_starting_run_is_not_recovered() -> None:
    journal = SlowToCreate()
    async with make_conductor(journal) as conductor:
        starting = asyncio.ensure_future(conductor.start('two'))
        await until(lambda: journal._infos)
        assert await conductor.recover() == []
        run = (await starting).id
        assert (await conductor.result(run)).status is Status.DONE
        assert 'recover' not in [step.event.name for step in await conductor.transitions(run)]


class SlowToList(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self.listed, self.answering = asyncio.Event(), asyncio.Event()

    async def unfinished(self) -> list[RunInfo]:
        found = await super().unfinished()
        self.listed.set()
        await self.answering.wait()
        return found


@pytest.mark.parametrize('is_deleted', [False, True])
async def test_a_run_that_ends_while_runs_are_listed_is_not_recovered(is_deleted: bool) -> None:
    journal, finish = SlowToList(), asyncio.Event()
    async with make_conductor(journal, FakeModel(lambda request: finish)) as conductor:
        run = (await conductor.start('two')).id
        recovering = asyncio.create_task(conductor.recover())
        await journal.listed.wait()
        finish.set()
        assert (await conductor.result(run)).status is Status.DONE
        names = [step.event.name for step in await journal.transitions(run)]
        if is_deleted:
            await journal.delete(run)
        journal.answering.set()
        assert await recovering == [] and not conductor.can_control(run) and not conductor.stranded
        if not is_deleted:
            assert [step.event.name for step in await journal.transitions(run)] == names


async def test_a_run_created_but_not_started_is_started() -> None:
    journal = MemoryJournal()
    run = await leave_behind(journal)
    journal._transitions[run].clear()
    journal._infos[run] = (await journal.info(run)).__class__(id=run, pattern='two', title='t', owner='gone')
    async with make_conductor(journal) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE
        assert await successor.audit(run) == (await successor.info(run)).seq


async def test_a_stranded_run_does_not_block_the_others() -> None:
    journal = MemoryJournal()
    crashed, changed, broken, fine = [await leave_behind(journal) for _ in range(4)]
    for run, pattern in ((crashed, 'vanished'), (changed, 'lone')):
        journal._infos[run] = journal._infos[run].__class__(
            id=run, pattern=pattern, title='', seq=1, owner='x', created=float(len(run))
        )
    journal._transitions[broken] = [
        step.__class__(run=broken, seq=1, time=0.0, event=None) for step in journal._transitions[broken][:1]
    ]  # type: ignore[arg-type]
    async with make_conductor(journal, hanging(), owner='b') as successor:
        assert await successor.recover() == [fine]
        assert (
            'no pattern' in successor.stranded[crashed]
            and "no longer has a state 'first.thinking'" in successor.stranded[changed]
        )
        assert broken in successor.stranded
        with pytest.raises(EventRefused, match='there is no pattern'):
            await successor.pause(crashed)
        await successor.delete(crashed)
        await successor.purge(crashed)
        assert crashed not in successor.stranded
        with pytest.raises(EventRefused, match='cancel it first'):
            await successor.delete(fine)


async def test_a_conductor_that_lost_a_run_stops_writing() -> None:
    journal, model = MemoryJournal(), hanging()
    async with make_conductor(journal, model) as old, make_conductor(journal, owner='b') as new:
        run = (await old.start('two')).id
        await until(lambda: model.running)
        following = asyncio.ensure_future(_watch_all(old, run))
        await until(lambda: old.feed._readers)
        assert await new.recover() == [run]
        before = len(await journal.transitions(run))
        with pytest.raises(StaleOwner):
            await old.pause(run)
        assert model.running == 0 and old._live.runs == {}
        assert len(await journal.transitions(run)) >= before
        assert (await new.result(run)).status is Status.DONE
        items = await following  # Its readers follow the new conductor through the journal.
        assert [item.seq for item in items if isinstance(item, Transition)] == list(
            range(1, (await new.info(run)).seq + 1)
        )
        assert any(isinstance(item, JournalOutage) and 'claimed' in item.problem for item in items)
        assert 'pause' not in [step.event.name for step in await journal.transitions(run)]


@pytest.mark.parametrize('error', [JournalConflict('r', 1), RuntimeError('bug in a journal')], ids=repr)
async def test_a_journal_that_fails_for_good_stops_the_run_before_it_acts(error: Exception) -> None:
    class Failing(MemoryJournal):
        async def append(self, info: Any, transitions: Any, snapshot: Any = None) -> int:
            if info.seq >= 2:
                raise error
            return await super().append(info, transitions, snapshot)

    journal, model = Failing(), FakeModel()
    async with make_conductor(journal, model) as conductor:
        run = (await conductor.start('two')).id
        with pytest.raises(JournalError, match=re.escape(f'cannot continue here: {describe_error(error)}')):
            await conductor.result(run)
        assert len(model.requests) == 1 and (await conductor.info(run)).seq == 1
        assert conductor.stranded == {run: describe_error(error)}
    async with make_conductor(_plain(journal)) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE


@pytest.mark.parametrize(
    'place', [(BudgetMeter, 'apply'), (ActivityRunner, 'control')], ids=['before', 'after']
)
async def test_a_run_stopped_by_a_journal_bug_continues_from_its_last_step(
    place: tuple[type, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal, model = MemoryJournal(), FakeModel(in_turn('one', asyncio.Event(), 'two'))

    def fail(*args: Any) -> None:
        raise RuntimeError('bug in counting')

    async with make_conductor(journal, model) as conductor:
        run = (await conductor.start('two')).id
        await wait_for_state(conductor, run, 'second.thinking')
        items = asyncio.ensure_future(_watch_all(conductor, run))
        await until(lambda: conductor.feed._readers)
        monkeypatch.setattr(*place, fail)
        with pytest.raises(RuntimeError, match='bug in counting'):
            await conductor.pause(run)
        monkeypatch.undo()
        assert run not in conductor._live.runs and 'bug in counting' in caplog.text
        assert model.running == 0
        paused = (await conductor.info(run)).status is Status.PAUSED
        assert paused is (place[0] is ActivityRunner)
        assert await conductor.recover() == [run]
        if paused:
            await conductor.resume(run)
        assert (await conductor.result(run)).status is Status.DONE
        assert any(
            isinstance(item, JournalOutage) and 'bug in counting' in item.problem for item in await items
        )
        assert await conductor.audit(run) == (await conductor.info(run)).seq


def _plain(journal: MemoryJournal) -> MemoryJournal:
    second_journal = MemoryJournal()
    second_journal.__dict__.update(journal.__dict__)
    return second_journal


async def test_releasing_answers_waiters_and_ends_watchers() -> None:
    journal = MemoryJournal()
    conductor = make_conductor(journal, hanging())
    run = (await conductor.start('two')).id
    watching = asyncio.ensure_future(_watch_all(conductor, run))
    waiting = asyncio.ensure_future(conductor.result(run))
    await until(lambda: conductor.feed._readers)
    await conductor.close()
    assert [item.seq for item in await watching if isinstance(item, Transition)] == [1]
    with pytest.raises(EventRefused, match='closing'):
        await waiting
    with pytest.raises(EngineError):
        await conductor.start('two')
    assert conductor.feed._readers == {}


async def _watch_all(conductor: Conductor, run: RunId) -> list[Any]:
    return [item async for item in conductor.watch(run)]


async def test_a_fork_at_every_step_reaches_an_end_and_leaves_its_parent_alone() -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, pipeline_reply) as conductor:
        run = (await conductor.start('pipeline', {'task': 'six?'})).id
        await conductor.result(run)
        history, info = await conductor.transitions(run), await conductor.info(run)
        last_turn = max(step.seq for step in history if not step.raised)
        for step in history:
            if step.seq >= last_turn:
                with pytest.raises(EventRefused, match='it is done'):
                    await conductor.fork(run, step.seq)
                continue
            fork = await conductor.fork(run, step.seq)
            outcome = await conductor.result(fork)
            assert outcome.status is Status.DONE and outcome.answer == 'draft 2 ', step.seq
            fork_info = await conductor.info(fork)
            assert fork_info.parent == run and fork_info.parent_at >= step.seq
            assert not history[fork_info.parent_at].raised
            assert await conductor.audit(fork) == fork_info.seq
        assert await conductor.transitions(run) == history and await conductor.info(run) == info


async def test_a_fork_of_a_fork_continues() -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, pipeline_reply) as conductor:
        run = (await conductor.start('pipeline', {'task': 'six?'})).id
        await conductor.result(run)
        fork = await conductor.fork(run, 3, title='mine')
        await conductor.result(fork)
        child = await conductor.fork(fork, 5, paused=True)
        assert (await conductor.info(child)).status is Status.PAUSED and (
            await conductor.info(child)
        ).title == 'mine'
        await conductor.resume(child)
        assert (await conductor.result(child)).status is Status.DONE
        assert await conductor.audit(child)


async def test_a_fork_of_a_paused_run_continues_unless_paused() -> None:
    async with make_conductor(MemoryJournal(), in_turn(asyncio.Event(), 'ok')) as conductor:
        run = (await conductor.start('two')).id
        await conductor.pause(run)
        assert (await conductor.result(await conductor.fork(run, 2))).status is Status.DONE
        assert (await conductor.info(run)).status is Status.PAUSED


@pytest.mark.parametrize('at', [-1, 99])
async def test_a_fork_at_a_missing_step_is_refused(at: int) -> None:
    async with make_conductor(MemoryJournal()) as conductor:
        run = (await conductor.start('two')).id
        with pytest.raises(UnknownStep):
            await conductor.fork(run, at)
        del conductor.catalog.patterns['two']
        with pytest.raises(UnknownPattern):
            await conductor.fork(run, 1)
        assert (await conductor.runs()).total == 1


class Passing(MemoryJournal):
    """A journal that is away for some operations, and back after them."""

    def __init__(self, away: int) -> None:
        super().__init__()
        self.away, self.is_away = away, False

    def _miss(self) -> None:
        if self.is_away and self.away:
            self.away -= 1
            raise JournalUnavailable('the database is restarting')

    async def info(self, run: RunId) -> RunInfo:
        self._miss()
        return await super().info(run)

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        self._miss()
        return await super().claim(run, owner)

    async def transitions(self, run: RunId, **options: Any) -> list[Transition]:
        self._miss()
        return await super().transitions(run, **options)


@pytest.mark.parametrize('away', range(1, 6))
async def test_an_outage_that_passes_strands_no_run(away: int) -> None:
    journal = Passing(away)
    run = await leave_behind(journal)
    journal.is_away = True
    async with make_conductor(journal, clock=HastyClock()) as successor:
        assert await successor.recover() == [run]
        assert journal.away == 0 and successor.stranded == {}
        assert (await successor.result(run)).status is Status.DONE
        names = [step.event.name for step in await successor.transitions(run)]
        assert names[:3] == ['start', 'recover', 'done']
