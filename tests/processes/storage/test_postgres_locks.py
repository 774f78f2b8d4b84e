"""Locks on PostgreSQL: which owners are alive, however they die, and lost sessions."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest

from engine.errors import JournalUnavailable
from storage import Settings, open_journal
from storage.postgres import locks
from storage.postgres.locks import PostgresLocks
from tests.processes.storage.test_storage_locks import holding
from tests.support.cli import until
from tests.support.journals.postgres import PostgresServer


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, 'POLL_SECONDS', 0.05)
    monkeypatch.setattr(locks, 'DEAD_AFTER', 0.5)


@pytest.fixture
def database(postgres_url: str) -> str:
    async def prepare() -> None:
        await (await open_journal(postgres_url)).close()

    asyncio.run(prepare())
    return postgres_url


@contextmanager
def locks_of(database: str) -> Iterator[PostgresLocks]:
    postgres_locks = PostgresLocks(Settings(database=database))
    try:
        yield postgres_locks
    finally:
        postgres_locks.release()


def process(database: str, owner: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A process that owns this name until it is killed."""
    code = (
        'import sys\nfrom storage import Settings\nfrom storage.postgres.locks import PostgresLocks\n'
        'held = PostgresLocks(Settings(database=sys.argv[1]))\nheld.serve("http://here")\nheld.acquire(sys.argv[2])'
    )
    return holding(code, database, owner)


def cut(database: str) -> None:
    """Terminate all other sessions, as an operator may."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
            ' WHERE datname = current_database() AND pid <> pg_backend_pid()'
        )


def test_without_tables_no_owner_is_alive(postgres: PostgresServer) -> None:
    with locks_of(postgres.create()) as observer:
        assert observer.servers() == observer.live_owners() == observer.dead_owners() == []


def test_an_owner_is_alive_until_its_process_is_killed(database: str) -> None:
    with locks_of(database) as observer, locks_of(database) as other:
        observer.acquire('asker')
        assert observer.is_alive('asker')
        with process(database, 'worker ☂') as child:
            until(lambda: observer.is_alive('worker ☂'), 'it is seen')
            assert sorted(other.live_owners()) == ['asker', 'worker ☂']
            assert other.servers() == ['http://here']
            with pytest.raises(JournalUnavailable, match='worker'):
                other.acquire('worker ☂')
            assert observer.dead_owners() == []
            child.send_signal(signal.SIGKILL)
            child.wait()
            until(lambda: observer.dead_owners() == ['worker ☂'], 'its death is seen')
        assert not observer.is_alive('worker ☂')
        assert not observer.is_alive('nobody')
        assert other.servers() == []


def test_an_owner_that_releases_its_lock_is_not_dead(database: str) -> None:
    with locks_of(database) as observer:
        observer.acquire('asker')
        with locks_of(database) as other:
            other.acquire('leaver')
            until(lambda: observer.is_alive('leaver'), 'it is seen')
        until(lambda: not observer.is_alive('leaver'), 'it has left')
        assert observer.dead_owners() == []


def test_a_server_elsewhere_is_not_offered(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with locks_of(database) as own_locks, locks_of(database) as observer:
        own_locks.acquire('here')
        own_locks.serve('http://127.0.0.1:8080')
        assert observer.servers() == ['http://127.0.0.1:8080']
        monkeypatch.setattr(socket, 'gethostname', lambda: 'another')
        with locks_of(database) as elsewhere:
            assert elsewhere.servers() == []


def test_a_lost_lock_is_acquired_again(database: str) -> None:
    with locks_of(database) as one, locks_of(database) as two:
        one.acquire('one')
        two.acquire('two')
        cut(database)
        assert one.is_alive('one')
        until(lambda: one.is_alive('two') and two.is_alive('one'), 'both are back')
        until(
            lambda: sorted(one.live_owners()) == sorted(two.live_owners()) == ['one', 'two'],
            'both hold their locks',
        )
        assert one.dead_owners() == two.dead_owners() == []


def test_no_owner_is_dead_during_an_outage_and_shortly_after(
    database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, 'DEAD_AFTER', 60.0)  # However slowly the server starts again.
    with locks_of(database) as observer, process(database, 'other') as other:
        observer.acquire('asker')
        until(lambda: observer.is_alive('other'), 'it is seen')
        postgres.stop()
        try:
            other.kill()
            until(lambda: observer._seen is None, 'the server is missed')
            assert observer.dead_owners() == []
            assert observer.is_alive('other') and observer.is_alive('whoever')
            assert observer.live_owners() == observer.servers() == []
        finally:
            postgres.start()
        with locks_of(database) as fresh:
            assert fresh.is_alive('other')  # It may need another moment.
        monkeypatch.setattr(locks, 'DEAD_AFTER', 0.5)
        until(lambda: observer.dead_owners() == ['other'], 'its death is seen')


def test_one_server_adopts_at_a_time(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, 'MAX_WAIT', 0.3)
    with locks_of(database) as one, locks_of(database) as two:
        one.acquire('one')
        two.acquire('two')
        one.begin_adoption()
        with psycopg.connect(database) as looking:
            query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            before = looking.execute(query).fetchone()
            two.begin_adoption()  # It gives up waiting after `MAX_WAIT`.
            assert looking.execute(query).fetchone() == before
            one.end_adoption()
            two.begin_adoption()
            assert looking.execute(query).fetchone() == before
            two.end_adoption()
            assert looking.execute(query).fetchone() != before


def test_dead_owners_are_forgotten_after_a_while(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with locks_of(database) as observer, process(database, 'worker') as child:
        observer.acquire('asker')
        child.kill()
        until(lambda: observer.dead_owners() == ['worker'], 'its death is seen')
        observer.forget('worker')
        with locks_of(database) as other:
            assert other.dead_owners() == ['worker']
            monkeypatch.setattr(locks, 'FORGET_AFTER', 0.0)
            observer.forget('worker')
        with locks_of(database) as other:
            assert other.dead_owners() == []
