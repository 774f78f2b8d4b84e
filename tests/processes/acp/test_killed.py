"""Hemicycle is killed with SIGKILL while an agent works: the run continues, and repeats at most one turn."""

from __future__ import annotations

import asyncio
import signal

import pytest

from engine import Transition
from engine.models.scripted.library import scenarios
from engine.tools.acp.process import find_processes
from engine.workspace import Sandbox
from tests.support.cli import Hemicycle, until, wait_for_exit

RACE = next(sample for sample in scenarios('race') if sample.name == 'spans-race')
SETS = (f'project={RACE.parameters["project"]}', f'command={RACE.parameters["command"]}', 'racers=2')
RUN = ('run', 'race', '--task', RACE.task, *(word for pair in SETS for word in ('--set', pair)))


def replies(steps: list[Transition]) -> list[Transition]:
    return [step for step in steps if step.event.name == 'done' and 'message' in step.event.data]


@pytest.mark.parametrize('steps', [pytest.param(5, marks=pytest.mark.long), 9])
def test_a_killed_run_continues_with_its_agent(steps: int, hemicycle: Hemicycle) -> None:
    if problem := asyncio.run(Sandbox().problem()):
        pytest.skip(problem)
    with hemicycle.process(*RUN, '--model', 'agent:scripted', '--pace', '240', '-q') as process:
        hemicycle.reaches(steps, process)
        process.send_signal(signal.SIGKILL)
        wait_for_exit(process)
    killed = hemicycle.newest()
    for name in ('racer1', 'racer2'):
        until(
            lambda name=name: not find_processes(f'{killed.id}/racing.{name}.working'),
            'the agents are dead, too',
        )
    before = hemicycle.steps(killed.id)
    sessions = {step.event.data['session']['id'] for step in replies(before)}
    result = hemicycle('resume', 'last', '-q')
    after = hemicycle.steps(killed.id)
    errors = {step.seq: step.event.data['error'] for step in after if 'error' in step.event.data}
    assert result.exit_code == 0, (result.output, errors)
    assert after[: len(before)] == before and after[len(before)].event.name == 'recover'
    # The same sessions continue, and nothing recorded is repeated except the interrupted turn.
    assert sessions and sessions <= {step.event.data['session']['id'] for step in replies(after)}
    for name in ('racer1', 'racer2'):
        replies_of_agent = [
            step.event.data['text'] for step in replies(after) if name in step.event.at.split('.')
        ]
        texts = [text for text in replies_of_agent if text]
        assert len(texts) - len(set(texts)) <= 1, texts
        ids = {
            step.event.data['session']['id'] for step in replies(after) if name in step.event.at.split('.')
        }
        assert len(ids) <= 1
    assert hemicycle('runs', 'audit').exit_code == 0
