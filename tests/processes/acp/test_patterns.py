"""The scripted agent in every pattern whose workers write software: real processes in the sandbox, no key."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import Catalog, LocalConductor, Status
from engine.host.clock import Clock, RealClock
from engine.journal import MemoryJournal
from engine.models.scripted.library import Library, scenarios
from engine.models.scripted.model import Scripted
from engine.records import Outcome, View
from engine.workspace import Sandbox
from tests.support.harness import HastyClock

MAX_SECONDS = 300


async def play(
    pattern: str, models: dict[str, str], *, clock: Clock | None = None, **changed: Any
) -> tuple[Outcome, View]:
    """Play a sample of a pattern with agents in place of models."""
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0)
    async with LocalConductor(MemoryJournal(), catalog=catalog, clock=clock or HastyClock()) as conductor:
        parameters = {**scenarios(pattern)[0].parameters, **changed}
        run = (await conductor.start(pattern, parameters, models=models)).id
        outcome = await asyncio.wait_for(conductor.result(run), MAX_SECONDS)
        assert await conductor.audit(run)
        return outcome, await conductor.view(run)


ALL = {'': 'agent:scripted'}


async def test_agents_race_in_the_sandbox_and_the_one_whose_tests_pass_wins(sandbox: Sandbox) -> None:
    outcome, view = await play('race', ALL)
    assert outcome.status is Status.DONE, outcome.error
    assert outcome.memory['winner'] == 'racer2' and outcome.memory['passed']
    assert set(view.models) == {'agent:scripted'} and view.origins == ('simulated',)
    assert view.agents['racing.racer2.working']['session']['loads']


@pytest.mark.long
async def test_model_reviewers_judge_an_agents_work(sandbox: Sandbox) -> None:
    outcome, view = await play('parallel-review', {'coder1': 'agent:scripted'})
    assert outcome.status is Status.DONE, outcome.error
    assert {'agent:scripted', 'scripted'} <= set(view.models)
    assert outcome.memory['candidates']['coder1']['versions'][0]['said']


@pytest.mark.parametrize('pattern', [pytest.param('builder', marks=pytest.mark.long), 'debugger'])
async def test_agents_claims_about_tests_are_not_trusted(pattern: str, sandbox: Sandbox) -> None:
    outcome, view = await play(pattern, ALL)
    assert outcome.status is Status.DONE, outcome.error
    worker = view.agents['working']
    assert worker['artifacts']['test_result']['value'] is True
    assert worker['artifacts']['test_result']['by'] == 'run_tests'


@pytest.mark.parametrize('pattern', ['code-reviewer', pytest.param('triager', marks=pytest.mark.long)])
async def test_agents_answer_with_the_requested_record(pattern: str, sandbox: Sandbox) -> None:
    outcome, view = await play(pattern, ALL)
    assert outcome.status is Status.DONE, outcome.error
    assert view.agents['working']['model'] == 'agent:scripted'


@pytest.mark.long
@pytest.mark.parametrize('pattern', ['vote', 'supervisor'])
async def test_agents_work_wherever_models_do(pattern: str, sandbox: Sandbox) -> None:
    expected = next(
        scenario for scenario in Library.load().scenarios if scenario.name == scenarios(pattern)[0].name
    )
    outcome, view = await play(pattern, ALL)
    assert outcome.status == Status(expected.expect.status), outcome.error
    assert set(view.models) == {'agent:scripted'}


@pytest.mark.long
async def test_agents_work_in_time_bounded_runs(sandbox: Sandbox) -> None:
    """A custom goal has fewer turns than the samples, and each turn starts a process."""
    own = {'primary_goal': 'Write a parser for dates', 'project': '', 'wait_for_time': 0}
    outcome, view = await play('time-bounded', ALL, clock=RealClock(), **own)
    assert outcome.status is Status.DONE, outcome.error
    assert set(view.models) == {'agent:scripted'}
