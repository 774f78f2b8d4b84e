"""Bundles of experiments: all that belongs to one goes along, and nothing starts or becomes public."""

from __future__ import annotations

import base64
import io
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import LocalConductor, Status
from engine.errors import BundleError
from engine.journal import MemoryJournal
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.files.bundle_import import UNDER_WAY
from engine.operations.experiments.records import Experiment, ScorerSpec, Variant
from engine.records import Launch, RunId, RunQuery
from engine.records.launch import BinaryFile, file_bytes
from engine.runtime.run_factory import acting_as
from storage import open_journal
from tests.support.charts.echo import Echo
from tests.support.harness import HastyClock, until
from tests.unit.engine.experiments.test_experiments import CASES, CONTAINS, PATH, VARIANTS, experiment
from tests.unit.engine.history.test_bundle import SECRET, lines_of, nothing_in, seal

JUDGE = ScorerSpec(name='good', kind='model', settings={'rubric': 'Is it short?'})
LIKED = ScorerSpec(name='liked', kind='people')
FULL = {'scorers': (CONTAINS, JUDGE, LIKED), 'variants': VARIANTS[:2], 'repeats': 2}


def make_conductor(home: Path, journal: Any = None) -> LocalConductor:
    conductor = LocalConductor(journal or MemoryJournal(), clock=HastyClock(), workspaces=home)
    conductor.catalog.add(Echo)
    return conductor


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[LocalConductor]:
    async with make_conductor(tmp_path / 'here') as conductor:
        await conductor.datasets.save('loaves', [Case(id='old')])
        await conductor.datasets.save('loaves', CASES[:3])
        yield conductor


@pytest.fixture(params=['memory', 'sql'])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LocalConductor]:
    journal = MemoryJournal() if request.param == 'memory' else await open_journal(tmp_path / 'runs.db')
    async with make_conductor(tmp_path / 'there', journal) as conductor:
        yield conductor


async def whole(conductor: LocalConductor, experiment: str) -> bytes:
    return b''.join([piece async for piece in conductor.experiments.export(experiment, compressed=False)])


async def take(conductor: LocalConductor, data: bytes) -> list[tuple[str, str, str]]:
    imported = await conductor.import_bundle(io.BytesIO(data))
    return [(item.kind, item.id, item.outcome) for item in imported if item.kind != 'run']


async def everything(conductor: LocalConductor, experiment: str) -> dict[str, Any]:
    """What is known of an experiment, without what concerns one installation."""
    operations = conductor.experiments
    stored = await operations.get(experiment)
    page = await operations.cells(experiment)
    return {
        'experiment': stored,
        'cells': [replace(cell, version=0) for cell in page.cells],
        'planned': page.planned,
        'marks': await operations.marks(experiment),
        'answer': await operations.answer(experiment),
        'paths': await operations.paths(experiment),
        'agreement': await operations.agreement(experiment),
        'cases': await conductor.datasets.cases(stored.dataset, stored.version),
        'trend': await operations.trend(experiment),
    }


async def test_an_experiment_is_the_same_elsewhere_and_known_the_next_time(
    source: LocalConductor, target: LocalConductor
) -> None:
    ended = (await source.experiment(experiment(**FULL))).experiment
    cells = (await source.experiments.cells(ended.id)).cells
    await source.experiments.mark(ended.id, cells[0].id, value=1, comment='short')
    bundle = await whole(source, ended.id)
    dataset = ended.dataset
    assert await take(target, bundle) == [
        ('dataset', dataset, 'new'), ('experiment', ended.id, 'new'),
    ]  # fmt: skip
    assert await everything(target, ended.id) == await everything(source, ended.id)
    assert len((await target.datasets.get(dataset)).versions) == 1
    runs = [info async for info in source.iter_runs()]
    assert len(runs) == 12 + 12 and {info.id for info in runs} == {i.id async for i in target.iter_runs()}
    for info in runs:
        assert await target.audit(info.id) == info.seq
        assert await target.transitions(info.id) == await source.transitions(info.id)
    assert await take(target, bundle) == [
        ('dataset', dataset, 'known'), ('experiment', ended.id, 'known'),
    ]  # fmt: skip
    assert len(await target.experiments.list()) == 1 and (await target.runs()).total == 24
    scored = await target.experiments.rescore(ended.id, [PATH])
    await until_over(target, scored.id)
    assert all([*cell.scores] == ['direct'] for cell in (await target.experiments.cells(ended.id)).cells)


