"""Processes that open an empty PostgreSQL database together: one creates the tables, the others wait."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, create_engine

from storage.postgres.migrations import PRESENT, check, migrate
from tests.support.journals.postgres import PostgresServer

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
def engine(postgres: PostgresServer) -> Iterator[Engine]:
    """An engine for an empty database."""
    engine = create_engine(postgres.create().replace('postgresql:', 'postgresql+psycopg:'))
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
        assert second.result() == PRESENT
