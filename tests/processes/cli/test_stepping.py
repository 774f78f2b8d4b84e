"""Stepping from the command line: each command continues where the last one released the run."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import ui.cli.execution.resume as command
from engine import Breakpoint, Catalog, Conductor, LocalConductor, Status
from storage import open_journal
from tests.support.cli import Hemicycle
from tests.support.harness import until
from ui.cli.conductors import claim

TASK = ('--task', 'Compare tea and coffee')


def test_a_run_is_stepped_from_one_command_to_the_next(hemicycle: Hemicycle) -> None:
    begun = hemicycle('run', 'pipeline', *TASK, '--paused', '--break', 'enter reviewing', '--quiet')
    assert begun.exit_code == 4 and 'is paused at step 2 in researching.thinking' in begun.stderr
    stepped = hemicycle('step', '--json')
    *steps, outcome = [json.loads(line) for line in stepped.stdout.splitlines()]
    assert [step['event']['name'] for step in steps] == ['recover', 'step', 'done']
    assert (stepped.exit_code, outcome['status']) == (4, 'paused')
    over = hemicycle('step', '--over')
    assert over.exit_code == 4 and 'in analyzing.thinking (stepped over at step' in over.stderr
    added = hemicycle('breakpoint', 'add', '--when', 'cost > 100', '--once')
    assert added.stdout.splitlines() == ['  1  enter reviewing', '  2  cost > 100 · once']
    refused = hemicycle('breakpoint', 'add', '--enter', 'reviewed')
    assert refused.exit_code == 2 and 'did you mean reviewing' in refused.stderr
    stopped = hemicycle('resume')
    assert stopped.exit_code == 4 and 'in reviewing.thinking (breakpoint 1 at step' in stopped.stderr
    assert hemicycle('breakpoint', 'list').stdout.splitlines()[0] == '  1  enter reviewing · hit once'
    assert 'stopped: breakpoint 1 at step' in hemicycle('show').stdout
    assert hemicycle('pause').exit_code == 2
    assert 'not both' in hemicycle('step', '--over', '--out').stderr
    assert hemicycle('breakpoint', 'remove', 'last', '7').exit_code == 2
    assert hemicycle('breakpoint', 'remove', 'last', 'all').stdout == ''
    assert hemicycle('resume', '--quiet').exit_code == 0
    ended = hemicycle('step')
    assert ended.exit_code == 2 and 'it is done' in ended.stderr
    assert hemicycle('runs', 'audit').exit_code == 0


async def leave_at_work(hemicycle: Hemicycle) -> None:
    """Interrupt a run with a breakpoint during its first call."""
    catalog = Catalog.load()
    catalog.models['scripted'].pace = 1000  # type: ignore[attr-defined]
    async with LocalConductor(await open_journal(hemicycle.database), catalog=catalog) as conductor:
        stop = Breakpoint(enter='analyzing')
        run = await conductor.start('pipeline', task='Compare tea and coffee', breakpoints=[stop])
        assert (await run.view()).status is Status.RUNNING


def test_a_breakpoint_hit_during_a_takeover_still_stops_the_run(
    hemicycle: Hemicycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(leave_at_work(hemicycle))

    @asynccontextmanager
    async def claim_slowly(*args: Any, **options: Any) -> AsyncIterator[Conductor]:
        async with claim(*args, **options) as conductor:
            (info,) = (await conductor.runs()).runs
            await until(lambda: conductor.resting_step(info.id))
            yield conductor

    monkeypatch.setattr(command, 'claim', claim_slowly)
    assert hemicycle('resume', '--quiet').exit_code == 4
    assert hemicycle('breakpoint', 'list').stdout == '  1  enter analyzing · hit once\n'
    stopped = hemicycle.newest()
    assert hemicycle.steps(stopped.id)[-1].active == ('analyzing.thinking',)
