"""The power fails at any write of an experiment: the next process ends it, and no run is made twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import LocalConductor
from engine.journal import MemoryJournal
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.records import Experiment, ScorerSpec, Variant, cell_id
from engine.patterns.judge import Judge
from engine.records import Launch, Outcome, RunId
from tests.support.charts.echo import Echo
from tests.support.harness import FakeModel, HastyClock, catalog, turns

MAX_CUTS = 300
VARIANTS = (Variant(name='as it is'), Variant(name='around', change={'parameters': {'detour': True}}))
BETTER = ScorerSpec(name='better', kind='model', settings={'rubric': 'Is it short?', 'compare': True})


class Writes:
    """Writes to documents, of which none returns from the n-th on; that one may have been carried out."""

    def __init__(self, documents: Any, at: int, *, done: bool) -> None:
        self.documents, self.left, self.done = documents, at, done

    def __getattr__(self, name: str) -> Any:
        return getattr(self.documents, name)

    async def write(self, written: Any, deleted: Any = ()) -> None:
        self.left -= 1
        if self.left > 0 or (self.left == 0 and self.done):
            await self.documents.write(written, deleted)
        if self.left <= 0:
            await never()


class CutJournal:
    """A journal whose documents are written so often; then it does nothing any more."""

    def __init__(self, journal: MemoryJournal, at: int, *, done: bool) -> None:
        self.journal, self.documents = journal, Writes(journal.documents, at, done=done)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name) if self.documents.left > 0 else never


async def never(*arguments: Any, **options: Any) -> None:
    await asyncio.Event().wait()


def conductor_of(journal: Any, owner: str) -> LocalConductor:
    judge = FakeModel({'why': 'They are alike.', 'better': 'neither'})
    conductor = LocalConductor(journal, catalog=catalog(judge, Echo, Judge), clock=HastyClock(), owner=owner)
    result = conductor.result

    async def first_ends_last(run: RunId) -> Outcome:
        """Have the other run of a case wait for that of the first variant."""
        info = await conductor.info(run)
        case = next((tag.removeprefix('case:') for tag in info.tags if tag.startswith('case:')), '')
        if f'variant:{VARIANTS[0].name}' in info.tags:
            other = cell_id('x', case, VARIANTS[1].name, 1)
            async for _ in turns():
                entry = await conductor.journal.documents.get('experiment-cell', other)
                if entry and entry.state == 'scored':
                    break
        return await result(run)

    conductor.result = first_ends_last
    return conductor


@pytest.mark.parametrize('done', [False, True], ids=['lost', 'done'])
async def test_the_power_fails_at_any_write(done: bool) -> None:
    for at in range(1, MAX_CUTS):
        journal = MemoryJournal()
        heir = conductor_of(journal, 'heir')
        await heir.datasets.save('loaves', [Case(id=name, parameters={'answer': name}) for name in 'ab'])
        cut = CutJournal(journal, at, done=done)
        crashed = conductor_of(cut, 'cut')
        experiment = Experiment(
            id='x',
            name='Loaves',
            dataset='loaves',
            base=Launch(pattern='echo'),
            variants=VARIANTS,
            scorers=(BETTER,),
            at_once=2,
        )
        adding = asyncio.create_task(crashed.experiments.add(experiment))
        drivers = crashed.experiments._drivers.active
        async for _ in turns():
            if cut.documents.left <= 0 or (adding.done() and not drivers):
                break
        while doomed := [task for task in (adding, *drivers.values()) if not task.done()]:
            for task in doomed:
                task.cancel()
            await asyncio.sleep(0)
        if await journal.documents.get('experiment', 'x'):
            await check(heir)
        else:
            assert at == 1
        await heir.close()
        if cut.documents.left > 0:
            return
    raise AssertionError('every write was cut')


async def check(heir: LocalConductor) -> None:
    """Check that an experiment that another process has left comes to its end here."""
    adopting = asyncio.create_task(heir.experiments.run())
    async for _ in turns():
        stored = await heir.experiments.get('x')
        if stored.is_over and not await heir.experiments._store.leases.list():
            break
    adopting.cancel()
    assert stored.state == 'done', stored.reason
    cells = (await heir.experiments.cells('x')).cells
    assert [cell.state for cell in cells] == ['scored'] * 4
    assert not any(cell.scores['better'].waits for cell in cells)
    judges = {run for cell in cells for run in cell.scores['better'].runs}
    runs = {info.id for info in (await heir.runs()).runs}
    assert len(judges) == 2 and runs == judges | {cell.run for cell in cells}
