"""Servers that share a PostgreSQL database, without Temporal: killed, cut off, and without their database."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from storage import open_journal
from tests.crash.fleet.processes import Fleet, Process, check_journal, until
from tests.support.journals.postgres import PostgresServer

pytestmark = pytest.mark.slow
NUMBER = 4
"""Runs of each server."""


@dataclass(slots=True)
class Servers(Fleet):
    """Servers that execute the runs themselves."""

    def _placement_options(self) -> list[str]:
        return []


@pytest.fixture
async def servers(tmp_path: Path, postgres_url: str) -> AsyncIterator[Servers]:
    servers = Servers(tmp_path, postgres_url)
    try:
        yield servers
    finally:
        servers.close()


@pytest.fixture
async def reader(servers: Servers) -> AsyncIterator[Journal]:
    journal = await open_journal(servers.database)
    yield journal
    await journal.close()


@pytest.fixture
async def two(servers: Servers) -> AsyncIterator[list[tuple[Process, httpx.AsyncClient]]]:
    """Two servers, and an HTTP client for each."""
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(2):
            process = await servers.web()
            client = httpx.AsyncClient(base_url=f'{process.url}/api/v1/', timeout=30)
            clients.append((process, await stack.enter_async_context(client)))
        yield clients


async def check_all_ended(servers: Servers, reader: Journal, runs: list[str]) -> None:
    await servers.wait_for_end(runs, reader)
    await check_journal(servers.database, runs)
    assert {(await reader.info(RunId(run))).status for run in runs} == {Status.DONE}


async def test_a_server_adopts_the_runs_of_one_that_was_killed(
    servers: Servers, two: list[tuple[Process, httpx.AsyncClient]], reader: Journal
) -> None:
    (first, target), (second, other) = two
    orphans, own = (
        await servers.launch(target, NUMBER, steps=60),
        await servers.launch(other, NUMBER, steps=30),
    )
    await servers.wait_driven(2 * NUMBER)
    assert {call.pid for call in servers.lines() if call.run in own} == {second.pid}
    first.kill()
    died = time.time()
    await check_all_ended(servers, reader, orphans + own)
    durations = {
        run: min(call.at for call in servers.lines() if call.run == run and call.pid == second.pid) - died
        for run in orphans
    }
    print('adopted after', sorted(round(seconds, 2) for seconds in durations.values()))
    assert max(durations.values()) < 15
    assert set(servers.count_repeats()) <= set(orphans)
    assert all(times <= 1 for times in servers.count_repeats().values()), servers.count_repeats()


@pytest.mark.long
async def test_servers_that_start_together_share_the_unfinished_runs(
    servers: Servers, two: list[tuple[Process, httpx.AsyncClient]], reader: Journal
) -> None:
    (first, target), (second, _) = two
    runs = await servers.launch(target, 2 * NUMBER, steps=60)
    await servers.wait_driven(2 * NUMBER)
    for process in (first, second):
        process.kill()
    await asyncio.gather(servers.web(), servers.web())
    await check_all_ended(servers, reader, runs)
    assert all(times <= 1 for times in servers.count_repeats().values()), servers.count_repeats()
    drivers = Counter(run for run, _ in {(call.run, call.pid) for call in servers.lines()})
    assert max(drivers.values()) <= 2, 'both claimed a run'


@pytest.mark.long
@pytest.mark.parametrize('seconds', [1.5, 10.0])
async def test_runs_wait_while_the_database_is_unavailable(
    servers: Servers,
    two: list[tuple[Process, httpx.AsyncClient]],
    reader: Journal,
    postgres: PostgresServer,
    seconds: float,
) -> None:
    (first, target), (second, other) = two
    runs = await servers.launch(target, NUMBER, steps=60) + await servers.launch(other, NUMBER, steps=60)
    await servers.wait_driven(2 * NUMBER)
    postgres.stop()
    try:
        await asyncio.sleep(seconds)  # The outage lasts at least this long.
    finally:
        postgres.start()
    restored_at = time.monotonic()
    await check_all_ended(servers, reader, runs)
    print('ended', round(time.monotonic() - restored_at, 2), 's after the database was back')
    assert servers.count_repeats() == {}
    assert first.ended is None and second.ended is None


@pytest.mark.long
async def test_runs_survive_cut_connections(
    servers: Servers, two: list[tuple[Process, httpx.AsyncClient]], reader: Journal
) -> None:
    (_, target), (_, other) = two
    runs = await servers.launch(target, NUMBER, steps=60) + await servers.launch(other, NUMBER, steps=60)
    await servers.wait_driven(2 * NUMBER)
    async with await psycopg.AsyncConnection.connect(servers.database, autocommit=True) as connection:
        for _ in range(5):
            before = len(servers.lines())
            await connection.execute(
                'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
                ' WHERE datname = current_database() AND pid <> pg_backend_pid()'
            )
            await until(lambda: len(servers.lines()) > before, 'runs continue')  # noqa: B023
    await check_all_ended(servers, reader, runs)
    assert servers.count_repeats() == {}
