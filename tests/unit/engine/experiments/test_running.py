"""What may happen while an experiment runs: it is cancelled, marked, run by two, and its runs are lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from engine import Budget, LocalConductor, Pattern
from engine.errors import JournalUnavailable
from engine.journal import MemoryJournal
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.records import Cell, Experiment, ScorerSpec, Variant, cell_id
from engine.operations.experiments.running.host import Desk
from engine.patterns.judge import Judge
from engine.records import Launch, RunId, RunInfo, RunQuery, Status
from tests.support.charts.echo import Echo
from tests.support.harness import FakeModel, HastyClock, catalog, turns, until

CASES = [Case(id=f'case {n}', parameters={'answer': f'{n} loaves'}, expectation=str(n)) for n in range(4)]
CONTAINS = ScorerSpec(name='right', kind='contains')
LIKED = ScorerSpec(name='liked', kind='people')
BETTER = ScorerSpec(name='better', kind='model', settings={'rubric': 'Is it short?', 'compare': True})
TWO = (Variant(name='as it is'), Variant(name='wrong', change={'parameters': {'answer': 'none'}}))
Hook = Callable[[Cell], Awaitable[None]]


class Asking(Pattern):
    """Waits for a person."""

    class Parameters(Echo.Parameters):
        """Those of the other pattern."""

    initial = 'asking'
    states = ({'name': 'asking', 'waits': 'a word'}, {'name': 'ended', 'final': True})
    transitions = (['said', 'asking', 'ended'],)


@pytest.fixture
async def conductor() -> AsyncIterator[LocalConductor]:
    async with await conductor_of(MemoryJournal()) as conductor:
        yield conductor


async def conductor_of(journal: MemoryJournal, **values: Any) -> LocalConductor:
    conductor = LocalConductor(journal, **{'clock': HastyClock(), **values})
    for pattern in (Echo, Asking):
        conductor.catalog.add(pattern)
    await conductor.datasets.save('loaves', CASES)
    return conductor


def experiment(**values: Any) -> Experiment:
    given: dict[str, Any] = {
        'name': 'Loaves',
        'dataset': 'loaves',
        'base': Launch(pattern='echo'),
        'variants': TWO,
        'scorers': (CONTAINS,),
    }
    return Experiment(**(given | values))


async def ended(conductor: LocalConductor, key: str, *states: str) -> list[Cell]:
    """Wait until an experiment is in one of these states, by default done; return its cells."""
    async for _ in turns():
        stored = await conductor.experiments.get(key)
        if stored.state in (states or ('done',)):
            return [*(await conductor.experiments.cells(key)).cells]
        assert stored.state != 'failed', stored.reason
    raise AssertionError(f'it is {stored.state}')


def before_scoring(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Call a function once for each cell, when its run has been read and before it is scored."""
    seen: set[str] = set()
    evidence = Desk.evidence

    async def read(desk: Desk, cell: Cell, *arguments: Any, **values: Any) -> Any:
        read_of_run = await evidence(desk, cell, *arguments, **values)
        if arguments[-1] and cell.id not in seen:
            seen.add(cell.id)
            await hook(cell)
        return read_of_run

    monkeypatch.setattr(Desk, 'evidence', read)


