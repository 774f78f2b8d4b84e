"""Commands to runs that move between workers: each is journaled once and has its effect."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from engine import Status
from engine.errors import EngineError, EventRefused
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, Process, check_calls, check_journal, until
from ui.api.client import HttpConductor

pytestmark = [pytest.mark.slow, pytest.mark.long]
STEPS, MOVES = 80, 4


@pytest.fixture
async def conductor(server: Process) -> AsyncIterator[HttpConductor]:
    async with HttpConductor(server.url, patience=60) as conductor:
        yield conductor


@asynccontextmanager
async def moving(fleet: Fleet) -> AsyncIterator[None]:
    """Kill and replace workers one after another while the context lasts."""
    alive = [await fleet.worker(), await fleet.worker()]

    async def move() -> None:
        for _ in range(MOVES):
            victim = alive.pop(0)
            before = len(fleet.lines())
            victim.kill()
            alive.append(await fleet.worker())
            await until(lambda: len(fleet.lines()) > before + 10, 'runs continue')  # noqa: B023

    task = asyncio.create_task(move())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_commands_reach_runs_that_move(fleet: Fleet, conductor: HttpConductor, reader: Journal) -> None:
    async with moving(fleet):
        parameters = {'calls': str(fleet.calls), 'steps': STEPS}
        ended, paused, untouched = [(await conductor.start('counting', parameters)).id for _ in range(3)]
        approved = (await conductor.start('pipeline', {'task': 'Tea or coffee?'}, approvals='all')).id
        await asyncio.gather(
            cancel_once(conductor, ended),
            pause_and_step(conductor, paused, times=4),
            approve_all(conductor, approved),
        )
        for run in (paused, untouched, approved):
            await conductor.result(run)
    runs = [ended, paused, untouched, approved]
    violations = await check_journal(fleet.database, [str(run) for run in runs])
    statuses = [(await conductor.info(run)).status for run in runs]
    assert statuses == [Status.CANCELLED, *3 * [Status.DONE]]
    await check_calls(fleet, reader, [str(paused), str(untouched)], STEPS)
    names = [step.event.name for step in violations[str(paused)]]
    assert (names.count('pause'), names.count('step'), names.count('resume')) == (1, 4, 1), names
    assert [step.event.name for step in violations[str(ended)]].count('cancel') == 1


async def cancel_once(conductor: HttpConductor, run: RunId) -> None:
    await wait_for_step(conductor, run, 20)
    await conductor.cancel(run, 'enough')


async def pause_and_step(conductor: HttpConductor, run: RunId, times: int) -> None:
    """Pause a run, take single steps, and resume it, whichever worker has it."""
    await wait_for_step(conductor, run, 10)
    await conductor.pause(run)
    for _ in range(times):
        before = (await conductor.info(run)).seq
        await conductor.step(run)
        await wait_for_step(conductor, run, before + 2)  # The command, and the step that it allowed.
    await conductor.resume(run)


async def approve_all(conductor: HttpConductor, run: RunId) -> None:
    while not (await conductor.info(run)).status.ended:
        with contextlib.suppress(EventRefused):
            for event in await conductor.accepts(run):
                if event.event == 'approve':
                    await conductor.send(run, 'approve', at=event.at)
        await asyncio.sleep(0.05)


async def wait_for_step(conductor: HttpConductor, run: RunId, seq: int) -> None:
    async def has() -> bool:
        try:
            return (await conductor.info(run)).seq >= seq
        except EngineError:
            return False

    await until(has, f'{run} is at {seq}')
