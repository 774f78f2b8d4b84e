"""One fleet for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from engine.journal import Journal
from storage import open_journal
from tests.crash.fleet.processes import Fleet, Process


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """PostgreSQL, or SQLite where a module sets `SQLITE`: on one machine, a fleet may share a file."""
    if getattr(request.module, 'SQLITE', False):
        return str(tmp_path / 'runs.db')
    return str(request.getfixturevalue('postgres_url'))


@pytest.fixture
async def fleet(tmp_path: Path, database: str) -> AsyncIterator[Fleet]:
    fleet = Fleet(tmp_path, database)
    try:
        await fleet.temporal()
        yield fleet
    finally:
        fleet.close()


@pytest.fixture
async def server(fleet: Fleet) -> Process:
    return await fleet.web()


@pytest.fixture
async def web(server: Process) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f'{server.url}/api/v1/', timeout=30) as client:
        yield client


@pytest.fixture
async def reader(fleet: Fleet) -> AsyncIterator[Journal]:
    journal = await open_journal(fleet.database)
    yield journal
    await journal.close()