async def test_recorded_replies_go_along_so_that_it_can_be_run_again(
    source: LocalConductor, target: LocalConductor
) -> None:
    for case in CASES[:2]:
        await source.result((await source.start('echo', dict(case.parameters))).id)
    recordings = [info async for info in source.iter_runs()]
    cases = [
        Case(id=info.id, parameters=info.parameters, expectation='2', source=info.id) for info in recordings
    ]
    await source.datasets.save('recorded', cases)
    given = experiment(dataset='recorded', recorded=True, variants=VARIANTS[:1])
    ended = (await source.experiment(given)).experiment
    await take(target, await whole(source, ended.id))
    assert {info.id for info in recordings} < {info.id async for info in target.iter_runs()}
    stored = await target.experiments.get(ended.id)
    again = await target.experiment(stored.again())
    assert [cell.status for cell in again.cells] == [Status.DONE] * 2
    (before,), (now,) = (await source.experiments.answer(ended.id)).variants, again.answer.variants
    assert (now.variant, now.runs, now.scores) == (before.variant, before.runs, before.scores)


async def until_over(conductor: LocalConductor, experiment: str) -> Experiment:
    while not (stored := await conductor.experiments.get(experiment)).is_over:
        await conductor.clock.sleep(0.1)
    return stored


async def test_an_experiment_under_way_is_cancelled_elsewhere_and_never_started(
    source: LocalConductor, target: LocalConductor
) -> None:
    await source.datasets.save('tasks', [Case(id=str(n), parameters={'task': 'Tea?'}) for n in range(9)])
    started = await source.experiments.add(
        experiment(dataset='tasks', base=Launch(pattern='pipeline'), variants=VARIANTS[:1], at_once=2)
    )
    await until(lambda: len(source.journal._infos) > 3)
    await source.experiments.pause(started.id)
    bundle = await whole(source, started.id)
    await take(target, bundle)
    stored = await target.experiments.get(started.id)
    assert (stored.state, stored.reason) == ('cancelled', UNDER_WAY) and stored.ended > stored.created
    cells = (await target.experiments.cells(started.id)).cells
    assert 0 < len(cells) < 9 and {cell.state for cell in cells} <= {'ended', 'scored'}
    for cell in cells:
        assert (await target.info(cell.run)).status is cell.status
    assert {cell.status for cell in cells} >= {Status.CANCELLED}
    assert await target.recover() == []
    # Where it comes from, it is further by now: it stays as it is.
    await source.experiments.resume(started.id)
    done = await until_over(source, started.id)
    total = (await source.runs()).total
    assert await take(source, bundle) == [
        ('dataset', done.dataset, 'known'), ('experiment', done.id, 'known'),
    ]  # fmt: skip
    assert (await source.runs()).total == total
    # What came later does not overwrite what came first.
    (_, (_, renamed, outcome)) = await take(target, await whole(source, done.id))
    assert outcome == 'renamed' and (await target.experiments.get(started.id)).state == 'cancelled'
    assert await target.experiments.answer(renamed) == await source.experiments.answer(done.id)
    page = await target.experiments.cells(renamed)
    assert len(page.cells) == 9 and not {cell.id for cell in page.cells} & {cell.id for cell in cells}
    tagged = await target.runs(RunQuery(tag=f'experiment:{renamed}'))
    assert {info.id for info in tagged.runs} <= {cell.run for cell in page.cells} and tagged.total >= 8 - 2


