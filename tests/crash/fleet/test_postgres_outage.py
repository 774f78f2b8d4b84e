"""Workers on PostgreSQL: their database is down for a while, and their connections are cut."""

from __future__ import annotations

import asyncio
import re
import time

import httpx
import psycopg
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, check_calls, check_journal, until
from tests.support.journals.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.mark.parametrize('seconds', [1.5, 10.0])
async def test_runs_wait_while_the_database_is_unavailable(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal, postgres: PostgresServer, seconds: float
) -> None:
    workers = [await fleet.worker(), await fleet.worker()]
    runs = await fleet.launch(web, 6, steps=80)
    await fleet.wait_driven(len(runs))
    async with await psycopg.AsyncConnection.connect(fleet.database, autocommit=True) as connection:
        before = len(fleet.lines())
        await connection.execute(
            'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
            ' WHERE datname = current_database() AND pid <> pg_backend_pid()'
        )
        await until(lambda: len(fleet.lines()) > before, 'runs continue')
    postgres.stop()
    try:
        await asyncio.sleep(seconds)  # The outage lasts at least this long.
    finally:
        postgres.start()
    restored_at = time.monotonic()
    await fleet.wait_for_end(runs, reader)
    print('ended', round(time.monotonic() - restored_at, 2), 's after the database was back')
    await check_journal(fleet.database, runs)
    await check_calls(fleet, reader, runs, 80)
    assert {(await reader.info(RunId(run))).status for run in runs} == {Status.DONE}
    assert all(worker.ended is None for worker in workers)


async def test_a_worker_started_during_an_outage_waits_and_logs_in_one_format(
    fleet: Fleet, reader: Journal, postgres: PostgresServer
) -> None:
    postgres.stop()
    try:
        worker = fleet.start_worker()
        await until(lambda: 'the worker waits' in worker.log.read_text(), 'the worker waits', worker)
    finally:
        postgres.start()
    await until(lambda: ' takes runs of ' in worker.log.read_text(), 'the worker takes runs', worker)
    fleet.processes[0].kill()  # Temporal
    await until(lambda: ' temporal: ' in worker.log.read_text(), 'its library complains', worker)
    lines = worker.log.read_text().splitlines()[1:]
    assert [
        line for line in lines if not re.match(r'[\d:]{8} (INFO|WARNING|ERROR) +(hemicycle|temporal): ', line)
    ] == []
