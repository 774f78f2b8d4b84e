"""The reason shown for a run that no worker executes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import httpx
import pytest

from engine import Transition
from engine.records import JournalOutage, RunId
from tests.crash.fleet.processes import Fleet, Process, launch, until
from ui.api.client import Connection, RunIsOver, stream_items

pytestmark = [pytest.mark.slow, pytest.mark.long]
SQLITE = True


class Watcher:
    """Follows a run at a web server, as a page does."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.steps: list[Transition] = []
        self.over = False

    async def watch(self, connection: Connection, run: RunId) -> None:
        try:
            async with aclosing(stream_items(connection, run, 0, lambda rests: None)) as items:
                async for item in items:
                    if isinstance(item, JournalOutage):
                        self.problems.append(item.problem)
                    elif isinstance(item, Transition):
                        self.steps.append(item)
        except RunIsOver:
            self.over = True


@asynccontextmanager
async def watching(server: Process, run: str) -> AsyncIterator[Watcher]:
    watcher, connection = Watcher(), Connection(server.url)
    task = asyncio.create_task(watcher.watch(connection, RunId(run)))
    try:
        yield watcher
    finally:
        task.cancel()
        await asyncio.wait((task,))
        await connection.close()


async def test_a_run_says_why_it_waits_for_a_worker(
    fleet: Fleet, server: Process, web: httpx.AsyncClient
) -> None:
    run = await launch(web, calls=str(fleet.calls), steps=3)
    async with watching(server, run) as watcher:
        await until(
            lambda: any('It waits for a worker: ' in problem for problem in watcher.problems), 'it says why'
        )
        await fleet.worker()
        await until(lambda: watcher.over, 'it ends')
    assert watcher.problems[-1] == '', watcher.problems


async def test_a_run_reports_an_unreachable_worker_and_continues(
    fleet: Fleet, server: Process, web: httpx.AsyncClient
) -> None:
    first = await fleet.worker()
    run = await launch(web, calls=str(fleet.calls), steps=40)
    async with watching(server, run) as watcher:
        await until(lambda: len(watcher.steps) > 5, 'it takes steps')
        first.kill()
        await until(lambda: any('cannot be reached' in problem for problem in watcher.problems), 'it says so')
        await fleet.worker()
        await until(lambda: watcher.over, 'it ends')
    assert watcher.problems[-1] == '', watcher.problems
    assert [step.seq for step in watcher.steps] == list(range(1, len(watcher.steps) + 1))