async def test_a_private_experiment_stays_private_with_its_runs(
    source: LocalConductor, target: LocalConductor
) -> None:
    base = Launch(pattern='echo', private=True)
    ended = (await source.experiment(experiment(base=base, variants=VARIANTS[:2]))).experiment
    cells = (await source.experiments.cells(ended.id)).cells
    with acting_as('ada'):
        await take(target, await whole(source, ended.id))
    stored = await target.experiments.get(ended.id)
    assert (stored.author, stored.private) == ('ada', True)
    for cell in cells:
        info = await target.info(cell.run)
        assert (info.author, info.private) == ('ada', True)


async def test_runs_that_are_hidden_in_the_trash_or_elsewhere_are_no_part_of_it(
    source: LocalConductor, target: LocalConductor
) -> None:
    ended = (await source.experiment(experiment(variants=VARIANTS[:2]))).experiment
    hidden, trashed, *others = (await source.experiments.cells(ended.id)).cells
    await source.annotate(hidden.run, private=True)
    await source.delete(trashed.run)
    seen = source.experiments.seen_by(lambda record: not record.private)
    bundle = b''.join([piece async for piece in seen.export(ended.id, compressed=False)])
    secret = await target.start('echo', {'answer': 'private'}, private=True, run=hidden.run)
    await target.result(secret.id)
    await take(target, bundle)
    assert (await target.runs()).total == 1 + len(others)
    kept = {cell.id: cell for cell in (await target.experiments.cells(ended.id)).cells}
    assert (kept[hidden.id].run, kept[trashed.id].run) == ('', '')  # Not the one that has the same id here.
    assert kept[hidden.id].scores == hidden.scores
    assert await target.experiments.answer(ended.id) == await source.experiments.answer(ended.id)
    assert await target.experiments.paths(ended.id)


async def test_secrets_are_removed_and_the_version_of_the_dataset_still_fits(
    source: LocalConductor, target: LocalConductor
) -> None:
    binary = {'key.bin': BinaryFile(base64=base64.b64encode(b'\xff\0' + SECRET.encode()).decode())}
    cases = [Case(id=f'{n}', parameters={'answer': f'with {SECRET}'}) for n in range(2)]
    await source.datasets.save('keys', cases)
    name = f'About {SECRET}'
    ended = (await source.experiment(experiment(name=name, dataset='keys', variants=VARIANTS[:1]))).experiment
    dataset = await source.datasets.save('keys', [replace(case, files=binary) for case in cases])
    ended = replace(
        ended,
        version=dataset.versions[-1].id,
        base=Launch(pattern='echo', files=binary),
        variants=(Variant(name='as it is', change={'files': {**binary, 'gone': None}}),),
    )
    await source.experiments._store.change(ended.id, lambda stored: ended)
    cell = (await source.experiments.cells(ended.id)).cells[0]
    await source.experiments.mark(ended.id, cell.id, comment=SECRET)
    bundle = await whole(source, ended.id)
    assert SECRET.encode() not in bundle and binary['key.bin']['base64'].encode() not in bundle
    await take(target, bundle)
    stored = await target.experiments.get(ended.id)
    assert stored.name == 'About [hidden]' and stored.version != ended.version
    (case, _) = await target.datasets.cases('keys', stored.version)
    assert case.parameters == {'answer': 'with [hidden]'}
    assert file_bytes(case.files['key.bin']) == b'\xff\0[hidden]' == file_bytes(stored.base.files['key.bin'])
    assert stored.variants[0].change['files'] == {**stored.base.files, 'gone': None}
    assert [mark.comment for mark in await target.experiments.marks(ended.id)] == ['[hidden]']


