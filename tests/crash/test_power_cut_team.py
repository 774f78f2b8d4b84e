"""The power fails at step n of a team's work, for every n: one result per task, one call repeated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine import Conductor, Status
from engine.errors import ModelError
from engine.journal import Journal, MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import Outcome, RunId
from storage import open_journal
from tests.crash.test_power_cut import PowerCut, PowerCutJournal
from tests.support.harness import FakeModel, calls, until
from tests.support.teams.supervisor import plan_task, succeed, task_in, team, team_reply

PLAN = [
    plan_task('a'),
    plan_task('p', 'plumber'),
    plan_task('b', 'analyst', 'a'),
    plan_task('c', 'writer', 'a', 'b'),
]
ENDED = {'a': True, 'p': False, 'b': False, 'c': True}
STEPS = {'one after another': 21, 'side by side': 20}


def work(request: ModelRequest) -> Any:
    """One worker reads earlier results, one fails; equal requests get equal answers."""
    if task_in(request) == 'b':
        return ModelError('gone', retryable=False)
    if task_in(request) == 'c' and request.hints.turn == 0:
        return calls(('get_previous', {'role': 'researcher'}))
    return succeed(request)


async def start(conductor: Conductor, execution: str) -> RunId:
    return (
        await conductor.start('supervisor', {'objective': 'a bridge', 'execution': execution, 'workers': 2})
    ).id


def check_results(outcome: Outcome) -> dict[str, bool]:
    results = outcome.memory['completed_results']
    assert max(Counter(result['task_id'] for result in results).values()) == 1
    return {result['task_id']: result['success'] for result in results}


@pytest.mark.parametrize('execution', list(STEPS))
async def test_every_step_is_covered(execution: str) -> None:
    async with team(FakeModel(team_reply(PLAN, work))) as conductor:
        run = await start(conductor, execution)
        assert check_results(await conductor.result(run)) == ENDED
        assert len(await conductor.transitions(run)) == STEPS[execution]


@pytest.mark.parametrize('written', [False, True], ids=['lost', 'written'])
@pytest.mark.parametrize(
    ('execution', 'at'), [(how, at) for how, last in STEPS.items() for at in range(1, last + 1)]
)
async def test_every_task_ends_once_wherever_the_power_fails(
    tmp_path: Path, execution: str, at: int, written: bool
) -> None:
    # Every fifth step on disk: journals share one contract, and a disk is slow.
    memory = MemoryJournal()

    async def open_journal_again() -> Journal:
        return await open_journal(tmp_path / 'runs.db') if at % 5 == 0 else memory

    model = FakeModel(team_reply(PLAN, work))
    before = PowerCutJournal(await open_journal_again(), at, written=written)
    async with team(model, journal=before, owner='me') as crashed:  # type: ignore[arg-type]
        try:
            await start(crashed, execution)
            await until(lambda: before.power_lost and not crashed._live.runs)
        except PowerCut:
            pass
    async with team(model, journal=await open_journal_again(), owner='me') as successor:
        await successor.recover()
        assert not successor.stranded
        (info,) = (await successor.runs()).runs
        outcome = await successor.result(info.id)
        assert outcome.status is Status.DONE and check_results(outcome) == ENDED
        assert await successor.audit(info.id) == (await successor.info(info.id)).seq
    counts = Counter((request.hints.role, task_in(request), request.hints.turn) for request in model.requests)
    assert max(counts.values()) <= 2
    assert sum(counts.values()) <= len(counts) + (2 if execution == 'side by side' else 1)
