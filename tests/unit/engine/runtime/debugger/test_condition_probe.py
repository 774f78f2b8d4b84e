"""Probing: a condition's result at the current step of a run, with the values of its names."""

from __future__ import annotations

import pytest

from engine import Conductor, EventRefused, InvalidInput, LocalConductor, SimulatedClock
from tests.support.harness import FakeModel, catalog, complete_run, pipeline_reply, turns

QUESTION = {'task': 'Which database suits a small shop?'}


@pytest.fixture
async def conductor():
    async with LocalConductor(
        catalog=catalog(FakeModel(pipeline_reply)), clock=SimulatedClock()
    ) as conductor:
        yield conductor


async def run_to_breakpoint(conductor: Conductor) -> str:
    run = (await conductor.start('pipeline', QUESTION, breakpoints=[{'enter': 'analyzing'}])).id
    async for _ in turns():
        if (await conductor.view(run)).paused:
            return run
    raise AssertionError('it did not stop')


async def test_a_probe_returns_the_answer_and_values(conductor):
    run = await run_to_breakpoint(conductor)
    probe = await conductor.probe(run, 'tokens > 1 and memory.task != null and score == null')
    steps = await conductor.transitions(run)
    assert probe.holds
    assert probe.problem == ''
    assert probe.values['memory.task'] == QUESTION['task']
    assert probe.values['score'] is None
    assert probe.values['tokens'] == (await conductor.view(run)).usage.total
    assert steps[-1].event.name == 'pause'
    assert probe.seq < steps[-1].seq  # conditions ignore the pause


async def test_evaluation_errors_are_explained(conductor):
    run = await run_to_breakpoint(conductor)
    probe = await conductor.probe(run, 'event > 3')
    assert not probe.holds
    assert 'compare a text with a number' in probe.problem


async def test_syntax_errors_name_the_column(conductor):
    run = await run_to_breakpoint(conductor)
    with pytest.raises(InvalidInput, match='column 5: '):
        await conductor.probe(run, '1 + (cots')
    with pytest.raises(InvalidInput, match='no field'):
        await conductor.probe(run, 'memory.nothing > 1')


async def test_a_run_that_has_ended_cannot_be_probed(conductor):
    run = await complete_run(conductor, 'pipeline', QUESTION)
    with pytest.raises(EventRefused, match='done'):
        await conductor.probe(run, 'tokens > 1')