async def test_a_dataset_of_that_name_takes_the_version_but_not_as_its_newest(
    source: LocalConductor, target: LocalConductor
) -> None:
    ended = (await source.experiment(experiment(variants=VARIANTS[:1]))).experiment
    mine = await target.datasets.save('loaves', [Case(id='mine')])
    await take(target, await whole(source, ended.id))
    stored, dataset = await target.experiments.get(ended.id), await target.datasets.get('loaves')
    assert stored.dataset == dataset.id == mine.id
    assert [item.id for item in dataset.versions] == [ended.version, mine.versions[0].id]
    assert [case.id for case in await target.datasets.cases('loaves')] == ['mine']


async def test_an_experiment_outlives_its_dataset(source: LocalConductor, target: LocalConductor) -> None:
    ended = (await source.experiment(experiment(variants=VARIANTS[:2]))).experiment
    await source.datasets.remove('loaves')
    assert await take(target, await whole(source, ended.id)) == [('experiment', ended.id, 'new')]
    assert await target.experiments.answer(ended.id) == await source.experiments.answer(ended.id)
    assert (await target.experiments.cells(ended.id)).planned == 6


async def nothing_at_all_in(conductor: LocalConductor) -> None:
    await nothing_in(conductor)
    assert not await conductor.experiments.list() and not await conductor.datasets.list()


@pytest.fixture(scope='module')
async def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    async with make_conductor(tmp_path_factory.mktemp('good')) as conductor:
        await conductor.datasets.save('loaves', CASES[:2])
        liked = experiment(scorers=(CONTAINS, LIKED), variants=VARIANTS[:2])
        ended = (await conductor.experiment(liked)).experiment
        cells = (await conductor.experiments.cells(ended.id)).cells
        await conductor.experiments.mark(ended.id, cells[0].id, value=0.5)
        return await whole(conductor, ended.id)


def change(kind: str, **values: Any) -> Callable[[list[dict[str, Any]]], None]:
    def edit(lines: list[dict[str, Any]]) -> None:
        place = next(line for line in lines if line.get('of') == kind)['value']
        for name, value in values.items():
            *parents, last = name.split('__')
            inner = place
            for part in parents:
                inner = inner[int(part)] if isinstance(inner, list) else inner[part]
            inner[last] = value

    return edit


