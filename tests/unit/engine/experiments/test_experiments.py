"""Experiments in one process: planned, run, scored, steered, continued, and only changes run again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from engine import Budget, EngineError, EventRefused, InvalidInput, LocalConductor
from engine.agents.chart import agent
from engine.errors import JournalUnavailable
from engine.journal import MemoryJournal
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.planning import change_between, launch_of
from engine.operations.experiments.records import Experiment, ScorerSpec, UnknownExperiment, Variant
from engine.records import Launch, RunId, RunQuery, Status
from engine.workspace import read_given_files
from tests.support.charts.echo import Echo
from tests.support.harness import HastyClock, Lone, turns, until

CASES = [Case(id=f'case {n}', parameters={'answer': f'{n} loaves'}, expectation=str(n)) for n in range(8)]
TASK = 'Compare tea and coffee'
CONTAINS = ScorerSpec(name='right', kind='contains')
PATH = ScorerSpec(name='direct', kind='path', settings={'not_visited': ['around']})
VARIANTS = (
    Variant(name='as it is'),
    Variant(name='wrong', change={'parameters': {'answer': 'none'}}),
    Variant(name='around', change={'parameters': {'detour': True}}),
)


class Reader(Lone):
    """One agent that reads files."""

    states = (agent('working', prompt='ask', tools=('read_file',)), *Lone.states[1:])


@pytest.fixture
async def conductor() -> AsyncIterator[LocalConductor]:
    async with LocalConductor() as conductor:
        conductor.catalog.add(Echo)
        await conductor.datasets.save('loaves', CASES)
        yield conductor


def experiment(**values: Any) -> Experiment:
    given: dict[str, Any] = {
        'name': 'Loaves',
        'dataset': 'loaves',
        'base': Launch(pattern='echo'),
        'variants': VARIANTS,
        'scorers': (CONTAINS, PATH),
    }
    return Experiment(**(given | values))


async def test_every_case_is_run_by_every_variant_and_scored(conductor: LocalConductor) -> None:
    result = await conductor.experiment(experiment(repeats=2))
    assert result.experiment.state == 'done' and len(result.cells) == 8 * 3 * 2
    scores = {
        variant.name: [
            (cell.scores['right'].value, cell.scores['direct'].value)
            for cell in result.cells
            if cell.variant == variant.name
        ]
        for variant in VARIANTS
    }
    assert scores == {'as it is': [(1, 1)] * 16, 'wrong': [(0, 1)] * 16, 'around': [(1, 0)] * 16}
    runs = await conductor.runs(RunQuery(tag=f'experiment:{result.experiment.id}', limit=100))
    assert {info.id for info in runs.runs} == {cell.run for cell in result.cells}
    assert result.answer.comparisons[0].standing == 'worse' and 'wrong' in result.answer.text
    assert [row['variant'] for row in result.records()[:3]] == ['as it is', 'wrong', 'around']
    frame = result.frame()
    assert list(frame.columns[:7]) == ['case', 'variant', 'repeat', 'run', 'status', 'right', 'direct']


async def test_a_plan_says_what_is_run_before_anything_is(conductor: LocalConductor) -> None:
    plan = await conductor.experiments.plan(experiment(repeats=2))
    assert (plan.cases, plan.runs, plan.reused, plan.estimate.most.calls) == (8, 48, 0, 0)
    assert (await conductor.runs()).total == 0 and await conductor.experiments.list() == []


def test_a_variant_takes_back_what_the_base_gives_to_a_role() -> None:
    base = Launch(pattern='echo', instructions={'writer': 'Be kind.'}, models={'': 'scripted'})
    change = {'instructions': {'writer': None}, 'models': {'writer': 'scripted'}}
    launch = launch_of(base, Variant(name='plain', change=change))
    assert launch.instructions == {} and launch.models == {'': 'scripted', 'writer': 'scripted'}
    assert change_between(base, launch) == change


async def test_an_estimate_has_the_medians_of_earlier_runs_and_counts_judges(
    conductor: LocalConductor,
) -> None:
    await conductor.datasets.save('tea', [Case(id='tea', parameters={'task': TASK})])
    judged = experiment(
        dataset='tea',
        base=Launch(pattern='pipeline'),
        variants=(
            Variant(name='as it is'),
            Variant(name='none', change={'parameters': {'max_iterations': 0}}),
        ),
        scorers=(ScorerSpec(name='good', kind='model', settings={'rubric': 'Short', 'compare': True}),),
    )
    before = await conductor.experiments.plan(judged)
    assert (before.runs, before.judges) == (2, 1)
    assert (before.estimate.usual, before.estimate.unknown) == (None, ('pipeline', 'judge'))
    runs = [cell.run for cell in (await conductor.experiment(judged)).cells]
    used = [(await conductor.info(run)).usage.calls for run in runs]
    after = (await conductor.experiments.plan(judged)).estimate
    assert (after.earlier, after.unknown) == (3, ()) and after.usual and after.usual.calls
    assert after.least_calls <= after.usual.calls == sum(used) + 2 <= (after.most.calls or 0)


@pytest.mark.parametrize(
    ('values', 'field'),
    [
        ({'dataset': 'rolls'}, ''),
        ({'split': 'test'}, 'split'),
        ({'variants': (Variant(name='a', change={'modles': {}}),)}, 'variants.0.change.modles'),
        ({'variants': (Variant(name='a'), Variant(name='a'))}, 'variants.1.name'),
        ({'variants': (Variant(name='a', change={'paused': True}),)}, 'variants.0.change.paused'),
        ({'variants': (Variant(name='a', change={'parameters': {'taks': 1}}),)}, 'cases.case 0.taks'),
        ({'base': Launch(pattern='echo', title='mine')}, 'base.title'),
        ({'scorers': (ScorerSpec(name='a', kind='b'),)}, 'scorers.0.kind'),
        ({'budget': Budget(tokens=-1)}, 'budget.tokens'),
        ({'repeats': 1_000}, 'repeats'),
        ({'base': Launch(pattern='echo', parameters={'task': 3})}, 'cases.case 0.task'),
    ],
)
async def test_an_experiment_that_cannot_work_is_refused_and_the_field_named(
    conductor: LocalConductor, values: dict[str, Any], field: str
) -> None:
    with pytest.raises(EngineError) as caught:
        await conductor.experiments.add(experiment(**values))
    assert not field or field in caught.value.problems  # type: ignore[attr-defined]
    assert await conductor.experiments.list() == []


async def test_a_run_that_fails_is_no_low_score_and_the_rest_goes_on(conductor: LocalConductor) -> None:
    failing = (Variant(name='as it is'), Variant(name='fails', change={'parameters': {'fails': True}}))
    result = await conductor.experiment(experiment(variants=failing))
    failed = [cell for cell in result.cells if cell.variant == 'fails']
    assert {cell.status for cell in failed} == {Status.FAILED}
    assert [cell.scores for cell in failed] == [{}] * 8
    assert result.answer.variants[1].failed == 8 and result.answer.variants[1].scores[0].mean is None


async def test_only_what_has_changed_is_run_again(conductor: LocalConductor) -> None:
    first = await conductor.experiment(experiment(variants=VARIANTS[:2]))
    changed = (VARIANTS[0], Variant(name='wrong', change={'parameters': {'answer': '7'}}), VARIANTS[2])
    again = experiment(variants=changed, after=first.experiment.id)
    plan = await conductor.experiments.plan(again)
    assert (plan.runs, plan.reused) == (16, 8)
    assert plan.changed == {'wrong': ('parameters',), 'around': ('new',)}
    second = await conductor.experiment(again)
    reused = {cell.run for cell in second.cells if cell.reused}
    assert reused == {cell.run for cell in first.cells if cell.variant == 'as it is'}
    assert (await conductor.runs()).total == 16 + 16
    assert all(cell.scores['right'].value is not None for cell in second.cells)


async def test_files_of_cases_are_laid_over_those_of_the_base_and_decide_what_is_run_again(
    conductor: LocalConductor,
) -> None:
    conductor.catalog.add(Reader)
    shared = {'a.txt': 'base', 'b.txt': 'base', 'c.txt': 'base'}
    cases = [Case(id=name, files={'b.txt': name, 'c.txt': name}) for name in ('one', 'two')]
    variants = (
        Variant(name='as it is'),
        Variant(name='other', change={'files': {'a.txt': None, 'c.txt': 'variant'}}),
    )
    plan = experiment(
        dataset='files',
        base=Launch(pattern='reader', files=shared),
        variants=variants,
        scorers=(ScorerSpec(name='done', kind='status'),),
    )
    await conductor.datasets.save('files', cases)
    first = await conductor.experiment(plan)
    given = {}
    for cell in first.cells:
        info = await conductor.info(cell.run)
        given[cell.case, cell.variant] = [*(await read_given_files(conductor.workspaces, info)).values()]
    assert given == {
        ('one', 'as it is'): ['base', 'one', 'one'],
        ('one', 'other'): ['one', 'variant'],
        ('two', 'as it is'): ['base', 'two', 'two'],
        ('two', 'other'): ['two', 'variant'],
    }
    await conductor.datasets.save('files', [cases[0], replace(cases[1], files={'b.txt': 'new'})])
    again = await conductor.experiments.plan(replace(plan, after=first.experiment.id))
    assert (again.runs, again.reused) == (2, 2)
    changed = replace(plan, after=first.experiment.id, base=Launch(pattern='reader', files={'a.txt': 'new'}))
    assert (await conductor.experiments.plan(changed)).changed['other'] == ('cases', 'files')
    clash = [Case(id='one', files={'A.txt': ''})]
    await conductor.datasets.save('files', clash)
    with pytest.raises(InvalidInput, match=r"cases\.one\.files\.A\.txt: differs from 'a\.txt'"):
        await conductor.experiments.plan(plan)


async def test_runs_are_scored_again_by_other_scorers_and_none_is_made(conductor: LocalConductor) -> None:
    first = await conductor.experiment(experiment())
    length = ScorerSpec(name='long', kind='regex', settings={'pattern': '.{8}'})
    await conductor.experiments.rescore(first.experiment.id, [length])
    await over(conductor, first.experiment.id)
    page = await conductor.experiments.cells(first.experiment.id)
    assert all([*cell.scores] == ['long'] for cell in page.cells) and len(page.cells) == 24
    assert (await conductor.runs()).total == 24
    since = await conductor.experiments.cells(first.experiment.id, page.cursor)
    assert since.cells == () and since.cursor == page.cursor and since.planned == 24
    one = await conductor.experiments.cells(first.experiment.id, case=page.cells[0].case)
    assert one.cells == tuple(cell for cell in page.cells if cell.case == page.cells[0].case)


async def test_runs_are_scored_again_though_their_experiment_is_just_being_left(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, scored_again = conductor.experiments._store, asyncio.Event()
    release = store.release_lease

    async def slow_release(experiment: str, owner: str) -> None:
        await scored_again.wait()
        await release(experiment, owner)

    monkeypatch.setattr(store, 'release_lease', slow_release)
    started = await conductor.experiments.add(experiment(variants=VARIANTS[:1]))
    await over(conductor, started.id)
    await conductor.experiments.rescore(started.id, [PATH])
    scored_again.set()
    await over(conductor, started.id)
    page = await conductor.experiments.cells(started.id)
    assert {name for cell in page.cells for name in cell.scores} == {'direct'}


async def over(conductor: LocalConductor, experiment: str) -> Experiment:
    async for _ in turns():
        stored = await conductor.experiments.get(experiment)
        if stored.is_over:
            return stored
    raise AssertionError(f'it is {stored.state}')


async def test_a_paused_experiment_starts_no_runs_and_goes_on_where_it_was() -> None:
    journal = MemoryJournal()
    conductor = LocalConductor(journal)
    conductor.catalog.add(Echo)
    await conductor.datasets.save('loaves', CASES)
    started = await conductor.experiments.add(experiment(at_once=1))
    await conductor.experiments.pause(started.id)
    with pytest.raises(EventRefused):
        await conductor.experiments.pause(started.id)
    await conductor.experiments.resume(started.id)
    done = await over(conductor, started.id)
    assert done.state == 'done' and (await conductor.runs()).total == 24
    with pytest.raises(EventRefused):
        await conductor.experiments.cancel(started.id)
    await conductor.experiments.remove(started.id)
    with pytest.raises(UnknownExperiment):
        await conductor.experiments.cells(started.id)
    assert (await conductor.runs()).total == 24
    await conductor.close()


async def test_a_budget_of_the_whole_ends_it() -> None:
    async with LocalConductor(clock=HastyClock()) as conductor:
        await conductor.datasets.save('tasks', [Case(id=str(n), parameters={'task': TASK}) for n in range(9)])
        limited = experiment(
            dataset='tasks',
            base=Launch(pattern='pipeline'),
            variants=(Variant(name='as it is'),),
            scorers=(ScorerSpec(name='done', kind='status'),),
            budget=Budget(tokens=1),
            at_once=2,
        )
        result = await conductor.experiment(limited)
    assert result.experiment.reason == 'its budget of tokens is used up' and len(result.cells) < 4


async def test_the_variants_of_a_case_run_near_each_other(conductor: LocalConductor) -> None:
    result = await conductor.experiment(experiment(at_once=3))
    infos = [await conductor.info(RunId(cell.run)) for cell in result.cells]
    by_time = [info.tags for info in sorted(infos, key=lambda info: info.created)]
    cases = [next(tag for tag in tags if tag.startswith('case:')) for tags in by_time]
    assert [len({*cases[at : at + 3]}) for at in range(0, 24, 3)] == [1] * 8


async def test_people_compare_answers_without_knowing_whose_they_are(conductor: LocalConductor) -> None:
    people = ScorerSpec(name='liked', kind='people', settings={'compare': True})
    result = await conductor.experiment(experiment(variants=VARIANTS[:2], scorers=(people, CONTAINS)))
    operations, key = conductor.experiments, result.experiment.id
    pairings = await operations.to_mark(key, 100)
    assert len(pairings) == 8
    for pairing in pairings:
        value = 1.0 if 'loaves' in pairing.answer else 0.0
        await operations.mark(key, pairing.cell, over=pairing.over, value=value)
    assert await operations.to_mark(key) == []
    cells = (await operations.cells(key)).cells
    liked = {(cell.variant, cell.scores['liked'].value) for cell in cells}
    assert liked == {('as it is', 0.5), ('wrong', 0.0)}
    (agreement,) = await operations.agreement(key)
    assert (agreement.scorer, agreement.pairs, agreement.alike) == ('right', 8, 1.0)
    with pytest.raises(InvalidInput):
        await operations.mark(key, 'nobody', value=1.0)


async def test_an_early_stop_leaves_out_what_is_clear() -> None:
    async with LocalConductor() as conductor:
        conductor.catalog.add(Echo)
        cases = [Case(id=str(n), parameters={'answer': str(n)}, expectation=str(n)) for n in range(60)]
        await conductor.datasets.save('loaves', cases)
        result = await conductor.experiment(experiment(variants=VARIANTS[:2], stop_early=True, at_once=2))
    assert result.experiment.reason == 'the answer is clear' and len(result.cells) < 100
    assert result.answer.comparisons[0].standing == 'worse'


async def test_another_process_goes_on_once_the_first_is_dead_and_makes_no_run_twice() -> None:
    journal, alive = MemoryJournal(), {'one': True}
    one = LocalConductor(journal, owner='one')
    two = LocalConductor(journal, owner='two', is_alive=lambda owner: alive.get(owner, False))
    for conductor in (one, two):
        conductor.catalog.add(Echo)
    await one.datasets.save('loaves', CASES)
    started = await one.experiments.add(experiment(at_once=1))
    await two.experiments._drivers.adopt(started.id)
    assert not two.experiments._drivers.active
    await until(lambda: len(journal._infos) > 2)
    for task in one.experiments._drivers.active.values():
        task.cancel()  # as if it was killed: no lease is given back
    alive['one'] = False
    await two.experiments._drivers.adopt(started.id)
    done = await over(two, started.id)
    assert done.state == 'done' and (await two.runs()).total == 24
    await two.close()


@pytest.mark.parametrize('compare', [False, True])
async def test_a_judge_scores_in_runs_of_its_own_that_anyone_can_read(compare: bool) -> None:
    judge = ScorerSpec(name='good', kind='model', settings={'rubric': 'Is it short?', 'compare': compare})
    async with LocalConductor(clock=HastyClock()) as conductor:
        conductor.catalog.add(Echo)
        await conductor.datasets.save('loaves', CASES[:2])
        result = await conductor.experiment(experiment(variants=VARIANTS[:2], scorers=(judge,), at_once=4))
        scores = [(cell.variant, cell.scores['good']) for cell in result.cells]
        judge_runs = await conductor.runs(RunQuery(pattern='judge'))
    assert all(score.value is not None and not score.waits for _, score in scores)
    read = [run for _, score in scores for run in score.runs]
    assert sorted(info.id for info in judge_runs.runs) == sorted(read) and len(read) == (2 if compare else 4)
    assert not compare or {score.value for name, score in scores if name == 'as it is'} == {0.5}
    used = sum(info.usage.total for info in judge_runs.runs)
    assert sum(cell.judge_tokens for cell in result.cells) == used > 0
    assert {'judge', f'experiment:{result.experiment.id}'} == {
        tag for info in judge_runs.runs for tag in info.tags
    }


async def test_an_outage_of_the_journal_holds_an_experiment_up_and_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal()
    write, writes = journal.documents.write, 0

    async def failing(written: Any, deleted: Any = ()) -> None:
        nonlocal writes
        kinds = {entry.kind for entry in written}
        writes += 'experiment-cell' in kinds
        if kinds & {'experiment-cell', 'experiment-lease'} and 5 < writes < 15:
            raise JournalUnavailable('the disk is full')
        await write(written, deleted)

    async with LocalConductor(journal, clock=HastyClock()) as conductor:
        conductor.catalog.add(Echo)
        await conductor.datasets.save('loaves', CASES)
        monkeypatch.setattr(journal.documents, 'write', failing)
        result = await conductor.experiment(experiment(variants=VARIANTS[:2]))
        assert (await conductor.runs()).total == 16 == len(result.cells)
    assert {cell.state for cell in result.cells} == {'scored'} and writes > 32
