"""Twins: patterns in Python and the same as chart files decide the same, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, LocalConductor, Pattern
from engine.charts import load_chart
from engine.errors import ModelError
from engine.models.scripted import scenarios
from engine.patterns.competition.vote import Vote
from engine.patterns.pipeline.pattern import Pipeline
from engine.records import Transition
from tests.support.harness import (
    PIPELINE_TASK,
    FakeModel,
    HastyClock,
    catalog,
    complete_run,
    pipeline_reply,
)

FILES = Path(__file__).parents[3] / 'support' / 'charts'
TWINS: Mapping[str, type[Pattern]] = {'pipeline': Pipeline, 'vote': Vote}


def twin(name: str) -> type[Pattern]:
    path = FILES / f'{name}.chart.yaml'
    return load_chart(path.read_text(), name=path.name)


def plain(step: Transition) -> dict[str, Any]:
    """What a step decided, without the names of guards, and without counts of tokens.

    These depend on the descriptions in a record's schema, which a docstring is a part of.
    """
    data = {name: value for name, value in step.event.data.items() if name != 'usage'}
    return {
        'event': (step.event.name, step.event.at, step.event.attempt, data),
        'left': step.left,
        'entered': step.entered,
        'active': step.active,
        'edges': step.edges,
        'guards': [(guard.value, guard.wanted, guard.source, guard.dest) for guard in step.guards],
        'changes': [
            (change.op, change.path, change.value)
            for change in step.changes
            if not change.path.endswith('/input_tokens')
        ],
    }


async def journal(
    pattern: type[Pattern], parameters: Mapping[str, Any], model: FakeModel | None, seed: int = 0
) -> list[dict[str, Any]]:
    """Run a pattern with a model, or with the scripted one, and return what its steps decided."""
    plugins = Catalog.load() if model is None else catalog(model)
    plugins.patterns = {pattern.name: pattern}
    async with LocalConductor(catalog=plugins, clock=HastyClock()) as conductor:
        run = await complete_run(conductor, pattern.name, parameters, seed=seed)
        steps = await conductor.transitions(run)
        assert await conductor.audit(run) == steps[-1].seq
    return [plain(step) for step in steps]


async def check(name: str, parameters: Mapping[str, Any], model: FakeModel | None = None) -> list[Any]:
    expected = await journal(TWINS[name], parameters, model)
    steps = await journal(twin(name), parameters, model)
    for number, (step, wanted) in enumerate(zip(steps, expected, strict=False), 1):
        assert step == wanted, f'step {number}'
    assert len(steps) == len(expected)
    return expected


SCENARIOS = [(name, scenario.name, scenario.parameters) for name in TWINS for scenario in scenarios(name)]


@pytest.mark.parametrize(
    ('name', 'parameters'),
    [(name, each) for name, _, each in SCENARIOS],
    ids=[f'{name}-{which}' for name, which, _ in SCENARIOS],
)
async def test_twins_play_every_scenario_alike(name: str, parameters: dict[str, Any]) -> None:
    assert await check(name, parameters)


def voters(*answers: str, ruling: str = '') -> FakeModel:
    """Voters who give one answer each, in every ballot; '' fails."""

    def reply(request: Any) -> Any:
        if request.hints.role == 'judge':
            return {'answer': ruling, 'why': 'it is'} if ruling else ValueError('no ruling')
        answer = answers[int(request.hints.role[-1]) - 1]
        return {'answer': answer, 'why': 'because'} if answer else ValueError('no answer')

    return FakeModel(reply)


@pytest.mark.parametrize(
    ('model', 'more', 'last'),
    [
        (voters('Yes', 'yes.', 'no'), {}, 'decided'),
        (voters('a', 'b', ''), {'ties': 'again', 'max_ballots': 2}, 'decided'),
        (voters('b', 'a', 'c'), {'ties': 'first'}, 'decided'),
        (voters('a', 'b', 'c', ruling='"B".'), {'ties': 'judge'}, 'decided'),
        (voters('a', 'a', 'c', ruling='d'), {'decided_by': 'judge'}, 'decided'),
        (voters('a', 'a', 'c'), {'decided_by': 'judge'}, 'decided'),
        (voters('', '', ''), {}, 'undecided'),
        (voters('a', 'a', 'c'), {'seconds': 5}, 'undecided'),
    ],
)  # fmt: skip
async def test_votes_are_counted_alike(model: FakeModel, more: dict[str, Any], last: str) -> None:
    steps = await check('vote', {'task': 'Is it?', **more}, model)
    assert steps[-1]['active'] == (last,)


def stage(role: str, broken: Any, *, attempts: int = 9) -> FakeModel:
    """The pipeline's agents, one of which answers something else at its first turn."""

    def reply(request: Any) -> Any:
        hints = request.hints
        if (hints.role, hints.visit, hints.turn) == (role, 1, 0) and hints.attempt <= attempts:
            return broken
        return pipeline_reply(request)

    return FakeModel(reply)


@pytest.mark.parametrize(
    ('model', 'more', 'last'),
    [
        (stage('analyzer', ModelError('out of order')), {}, 'failed'),
        (stage('analyzer', ModelError('busy', retryable=True), attempts=2), {}, 'complete'),
        (stage('reviewer', 'It is fine.'), {}, 'complete'),
        (stage('analyzer', ' '), {}, 'complete'),
        (FakeModel(partial(pipeline_reply, revisions=9)), {'max_iterations': 1}, 'complete'),
    ],
)  # fmt: skip
async def test_drafts_are_reviewed_alike(model: FakeModel, more: dict[str, Any], last: str) -> None:
    steps = await check('pipeline', {**PIPELINE_TASK, **more}, model)
    assert steps[-1]['active'] == (last,)
