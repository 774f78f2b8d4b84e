"""Twins: patterns in Python and the same as chart files take each other's journals for their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, EventRefused, LocalConductor, Pattern
from engine.charts import load_chart
from engine.errors import ModelError
from engine.history.audit import audit
from engine.models.scripted import scenarios
from engine.patterns.competition.vote import Vote
from engine.patterns.pipeline.pattern import Pipeline
from engine.patterns.supervisor.pattern import Supervisor
from engine.records import RunId, Transition
from engine.tools.builtin.research.get_previous import get_previous
from tests.support.harness import (
    PIPELINE_TASK,
    FakeModel,
    HastyClock,
    catalog,
    complete_run,
    pipeline_reply,
    start_run,
)

FILES = Path(__file__).parents[3] / 'support' / 'charts'
TWINS: Mapping[str, type[Pattern]] = {'pipeline': Pipeline, 'supervisor': Supervisor, 'vote': Vote}


TASKS = (
    {'task_id': 'a', 'assigned_to': 'researcher', 'description': 'Ask.', 'priority': 5},
    {'task_id': 'b', 'assigned_to': 'cook', 'description': 'Cook.'},
    {'task_id': 'c', 'assigned_to': 'writer', 'description': 'Write.', 'depends_on': ['a', 'b']},
    {'task_id': 'd', 'assigned_to': 'researcher', 'description': 'Ask again.', 'priority': 1},
)


def twin(name: str) -> type[Pattern]:
    path = FILES / f'{name}.chart.yaml'
    return load_chart(path.read_text(), name=path.name)


Journal = Sequence[Transition]


async def journal(pattern: type[Pattern], parameters: Mapping[str, Any], model: FakeModel | None) -> Journal:
    """Run a pattern with a model, or with the scripted one, and return its steps."""
    plugins = Catalog.load() if model is None else catalog(model, tools=(get_previous,))
    plugins.patterns = {pattern.name: pattern}
    async with LocalConductor(catalog=plugins, clock=HastyClock()) as conductor:
        return await conductor.transitions(await complete_run(conductor, pattern.name, parameters))


async def check(name: str, parameters: Mapping[str, Any], model: FakeModel | None = None) -> Journal:
    """Let each twin decide what the other has recorded: the same states, guards and changes, step by step."""
    twins = (TWINS[name], twin(name))
    journals = [await journal(pattern, parameters, model) for pattern in twins]
    for pattern, steps in zip(reversed(twins), journals, strict=True):
        assert audit(RunId('twin'), pattern(pattern.parse(parameters)), steps) == steps[-1].seq
    return journals[1]


SCENARIOS = [(name, scenario.name, scenario.parameters) for name in TWINS for scenario in scenarios(name)]


@pytest.mark.parametrize(
    ('name', 'parameters'),
    [(name, each) for name, _, each in SCENARIOS],
    ids=[f'{name}-{which}' for name, which, _ in SCENARIOS],
)
async def test_twins_play_every_scenario_alike(name: str, parameters: dict[str, Any]) -> None:
    assert (await check(name, parameters))[-1].active


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
    assert steps[-1].active == (last,)


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
    assert steps[-1].active == (last,)


async def test_retries_are_noted_alike() -> None:
    """Noting one is no decision, so that an audit takes it as it was recorded."""
    model = stage('analyzer', ModelError('busy', retryable=True), attempts=2)
    noted = [
        [
            change.value
            for step in await journal(pattern, PIPELINE_TASK, model)
            for change in step.changes
            if change.path == '/memory/messages/-'
        ]
        for pattern in (Pipeline, twin('pipeline'))
    ]
    assert noted[0] == noted[1] and 'retry' in {message['kind'] for message in noted[0]}


def team(*failing: str, tasks: Sequence[Mapping[str, Any]] = TASKS) -> FakeModel:
    """The supervisor's agents; some tasks fail, or their workers do."""

    def reply(request: Any) -> Any:
        hints = request.hints
        if hints.role == 'supervisor':
            return {'approach': 'as ever', 'tasks': list(tasks)}
        if hints.role == 'synthesizer':
            return 'The answer.'
        text = str(request.messages)
        if any(f'({name})' in text for name in failing):
            return ModelError('lost') if len(failing) % 2 else {'success': False, 'output': 'no idea'}
        return {'success': True, 'output': f'done by {hints.role}'}

    return FakeModel(reply)


@pytest.mark.parametrize(
    ('model', 'more', 'last'),
    [
        (team(), {}, 'complete'),
        (team('a'), {}, 'complete'),
        (team('a', 'b'), {}, 'complete'),
        (team('a', 'b', 'c', 'd'), {}, 'failed'),
        (team(tasks=()), {}, 'complete'),
        (team(), {'max_tasks': 2}, 'complete'),
        (team(), {'execution': 'side by side', 'workers': 2}, 'complete'),
        (team('a'), {'execution': 'side by side'}, 'complete'),
        (team(), {'more_roles': ['Cook: You cook.', 'baker : You bake.']}, 'complete'),
        (FakeModel('no plan'), {}, 'failed'),
    ],
)  # fmt: skip
async def test_tasks_are_shared_out_alike(model: FakeModel, more: dict[str, Any], last: str) -> None:
    steps = await check('supervisor', {'objective': 'Find out.', **more}, model)
    assert steps[-1].active == (last,)


async def test_a_person_plans_alike() -> None:
    journals = []
    twins = (Supervisor, twin('supervisor'))
    for pattern in twins:
        plugins = catalog(team(), tools=(get_previous,))
        plugins.patterns = {pattern.name: pattern}
        async with LocalConductor(catalog=plugins, clock=HastyClock()) as conductor:
            run = await start_run(conductor, 'supervisor', {'objective': 'Find out.'}, paused=True)
            await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
            await conductor.resume(run)
            with pytest.raises(EventRefused):
                await conductor.send(run, 'plan', data={'tasks': ['nobody: Do it.']})
            await conductor.send(run, 'plan', data={'tasks': ['Writer: Write it.', 'analyst: Count it.']})
            await conductor.result(run)
            journals.append(await conductor.transitions(run))
    for pattern, steps in zip(reversed(twins), journals, strict=True):
        assert (
            audit(RunId('twin'), pattern(pattern.parse({'objective': 'Find out.'})), steps) == steps[-1].seq
        )
