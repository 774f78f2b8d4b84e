"""Migrations of a PostgreSQL database: one at a time, all or nothing; an unreleased one is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import ProgrammingError

from engine.errors import JournalDamaged
from storage import Settings, copy_database, open_journal
from storage.postgres import migrations
from storage.postgres.inspection import incomplete_runs, inspect_postgres
from storage.postgres.migrations import check, migrate
from tests.support.journals.postgres import PostgresServer

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
TABLES = "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """The URL of an empty database."""
    return postgres.create()


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url.replace('postgresql:', 'postgresql+psycopg:'))
    yield engine
    engine.dispose()


def migrate_alone(engine: Engine) -> int:
    with engine.begin() as connection:
        migrate(connection, 'the database')
        return check(connection, 'the database')


def has_waiter(connection: Connection) -> bool:
    return bool(connection.exec_driver_sql(WAITING).scalar_one())


def test_concurrent_migrations_wait_for_each_other(engine: Engine) -> None:
    with ThreadPoolExecutor(1) as others, engine.connect() as first, engine.connect() as observer:
        migrate(first, 'the database')
        second = others.submit(migrate_alone, engine)
        while not has_waiter(observer) and not second.done():
            pass
        first.commit()
        assert second.result() == 1


def test_version_1_becomes_version_2_with_its_data_or_stays_as_it_was(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert migrate_alone(engine) == 1
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO entry VALUES ('kind', 'key', 1, '', 0, '', 'glad')")
    second = 'CREATE TABLE mood (word TEXT NOT NULL); INSERT INTO mood SELECT body FROM entry'
    monkeypatch.setattr(migrations, 'MIGRATIONS', (migrations.SCHEMA, second, 'DROP TABLE nowhere'))
    with pytest.raises(ProgrammingError, match='nowhere'):
        migrate_alone(engine)
    monkeypatch.setattr(migrations, 'MIGRATIONS', (migrations.SCHEMA,))
    with engine.begin() as connection:
        assert check(connection, 'the database') == 1
        assert 'mood' not in str(connection.exec_driver_sql(TABLES).scalar_one())
    monkeypatch.setattr(migrations, 'MIGRATIONS', (migrations.SCHEMA, second))
    assert migrate_alone(engine) == 2
    with engine.begin() as connection:
        assert connection.exec_driver_sql('SELECT word FROM mood').scalars().all() == ['glad']
    monkeypatch.setattr(migrations, 'MIGRATIONS', (migrations.SCHEMA,))
    with pytest.raises(JournalDamaged, match='written by a newer version: its format is 2'):
        migrate_alone(engine)


async def test_a_database_of_an_unreleased_version_is_left_untouched(engine: Engine, url: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE hemicycle (version BIGINT NOT NULL)')
        connection.exec_driver_sql('CREATE TABLE run (number BIGINT)')
        connection.exec_driver_sql('INSERT INTO hemicycle VALUES (11)')
    settings = Settings(database=url)
    uses: list[Callable[[], object]] = [
        lambda: inspect_postgres(settings),
        lambda: incomplete_runs(settings),
        lambda: copy_database(settings, settings, lambda done, total: None),
    ]
    sentence = (
        f'{settings.name} is from an unreleased version of Hemicycle and cannot be read; name another one'
    )
    for use in uses:
        with pytest.raises(JournalDamaged) as caught:
            use()
        assert str(caught.value) == sentence
    with pytest.raises(JournalDamaged) as caught:
        await open_journal(settings)
    assert str(caught.value) == sentence
    with engine.begin() as connection:
        assert connection.exec_driver_sql(TABLES).scalar_one() == 'hemicycle run'
        assert connection.exec_driver_sql('SELECT * FROM hemicycle').all() == [(11,)]
