"""Shared by every tier: asyncio only, scripted models that answer at once, and each kind of journal."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from nicegui.testing import User

    from engine.journal.protocol import Journal
    from tests.support.journals.postgres import PostgresServer
    from tests.support.servers.s3 import S3Server

os.environ.setdefault('HEMICYCLE_PACE', '0')


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    return 'asyncio'


@pytest.fixture(scope='session', autouse=True)
def plain_pytest() -> None:
    """Tests that agents run load none of the plugins that we are tested with: 0.3 s of a processor, not 1.7.

    Not earlier: the workers of xdist inherit what is set, and do need them.
    """
    os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'


@pytest.fixture(scope='session', autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Passwords are hashed as cheaply as Argon2id can: else each takes a tenth of a second."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr('ui.access.passwords.PROFILE', 'CHEAPEST')
        yield


@pytest.fixture(scope='session')
def postgres() -> Iterator[PostgresServer]:
    """A server of PostgreSQL; a test may leave databases, but has to leave it running."""
    from tests.support.journals.postgres import postgres_server

    with postgres_server() as server:
        if server is None:
            pytest.skip('PostgreSQL is not installed (apt install postgresql)')
        yield server


@pytest.fixture(scope='session')
def postgres_database(postgres: PostgresServer) -> str:
    """The database of all tests that only need an empty one."""
    return postgres.create()


@pytest.fixture
def postgres_url(postgres_database: str) -> Iterator[str]:
    """A database for one test, which may have the tables, but no rows."""
    from tests.support.journals.postgres import empty

    yield postgres_database
    empty(postgres_database)


@pytest.fixture(params=['memory', 'sqlite', 'postgres'])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    from engine.journal.memory_journal import MemoryJournal
    from storage import open_journal

    made: Journal
    if request.param == 'memory':
        made = MemoryJournal()
    elif request.param == 'sqlite':
        made = await open_journal(tmp_path / 'runs.db')
    else:
        made = await open_journal(request.getfixturevalue('postgres_url'))
    yield made
    await made.close()


@pytest.fixture
def swept(tmp_path: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, whatever a failed test has left: pytest cannot remove a deep one."""
    yield tmp_path
    subprocess.run(['rm', '-rf', str(tmp_path)], check=True)


@pytest.fixture
def kept_modules() -> Iterator[None]:
    """Keep our modules: NiceGUI forgets those that hold pages, and each test would import them anew.

    It also collects garbage twice for each test: that then looks at what the test makes, not at all there is.
    """
    ours = {name: module for name, module in sys.modules.items() if name.partition('.')[0] == 'ui'}
    gc.freeze()
    yield
    sys.modules.update(ours)


@pytest.fixture
def user(kept_modules: None, user: User) -> User:
    """NiceGUI's own user of pages; our modules are as before when it has gone."""
    return user


COVERING = ('tests/unit/engine/agents/', 'tests/unit/engine/patterns/')
"""Where coverage is measured: these cover what they are for, and the others would take half as long again."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker('long')])
        items[:] = [item for item in items if not item.get_closest_marker('long')]
    for item in items:
        if not item.nodeid.startswith(COVERING):
            item.add_marker('no_cover')


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: all that was imported and collected."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope='module', autouse=True)
def spared() -> None:
    """Spare it also what earlier files have left: after 2,000 tests a whole collection took seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope='session')
def s3_servers() -> Iterator[S3Server]:
    """A server that speaks S3; a test may leave buckets, but has to leave it running."""
    from tests.support.servers.s3 import S3Server

    server = S3Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3(s3_servers: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The same, where this process and those that it starts find it."""
    for name, value in s3_servers.environment().items():
        monkeypatch.setenv(name, value)
    return s3_servers