async def test_a_run_is_compared_though_the_first_variant_ends_while_it_is_scored(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_end, result = asyncio.Event(), conductor.result
    entries = vars(conductor.journal.documents)['_entries']
    first = cell_id('x', 'case 0', 'as it is', 1)

    async def slow_result(run: RunId) -> Any:
        if run == first:
            await let_end.wait()
        return await result(run)

    async def hook(cell: Cell) -> None:
        if (cell.case, cell.variant) == ('case 0', 'wrong'):
            let_end.set()
            await until(lambda: entries['experiment-cell', first].state == 'scored')

    monkeypatch.setattr(conductor, 'result', slow_result)
    before_scoring(monkeypatch, hook)
    await conductor.experiments.add(experiment(id='x', scorers=(BETTER,)))
    cells = await ended(conductor, 'x')
    assert [cell.scores['better'].waits for cell in cells] == [False] * 8


@pytest.mark.parametrize('again', [False, True], ids=['scored', 'scored again'])
async def test_a_mark_given_while_its_run_is_scored_counts(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    marked = cell_id('x', 'case 1', 'wrong', 1)

    async def hook(cell: Cell) -> None:
        if cell.id == marked:
            await conductor.experiments.mark('x', cell.id, value=1.0)

    if not again:
        before_scoring(monkeypatch, hook)
    await conductor.experiments.add(experiment(id='x', scorers=(LIKED,)))
    await ended(conductor, 'x')
    if again:
        before_scoring(monkeypatch, hook)
        await conductor.experiments.rescore('x')
    cells = await ended(conductor, 'x')
    assert {cell.id: cell.scores['liked'].value for cell in cells if not cell.scores['liked'].waits} == {
        marked: 1.0
    }


async def test_a_runner_that_was_stalled_overwrites_nothing_of_the_one_that_took_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal()
    stalled, other = [
        await conductor_of(journal, owner=name, is_alive=lambda owner: False) for name in ('stalled', 'other')
    ]
    store, goes_on = stalled.experiments._store, asyncio.Event()
    write = store.write_cell

    async def stalling(cell: Cell) -> Cell:
        if cell.state == 'ended':
            await goes_on.wait()
        return await write(cell)

    monkeypatch.setattr(store, 'write_cell', stalling)
    await stalled.experiments.add(experiment(id='x'))
    await until(lambda: len(journal._infos) > 1)
    await other.experiments._drivers.adopt('x')
    cells = await ended(other, 'x')
    goes_on.set()
    await until(lambda: not stalled.experiments._drivers.active)
    assert sorted((await ended(other, 'x')), key=id_of) == sorted(cells, key=id_of)
    assert (await other.runs()).total == 8
    for conductor in (stalled, other):
        await conductor.close()


def id_of(cell: Cell) -> str:
    return cell.id


async def test_cancelling_stops_judges_and_starts_no_more_of_them() -> None:
    judge, never = FakeModel(lambda request: asyncio.Event()), FakeModel()
    journal = MemoryJournal()
    async with await conductor_of(journal, catalog=catalog(judge, Judge), clock=None) as conductor:
        scorer = ScorerSpec(name='good', kind='model', settings={'rubric': 'Is it short?'})
        await conductor.experiments.add(experiment(id='x', scorers=(scorer,), at_once=2))
        await until(lambda: judge.running == 2)
        await conductor.experiments.cancel('x', 'enough')
        runs = (await conductor.runs(RunQuery(limit=100))).runs
        cells = (await conductor.experiments.cells('x')).cells
        assert {info.status for info in runs} == {Status.DONE, Status.CANCELLED}
        assert len(judge.requests) == 2 and not never.requests
        assert [(cell.state, cell.status) for cell in cells] == [('ended', Status.DONE)] * 2
        assert (await conductor.experiments.get('x')).reason == 'enough'


async def test_what_a_killed_server_has_left_of_a_cancelled_experiment_is_cancelled() -> None:
    journal, alive = MemoryJournal(), {'killed'}
    killed = await conductor_of(journal, owner='killed', clock=None)
    other = await conductor_of(journal, owner='other', clock=None, is_alive=alive.__contains__)
    await killed.experiments.add(experiment(id='x', base=Launch(pattern='asking'), variants=TWO[:1]))
    await until(lambda: len(journal._infos) == 4)
    die(killed)
    unstarted = Cell(id='c', experiment='x', case='case 9', variant='as it is', repeat=1, run=RunId('c'))
    await killed.experiments._store.write_cell(unstarted)
    await other.experiments._drivers.adopt('x')
    assert not other.experiments._drivers.active, 'it cannot know yet that the other was killed'
    await other.experiments.cancel('x')
    alive.clear()
    running = asyncio.create_task(other.experiments.run())
    async for _ in turns():
        cells = (await other.experiments.cells('x')).cells
        if all(cell.state == 'ended' for cell in cells):
            break
    running.cancel()
    await until(lambda: not other.experiments._drivers.active)
    assert [cell.status for cell in cells] == [Status.CANCELLED] * 5
    assert {info.status for info in (await other.runs()).runs} == {Status.CANCELLED}
    assert await other.experiments._store.leases.list() == []
    await other.close()


def die(conductor: LocalConductor) -> None:
    """Stop what a conductor does, as if its process was killed: it gives nothing back."""
    vars(conductor.experiments._store)['release_lease'] = _nothing
    for task in conductor.experiments._drivers.active.values():
        task.cancel()


async def _nothing(*arguments: Any) -> None:
    pass


async def test_what_is_begun_is_finished_though_the_budget_is_used_up() -> None:
    journal, results = MemoryJournal(), 0
    killed = await conductor_of(journal, owner='killed')
    other = await conductor_of(journal, owner='other')
    result = killed.result

    async def slow_result(run: RunId) -> Any:
        nonlocal results
        results += 1
        if results > 1:
            await asyncio.Event().wait()
        return await result(run)

    killed.result = slow_result
    begun = experiment(
        id='x',
        base=Launch(pattern='pipeline', parameters={'task': 'Compare tea and coffee'}),
        variants=TWO[:1],
        scorers=(ScorerSpec(name='done', kind='status'),),
        budget=Budget(tokens=1),
        at_once=2,
    )
    await killed.datasets.save('tasks', [replace(case, parameters={}) for case in CASES])
    await killed.experiments.add(replace(begun, dataset='tasks'))
    entries = vars(journal.documents)['_entries']
    await until(
        lambda: (
            {'running', 'scored'}
            <= {entry.state for (kind, _), entry in entries.items() if kind == 'experiment-cell'}
        )
    )
    die(killed)
    await other.experiments._drivers.adopt('x')
    cells = await ended(other, 'x')
    assert [cell.state for cell in cells] == ['scored'] * 2
    assert (await other.experiments.get('x')).reason == 'its budget of tokens is used up'
    await other.close()


async def test_a_run_that_has_ended_counts_though_it_could_not_be_started_again() -> None:
    journal = MemoryJournal()
    killed = await conductor_of(journal, owner='killed')
    other = await conductor_of(journal, owner='other')
    vars(killed)['result'] = vars(other)['start'] = _for_ever
    await killed.experiments.add(experiment(id='x', at_once=8))
    await until(
        lambda: len(journal._infos) == 8 and all(info.status.ended for info in journal._infos.values())
    )
    die(killed)
    await other.experiments._drivers.adopt('x')
    assert {cell.status for cell in await ended(other, 'x')} == {Status.DONE}
    await other.close()


async def _for_ever(*arguments: Any, **values: Any) -> None:
    await asyncio.Event().wait()


async def test_a_run_that_cannot_go_on_counts_as_failed(conductor: LocalConductor) -> None:
    run = RunId(cell_id('x', 'case 1', 'wrong', 1))
    shape = conductor._live.charts.of(Echo(Echo.Parameters())).shape
    await conductor.journal.create(
        RunInfo(id=run, pattern='baguette', title='', owner='gone', epoch=1), shape
    )
    await conductor.experiments.add(experiment(id='x'))
    cells = {cell.run: cell for cell in await ended(conductor, 'x')}
    assert (cells[run].status, cells[run].scores) == (Status.FAILED, {}) and 'baguette' in cells[run].error
    assert {cell.status for cell in cells.values() if cell.run != run} == {Status.DONE}


async def test_a_run_to_be_taken_over_that_is_removed_meanwhile_is_made_again(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await conductor.experiment(experiment())
    removed = first.cells[0].run
    monkeypatch.setattr(conductor.experiments._preparing, '_is_there', _yes)
    await conductor.delete(removed)
    await conductor.purge(removed)
    second = await conductor.experiment(experiment(after=first.experiment.id))
    assert [(cell.reused, cell.status) for cell in second.cells] == [(False, Status.DONE)] + [
        (True, Status.DONE)
    ] * 7
    assert all(cell.scores['right'].value is not None for cell in second.cells)


async def _yes(*arguments: Any) -> bool:
    return True


async def test_an_experiment_that_failed_goes_on_once_its_pattern_is_back(conductor: LocalConductor) -> None:
    added = await conductor.experiments.add(experiment(id='x'))
    pattern = conductor.catalog.patterns.pop('echo')
    die(conductor)
    await until(lambda: not conductor.experiments._drivers.active)
    await conductor.experiments.resume(added.id)
    await ended(conductor, 'x', 'failed')
    assert "no pattern 'echo'" in (await conductor.experiments.get('x')).reason
    conductor.catalog.add(pattern)
    await conductor.experiments.resume('x')
    assert len(await ended(conductor, 'x')) == 8 and (await conductor.experiments.get('x')).reason == ''


async def test_an_experiment_is_started_once_though_the_journal_goes_away_right_after(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, calls = conductor.experiments._store, 0
    take = store.take_lease

    async def failing(*arguments: Any, **values: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise JournalUnavailable('the disk is full')
        return await take(*arguments, **values)

    monkeypatch.setattr(store, 'take_lease', failing)
    await conductor.experiments.add(experiment(id='x'))
    assert len(await ended(conductor, 'x')) == 8


async def test_a_mistake_of_ours_ends_an_experiment_and_says_so(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hook(cell: Cell) -> None:
        raise ZeroDivisionError('by loaves')

    before_scoring(monkeypatch, hook)
    await conductor.experiments.add(experiment(id='x'))
    async for _ in turns():
        if (stored := await conductor.experiments.get('x')).is_over:
            break
    assert (stored.state, stored.reason) == ('failed', 'ZeroDivisionError: by loaves')


async def test_whoever_follows_the_changes_misses_none(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, slow = conductor.journal.documents, 20
    write = documents.write

    async def slower(written: Any, deleted: Any = ()) -> None:
        nonlocal slow
        if any(entry.kind == 'experiment-cell' for entry in written):
            slow = (
                slow * 7 + 5
            ) % 20  # Later writes may end first, as in a database with several connections.
            for _ in range(slow):
                await asyncio.sleep(0)
        await write(written, deleted)

    monkeypatch.setattr(documents, 'write', slower)
    monkeypatch.setattr('engine.operations.experiments.store.FIRST_PAGE', 2)
    monkeypatch.setattr('engine.operations.experiments.store.PAGE', 3)
    await conductor.experiments.add(experiment(id='x', repeats=3, scorers=(LIKED,)))
    seen: dict[str, Cell] = {}
    cursor = 0.0
    state = 'running'
    while state == 'running':
        state = (await conductor.experiments.get('x')).state
        page = await conductor.experiments.cells('x', cursor)
        seen |= {cell.id: cell for cell in page.cells}
        cursor = page.cursor
        await asyncio.sleep(0)
    vars(conductor.clock)['_now'] -= 3_600  # Another server's clock is behind.
    marked = next(iter(seen))
    await conductor.experiments.mark('x', marked, value=1.0)
    page = await conductor.experiments.cells('x', cursor)
    assert [cell.id for cell in page.cells] == [marked]
    seen |= {cell.id: cell for cell in page.cells}
    stored = await conductor.experiments.cells('x')
    assert seen == {cell.id: cell for cell in stored.cells} and len(seen) == 24


async def test_two_who_save_a_new_dataset_at_once_make_one(conductor: LocalConductor) -> None:
    saved = await asyncio.gather(*(conductor.datasets.save('  New   rolls', CASES[:n]) for n in (1, 1, 2)))
    stored = await conductor.datasets.get('New rolls')
    assert {item.id for item in saved} == {stored.id} and len(stored.versions) == 2
    assert await conductor.datasets.get(' New  rolls ') == stored
