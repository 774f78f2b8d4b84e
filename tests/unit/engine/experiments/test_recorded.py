"""Experiments on recorded runs: answered from the journal, from exchanges, or stopped and said so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from engine import InvalidInput, LocalConductor
from engine.operations.experiments.datasets import Case, case_of
from engine.operations.experiments.records import Experiment, ScorerSpec, Variant
from engine.patterns.pipeline.pattern import Pipeline
from engine.records import Launch, RunId, Status
from tests.support.harness import FakeModel, catalog, complete_run, pipeline_reply

DONE = ScorerSpec(name='done', kind='status')
SHORT = ScorerSpec(name='short', kind='path', settings={'visits': {'analyzing': 1}})
AS_IT_IS = Variant(name='as it is')
ONE_REVISION = Variant(name='one', change={'parameters': {'max_iterations': 0}})


class Strict(Pipeline):
    """A pipeline that approves nothing."""

    name = 'pipeline'

    def is_approved(self, memory: Any, event: Any) -> bool:
        return False


@pytest.fixture
async def model() -> FakeModel:
    return FakeModel(pipeline_reply)


@pytest.fixture
async def conductor(model: FakeModel) -> AsyncIterator[LocalConductor]:
    async with LocalConductor(catalog=catalog(model)) as conductor:
        yield conductor


@pytest.fixture
async def source(conductor: LocalConductor, model: FakeModel) -> RunId:
    run = await complete_run(conductor, 'pipeline', {'task': 'Count the bees'})
    await conductor.datasets.save('bees', [case_of(await conductor.info(run))])
    model.requests.clear()
    return run


def experiment(*variants: Variant, **values: Any) -> Experiment:
    given: dict[str, Any] = {
        'name': 'Bees',
        'dataset': 'bees',
        'base': Launch(pattern='pipeline'),
        'variants': variants,
        'scorers': (DONE, SHORT),
        'recorded': True,
    }
    return Experiment(**(given | values))


async def test_any_run_answers_from_its_journal_and_no_model_is_called(
    conductor: LocalConductor, source: RunId, model: FakeModel
) -> None:
    result = await conductor.experiment(experiment(AS_IT_IS, ONE_REVISION))
    same, shorter = result.cells
    assert (same.status, same.scores['done'].value, same.scores['short'].value) == (Status.DONE, 1, 0)
    assert shorter.status is Status.DONE and shorter.scores['short'].value == 1
    assert same.tokens == (await conductor.info(source)).usage.total and not model.requests
    steps = await conductor.transitions(same.run)
    assert [step.active for step in steps] == [step.active for step in await conductor.transitions(source)]
    info = await conductor.info(same.run)
    assert f'variant:{AS_IT_IS.name}' in info.tags and info.parent == source
    assert (await conductor.experiments.plan(experiment(AS_IT_IS))).estimate.most.calls == 0


async def test_a_run_that_goes_where_nothing_is_recorded_stops_and_says_so(
    conductor: LocalConductor, source: RunId, model: FakeModel
) -> None:
    conductor.catalog.patterns['pipeline'] = Strict
    result = await conductor.experiment(experiment(AS_IT_IS))
    (cell,) = result.cells
    assert cell.status is Status.PAUSED and cell.scores['done'].value == 0
    assert cell.error == 'nothing is recorded of how analyzing.thinking ended'
    assert cell.error in cell.scores['done'].reason and 'short' not in cell.scores
    assert result.answer.variants[0].failed == 1 and not model.requests


@pytest.mark.parametrize('field', ['models', 'effort', 'instructions', 'tools'])
async def test_a_journal_does_not_answer_what_was_asked_otherwise(
    conductor: LocalConductor, source: RunId, field: str
) -> None:
    value: Any = {'models': 'other', 'effort': 'high', 'instructions': 'Be brief.', 'tools': ('calculator',)}[
        field
    ]
    other = Variant(name='other', change={field: {'analyzer': value}})
    with pytest.raises(InvalidInput) as caught:
        await conductor.experiments.add(experiment(AS_IT_IS, other))
    assert f'variants.1.change.{field}' in caught.value.problems


async def test_a_file_may_have_several_cases_and_variants_and_each_is_checked(
    conductor: LocalConductor, source: RunId, model: FakeModel
) -> None:
    first = await conductor.save_test(source)
    second = await conductor.save_test(await complete_run(conductor, 'pipeline', {'task': 'Count the ants'}))
    model.requests.clear()
    variants = (AS_IT_IS, ONE_REVISION)
    file = replace(
        first,
        experiment=replace(first.experiment, variants=variants, scorers=(SHORT, DONE)),
        cases=(*first.cases, *second.cases),
    )
    result = await conductor.check(file)
    assert [(run.case, run.variant, run.passed) for run in result.runs] == [
        (case.id, variant.name, variant is ONE_REVISION) for case in file.cases for variant in variants
    ]
    assert result.runs[0].misses[0].text.startswith('visits at step ') and result.runs[1].parted
    lenient = replace(file, experiment=replace(file.experiment, fail_under=0))
    assert (await conductor.check(lenient)).passed and not model.requests


async def test_a_check_asks_nobody(conductor: LocalConductor, source: RunId) -> None:
    test = await conductor.save_test(source)
    judged = (ScorerSpec(name='good', kind='model', settings={'rubric': 'Is it clear?'}),)
    with pytest.raises(InvalidInput) as caught:
        await conductor.check(replace(test, experiment=replace(test.experiment, scorers=judged)))
    assert 'scorers.0.kind' in caught.value.problems


async def test_a_case_needs_a_run_of_the_same_pattern(conductor: LocalConductor, source: RunId) -> None:
    (case,) = await conductor.datasets.cases('bees')
    await conductor.datasets.save(
        'bees',
        [replace(case, source=RunId('')), Case(id='b', parameters=case.parameters, source=RunId('gone'))],
    )
    with pytest.raises(InvalidInput) as caught:
        await conductor.experiments.add(experiment(AS_IT_IS))
    assert caught.value.problems == {
        f'cases.{case.id}.source': 'must be the run whose replies are recorded',
        'cases.b.source': "there is no run 'gone'",
    }