def without(kind: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines.remove(next(line for line in lines if line.get('of') == kind))


def twice(kind: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: lines.insert(1 + index_of(lines, kind), lines[index_of(lines, kind)])


def index_of(lines: list[dict[str, Any]], kind: str) -> int:
    return next(number for number, line in enumerate(lines) if line.get('of') == kind)


def last(lines: list[dict[str, Any]]) -> None:
    lines.append(lines.pop(index_of(lines, 'experiment')))


def foreign(lines: list[dict[str, Any]]) -> None:
    lines[1]['of'] = 'account'


@pytest.mark.parametrize(
    ('edit', 'match', 'field'),
    [
        (foreign, "no kind 'account'", ''),
        (change('experiment', name=7), 'valid string', 'value.name'),
        (change('experiment', state='won'), "'running'", 'value.state'),
        (change('experiment', created=1e300), 'not a valid time', 'value.created'),
        (change('experiment', created='1'), 'valid number', 'value.created'),
        (change('experiment', base__novelty=1), 'Unexpected', 'value.base.novelty'),
        (change('experiment', variants__1__change={'x': 1}), '.', 'value.variants.1.change.x'),
        (change('experiment', variants__1__name='as it is'), 'same name', 'value.variants'),
        (change('experiment', scorers__0__kind='magic'), "no kind 'magic'", 'value.scorers.0.kind'),
        (change('experiment', scorers__0__settings={'x': 1}), '.', 'value.scorers.0.settings.x'),
        (change('experiment', version='0' * 16), 'not the version', 'value.version'),
        (change('experiment', id='../x'), 'not the key', 'value.id'),
        (change('experiment', name='a\0b'), 'NUL', 'value.name'),
        (change('dataset-cases', cases__0__expectation='all'), 'not the digest', 'value.version'),
        (change('dataset-cases', cases__0__id=''), 'unique', 'value.cases.0.id'),
        (change('experiment-cell', variant='none'), 'no variant', 'value.variant'),
        (change('experiment-cell', case='none'), 'no case', 'value.case'),
        (change('experiment-cell', repeat=2), 'must be 1 to 1', 'value.repeat'),
        (change('experiment-cell', experiment='other'), 'not the experiment', 'value.experiment'),
        (change('experiment-cell', tokens=-1), 'must be 0', 'value.tokens'),
        (change('experiment-cell', status=None), 'how the run ended', 'value.status'),
        (change('experiment-mark', value=2), 'less than or equal', 'value.value'),
        (change('experiment-mark', cell='none'), 'no cell', 'value.cell'),
        (twice('experiment-cell'), 'already', ''),
        (twice('experiment-mark'), 'already', ''),
        (twice('experiment'), 'one experiment', ''),
        (twice('dataset'), 'one dataset', ''),
        (change('experiment-mark', over='none'), 'no cell', 'value.over'),
        (without('experiment'), 'not the experiment', 'value.experiment'),
        (without('dataset'), 'after their dataset', ''),
        (last, 'not the experiment', 'value.experiment'),
    ],
)  # fmt: skip
async def test_a_tampered_document_is_refused_by_its_line(
    tmp_path: Path, good: bytes, edit: Callable[[list[dict[str, Any]]], None], match: str, field: str
) -> None:
    lines = lines_of(good)
    edit(lines)
    async with make_conductor(tmp_path / 'there') as target:
        with pytest.raises(BundleError, match=match) as caught:
            await target.import_bundle(io.BytesIO(seal(lines)))
        await nothing_at_all_in(target)
    if field:
        assert caught.value.field == field
    assert str(caught.value).startswith(f'line {caught.value.line}') and caught.value.line > 1


async def test_a_file_that_was_cut_or_is_stored_in_part_leaves_nothing(
    tmp_path: Path, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_conductor(tmp_path / 'there', await open_journal(tmp_path / 'runs.db')) as target:
        starts = [at for at in range(len(good)) if good.startswith(b'\n', at)]
        for end in (starts[2], starts[5], starts[len(starts) // 2], len(good) - 2):
            with pytest.raises(BundleError, match='cut off'):
                await target.import_bundle(io.BytesIO(good[:end]))
            await nothing_at_all_in(target)

        def fail(*args: Any) -> None:
            raise sqlite3.OperationalError('database or disk is full')

        with monkeypatch.context() as patch, pytest.raises(sqlite3.OperationalError):
            patch.setattr('storage.bulk.run_import.replace_entries', fail)
            await target.import_bundle(io.BytesIO(good))
        await nothing_at_all_in(target)
        assert await take(target, good)


async def test_a_judge_that_is_missing_and_a_renamed_run_are_followed(
    source: LocalConductor, target: LocalConductor
) -> None:
    ended = (await source.experiment(experiment(scorers=(JUDGE,), variants=VARIANTS[:1]))).experiment
    first, second, *_ = (await source.experiments.cells(ended.id)).cells
    await source.delete(first.scores['good'].runs[0])
    other = await target.start('echo', {'answer': 'mine'}, run=second.run)
    await target.result(other.id)
    await take(target, await whole(source, ended.id))
    cells = {cell.id: cell for cell in (await target.experiments.cells(ended.id)).cells}
    assert cells[first.id].scores['good'].runs == () and cells[first.id].run == first.run
    moved = cells[second.id].run
    assert moved != second.run and await target.transitions(moved) != await target.transitions(second.run)
    assert (await target.info(moved)).parameters == (await source.info(second.run)).parameters
    assert RunId(cells[second.id].scores['good'].runs[0]) == second.scores['good'].runs[0]
