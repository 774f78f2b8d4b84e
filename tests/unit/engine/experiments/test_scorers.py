"""Scorers of facts, of the path, by people, by a judge and in Python: what each says of real runs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine import InvalidInput, LocalConductor
from engine.operations.experiments.records import Mark, Score, ScorerSpec
from engine.operations.experiments.scorers import read_scorers, score_run, scorer
from engine.records import Outcome, RunId, Status, Usage
from tests.support.charts.echo import Echo, evidence_of

ANSWER = 'We sold 1,250 loaves, 12.5 kg each. Total: 15,625 kg.'


async def score(
    settings: dict[str, Any], answer: Any, expectation: Any = None, **values: Any
) -> Score | None:
    kind = settings['kind']
    rest = {name: value for name, value in settings.items() if name != 'kind'}
    scorers = read_scorers([ScorerSpec(name='it', kind=kind, settings=rest)])
    async with LocalConductor() as conductor:
        parameters = {'answer': answer, **values.pop('parameters', {})}
        evidence = await evidence_of(conductor, Echo, parameters, expectation, **values)
        return (await score_run(scorers, evidence)).get('it')


@pytest.mark.parametrize(
    ('settings', 'answer', 'expectation', 'value'),
    [
        ({'kind': 'status'}, ANSWER, None, 1),
        ({'kind': 'equal'}, ' yes ', 'yes', 1),
        ({'kind': 'equal'}, 'Yes', 'yes', 0),
        ({'kind': 'equal', 'case_matters': False}, 'Yes', 'yes', 1),
        ({'kind': 'equal', 'expected': '/total'}, 7, {'total': 7}, 1),
        ({'kind': 'equal', 'of': '/task'}, '', 'Say it', 1),
        ({'kind': 'equal'}, 1, True, 0),
        ({'kind': 'equal'}, 5840, ' 5840 ', 1),
        ({'kind': 'equal', 'value': 5840}, '5840', None, 1),
        ({'kind': 'equal'}, '007', 7, 0),
        ({'kind': 'equal'}, True, '1', 0),
        ({'kind': 'equal'}, 'yes', None, None),
        ({'kind': 'contains'}, ANSWER, 'LOAVES', 1),
        ({'kind': 'contains'}, ANSWER, ['loaves', 'rolls'], 0.5),
        ({'kind': 'contains', 'value': 'rolls'}, ANSWER, 'loaves', 0),
        ({'kind': 'contains', 'value': []}, ANSWER, None, None),
        ({'kind': 'regex', 'pattern': r'\d+ kg\.$'}, ANSWER, None, 1),
        ({'kind': 'regex', 'pattern': 'apolog', 'found': False}, ANSWER, None, 1),
        ({'kind': 'regex', 'pattern': 'rolls'}, ANSWER, None, 0),
        ({'kind': 'number'}, ANSWER, 15_625, 1),
        ({'kind': 'number', 'within': 0.01, 'share': True}, ANSWER, '15,700 kg', 1),
        ({'kind': 'number', 'within': 1, 'last': False}, ANSWER, 1_251, 1),
        ({'kind': 'number'}, 'none at all', 3, 0),
        ({'kind': 'number'}, '\N{MINUS SIGN}3.5', -3.5, 1),
        ({'kind': 'number'}, '9' * 390, 3, 0),
        ({'kind': 'number'}, '3', 'three', None),
        ({'kind': 'schema', 'schema': {'required': ['a']}}, '```json\n{"a": 1}\n```', None, 1),
        ({'kind': 'schema', 'schema': {'required': ['a']}}, {'b': 1}, None, 0),
        ({'kind': 'schema', 'schema': {}}, 'no JSON', None, 0),
        ({'kind': 'schema', 'schema': {'type': 'text'}}, '{}', None, None),
        ({'kind': 'schema', 'schema': {'$ref': 'http://127.0.0.1:9/schema'}}, '{}', None, None),
        ({'kind': 'path', 'visited': ['end'], 'not_visited': ['around'], 'visits': {'end': 1}}, '', None, 1),
        ({'kind': 'path', 'order': ['start', 'end'], 'tokens': 0, 'approval': False}, '', None, 1),
        ({'kind': 'path', 'order': ['end', 'start']}, '', None, 0),
        ({'kind': 'path', 'visited': ['around']}, '', None, 0),
        ({'kind': 'path', 'visited': ['nowhere']}, '', None, 0),
        ({'kind': 'path', 'tool': 'search'}, '', None, 0),
        ({'kind': 'path', 'approval': True}, '', None, 0),
        (
            {'kind': 'path', 'when': 'visits.end == 1 and answer == expectation and len(calls) == 0'},
            'a',
            'a',
            1,
        ),
        ({'kind': 'path', 'when': '"around" in entered'}, '', None, 0),
        ({'kind': 'path', 'when': 'len(steps)'}, '', None, None),
        ({'kind': 'people'}, '', None, None),
        ({'kind': 'file', 'path': 'a.py'}, '', None, None),
    ],
)
async def test_a_scorer_says_what_it_should(
    settings: dict[str, Any], answer: Any, expectation: Any, value: float | None
) -> None:
    came = await score(settings, answer, expectation)
    assert came is not None and came.value == value
    assert value is not None or came.reason


async def test_a_regular_expression_that_never_ends_is_stopped_and_not_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr('engine.operations.experiments.scorers.facts.REGEX_SECONDS', 1.0)
    began = time.monotonic()
    came = await score({'kind': 'regex', 'pattern': '(a+)+$'}, 'a' * 60 + 'b')
    assert came == Score(reason='it took longer than 1 s') and time.monotonic() - began < 20


async def test_a_failed_run_is_scored_by_its_status_alone() -> None:
    failed = {'parameters': {'fails': True}}
    assert await score({'kind': 'contains', 'value': 'a'}, 'a', **failed) is None
    came = await score({'kind': 'status'}, 'a', **failed)
    assert came is not None and came.value == 0 and 'failed' in came.reason


@pytest.mark.parametrize(
    ('spec', 'field'),
    [
        ({'kind': 'reggae'}, 'scorers.0.kind'),
        ({'kind': 'regex', 'settings': {'pattern': '('}}, 'scorers.0.settings.pattern'),
        ({'kind': 'regex', 'settings': {'pattern': 'a', 'flags': 1}}, 'scorers.0.settings.flags'),
        ({'kind': 'contains', 'settings': {'of': 'answer'}}, 'scorers.0.settings.of'),
        ({'kind': 'path', 'settings': {'when': 'visits ='}}, 'scorers.0.settings.when'),
        ({'kind': 'number', 'settings': {'within': -1}}, 'scorers.0.settings.within'),
        ({'kind': 'python', 'settings': {'function': 'os:system'}}, 'scorers.0.settings.function'),
    ],
)
def test_a_wrong_setting_is_named(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_scorers([ScorerSpec(name='it', **spec)])
    assert [*caught.value.problems] == [field]


async def test_an_own_function_scores_and_its_error_is_no_score() -> None:
    @scorer
    def short(run: Any, case: Any) -> float:
        return 1 / (len(run.answer) - len(case.expectation))

    name = next(name for name in _functions() if name.endswith('short'))
    assert (await score({'kind': 'python', 'function': name}, 'abcd', 'ab')) == Score(value=0.5)
    came = await score({'kind': 'python', 'function': name}, 'ab', 'ab')
    assert came is not None and came.value is None and 'ZeroDivisionError' in came.reason


def _functions() -> list[str]:
    from engine.operations.experiments.scorers.python import FUNCTIONS

    return [*FUNCTIONS]


async def test_marks_count_once_for_each_person_and_the_last_one_counts() -> None:
    marks = [
        Mark(cell='cell', value=0.0, author='ada', created=1),
        Mark(cell='cell', value=1.0, author='ada', created=2, comment='on second thoughts'),
        Mark(cell='cell', value=0.5, author='bob', created=1),
        Mark(cell='other', over='cell', value=1.0, author='bob', created=3),
    ]
    assert await score({'kind': 'people', 'at_least': 2}, '', marks=marks) == Score(
        value=0.75, reason='ada: on second thoughts'
    )
    assert await score({'kind': 'people', 'compare': True}, '', marks=marks) == Score(value=0.0)
    first = await score({'kind': 'people', 'compare': True}, '', is_first=True)
    assert first is not None and first.value == 0.5


async def test_a_judge_sees_the_task_the_answer_and_the_expectation() -> None:
    memory = {'score': 80, 'why': 'clear', 'verdict': ''}
    outcome = Outcome(run=RunId('j'), status=Status.DONE, answer='', error='', memory=memory)
    scorers = read_scorers([ScorerSpec(name='good', kind='model', settings={'rubric': 'Is it clear?'})])
    async with LocalConductor() as conductor:
        evidence = await evidence_of(conductor, Echo, {'answer': 'It is'}, 'It was', outcome=outcome)
        scored = await score_run(scorers, evidence)
        (launch,) = evidence.bench.launches  # type: ignore[attr-defined]
    assert scored == {'good': Score(value=0.8, reason='clear', runs=(RunId('j'),))}
    assert launch.parameters == {
        'task': 'Say it', 'answer': 'It is', 'other': '', 'rubric': 'Is it clear?', 'expected': 'It was',
    }  # fmt: skip


async def test_the_end_of_a_failed_run_is_judged_by_scorers_that_are_told_to() -> None:
    failing = {'parameters': {'fails': True}}
    way = {'kind': 'path', 'visited': ['broken']}
    assert await score(way, '', **failing) is None
    came = await score({**way, 'any_end': True, 'not_visited': ['start']}, '', **failing)
    assert came is not None and came.value == 0
    assert [(miss.what, miss.wanted, miss.step) for miss in came.misses] == [('not_visited', 'start', 1)]


async def test_limits_are_about_work_and_a_cost_that_is_not_known_is_not_scored() -> None:
    scorers = read_scorers([ScorerSpec(name='it', kind='path', settings={'seconds': 60, 'dollars': 0.1})])
    async with LocalConductor() as conductor:
        evidence = await evidence_of(conductor, Echo, {'answer': 'a'})
        projection = evidence.fold.projection
        projection.ran += 3_600  # An hour in which it waited for a person.
        assert (await score_run(scorers, evidence))['it'].value == 1
        projection.usage = Usage(dollars=0.05, unpriced=1)
        unknown = (await score_run(scorers, evidence))['it']
        projection.usage = Usage(dollars=0.5, unpriced=1)
        assert (await score_run(scorers, evidence))['it'].value == 0
    assert unknown == Score(reason='a part of its cost is not known')


async def test_a_judge_that_compares_waits_for_the_other_run() -> None:
    came = await score({'kind': 'model', 'rubric': 'Which?', 'compare': True}, 'a')
    assert came is not None and came.value is None and came.waits
