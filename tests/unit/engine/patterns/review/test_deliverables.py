"""What contests offer for merging: newest versions, their tests, and which one was picked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import Pattern
from engine.patterns.competition.race import Race
from engine.patterns.review.pattern import ParallelReview
from engine.statechart import AgentWork, Deliverables
from tests.golden.test_replay import FOLDER


def make_version(number: int, **suite: Any) -> dict[str, Any]:
    evidence = {'required': suite, 'own': {}}
    return {'number': number, 'snapshot': f's{number}', 'said': f'v{number}', 'evidence': evidence}


@pytest.mark.parametrize(
    ('name', 'pattern', 'best', 'tests'),
    [
        ('spans-race', Race, 'racer2', 'the test command succeeded; it reported no tests'),
        ('bech32', ParallelReview, 'coder1', '63 passed'),
    ],
)
def test_a_recorded_contest_has_a_result(name: str, pattern: type[Pattern], best: str, tests: str) -> None:
    run = json.loads((FOLDER / f'{name}.json').read_text('utf-8'))
    deliverables = pattern.deliverables(run['parameters'], run['memory'])
    assert (deliverables.best, deliverables.works[best].tests) == (best, tests)
    assert set(deliverables.works) == set(run['memory']['candidates'])


def test_the_recorded_race_is_won_after_another_racer_has_failed() -> None:
    run = json.loads((FOLDER / 'leap.json').read_text('utf-8'))
    works = Race.deliverables(run['parameters'], run['memory']).works
    assert {name: work.tests for name, work in works.items()} == {
        'racer1': '15 passed, 3 failed', 'racer2': '18 passed', 'racer3': '',
    }  # fmt: skip


def test_memory_of_an_older_version_is_read() -> None:
    memory = {
        'candidates': {
            'a': {'versions': [make_version(1), make_version(2, passed=1_200, failed=1)], 'gone': 1},
            'b': {'said': 'nearly'},
            'c': {'versions': [make_version(1, problem='no report')]},
        },
        'choices': [{'candidate': 'b'}, {'candidate': 'a', 'gone': 2}],
        'gone': 3,
    }
    parameters = {'project': 'p', 'tests': 't', 'command': 'make test', 'test_seconds': 5}
    assert ParallelReview.deliverables(parameters, memory) == Deliverables(
        project='p', tests='t', command='make test', seconds=5, best='a',
        works={
            'a': AgentWork(snapshot='s2', summary='v2', tests='1200 passed, 1 failed'),
            'b': AgentWork(summary='nearly'),
            'c': AgentWork(snapshot='s1', summary='v1', tests='no report'),
        },
    )  # fmt: skip


def test_any_pattern_offers_all_folders() -> None:
    deliverables = Pattern.deliverables({'project': 'p', 'test_command': 'make test'}, {'candidates': 3})
    assert deliverables == Deliverables(project='p', command='make test', seconds=120)
