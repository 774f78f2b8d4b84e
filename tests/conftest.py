"""Shared by all tests: asyncio only, scripted models that answer immediately, and each kind of journal."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from nicegui.testing import User

    from engine.journal.protocol import Journal
    from tests.support.journals.postgres import PostgresServer
    from tests.support.servers.s3 import S3Server

os.environ.setdefault('HEMICYCLE_PACE', '0')
OWN_HOME = tempfile.TemporaryDirectory(prefix='hemicycle-tests-')  # never that of who runs the tests
os.environ['HEMICYCLE_HOME'] = OWN_HOME.name
os.environ['PYTHON_KEYRING_BACKEND'] = 'keyring.backends.fail.Keyring'  # nor their keyring
gc.disable()  # until all is collected: what is imported stays
# The duration of an example depends on the machine's load.
hypothesis.settings.register_profile('hemicycle', deadline=None, max_examples=50)
hypothesis.settings.load_profile('hemicycle')


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    return 'asyncio'


@pytest.fixture(scope='session', autouse=True)
def plain_pytest() -> None:
    """Keep our test plugins out of tests that agents run: 0.3 s of processor time instead of 1.7.

    Set no earlier than this, since xdist's workers inherit the environment and do need the plugins.
    """
    os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'


@pytest.fixture(scope='session', autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Hash passwords as cheaply as Argon2id can: normally each takes a tenth of a second."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr('ui.app.access.passwords.PROFILE', 'CHEAPEST')
        yield


@pytest.fixture(scope='session')
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; a test may leave databases, but must leave it running."""
    from tests.support.journals.postgres import postgres_server

    with postgres_server() as server:
        if server is None:
            pytest.skip('PostgreSQL is not installed (apt install postgresql)')
        yield server


@pytest.fixture(scope='session')
def postgres_database(postgres: PostgresServer) -> str:
    """The database shared by tests that need an empty one."""
    return postgres.create()


@pytest.fixture
def postgres_url(postgres_database: str) -> Iterator[str]:
    """A database for one test: it may have tables, but no rows."""
    from tests.support.journals.postgres import empty

    yield postgres_database
    empty(postgres_database)


@pytest.fixture(params=['memory', 'sqlite', pytest.param('postgres', marks=pytest.mark.slow)])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    from engine.journal.memory_journal import MemoryJournal
    from storage import open_journal

    journal: Journal
    if request.param == 'memory':
        journal = MemoryJournal()
    elif request.param == 'sqlite':
        journal = await open_journal(tmp_path / 'runs.db')
    else:
        journal = await open_journal(request.getfixturevalue('postgres_url'))
    yield journal
    await journal.close()


@pytest.fixture
def swept(tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed afterwards even if it is nested too deeply for pytest."""
    yield tmp_path
    subprocess.run(['rm', '-rf', str(tmp_path)], check=True)


@pytest.fixture
def kept_modules() -> Iterator[None]:
    """Keep our modules loaded: NiceGUI drops those with pages, and each test would import them again.

    NiceGUI also collects garbage twice per test; after `gc.freeze` that covers only the test's own objects.
    """
    ours = {name: module for name, module in sys.modules.items() if name.partition('.')[0] == 'ui'}
    gc.freeze()
    yield
    sys.modules.update(ours)


@pytest.fixture
def user(kept_modules: None, user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    """NiceGUI's simulated user, with pages as quick as the server's; our modules are restored afterwards."""
    from nicegui import helpers

    from ui.server.tuning import memoize_signature
    from ui.web.components.theme import fill_topbar

    monkeypatch.setattr(helpers, 'expects_arguments', memoize_signature(helpers.expects_arguments))
    fill_topbar(None)  # A test that built the whole app left its own, whose timer needs that app's conductor.
    return user


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker('long')])
        items[:] = [item for item in items if not item.get_closest_marker('long')]


def pytest_collection_finish() -> None:
    """Exclude everything imported so far from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope='module', autouse=True)
def freeze_leftovers() -> None:
    """Exclude objects left by earlier files as well: after 2,000 tests a full collection took seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope='session')
def s3_servers() -> Iterator[S3Server]:
    """A server that speaks S3; a test may leave buckets, but must leave it running."""
    from tests.support.servers.s3 import S3Server

    server = S3Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3(s3_servers: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """That server, configured in the environment of this process and its children."""
    for name, value in s3_servers.environment().items():
        monkeypatch.setenv(name, value)
    return s3_servers
