"""Copies of whole databases: from SQLite to PostgreSQL and back without loss, all or nothing."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from engine import LocalConductor
from engine.errors import JournalDamaged, JournalUnavailable
from engine.journal.documents import Entry, EntryQuery, Reservation
from engine.records import Note, RunQuery
from storage import Settings, open_journal
from storage.bulk.database_copy import TABLES, copy_database
from storage.postgres.connections import ADAPTERS

pytestmark = pytest.mark.slow

ODD = 'ab\x1ac ☂ \U0001f600'


async def fill(database: str | Path) -> None:
    """Write into every table."""
    journal = await open_journal(database)
    async with LocalConductor(journal) as conductor:
        first = await conductor.start(
            'pipeline', task='Compare tea and coffee', title=ODD, tags=['hot', 'old']
        )
        await first.result()
        fork = await conductor.fork(first.id, at=5)
        await conductor.result(fork)
        deleted = await conductor.start('pipeline', task='Compare ink and lead')
        await deleted.result()
        await conductor.delete(deleted.id)
        await journal.write_note(Note(run=first.id, id=0, seq=3, text=f'Kept {ODD}', created=1.5))
        await journal.annotate(fork, starred=True, note='A turning point')
        await conductor.traffic(RunQuery())
        await journal.documents.reserve(Reservation(key='once', digest='d', run=first.id, created=2.5))
        await journal.documents.write(
            [
                Entry(
                    kind='account', key='ada', body={'name': ODD}, state='admin', rank=0.1 + 0.2, about='x'
                ),
                Entry(kind='log', key='1', body={'action': 'start'}, rank=1e300),
                Entry(kind='process', key='a-process', body={}),
            ]
        )


def content(database: str | Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, in order, as read by the database's own driver."""
    opened: Any = (
        psycopg.connect(database, context=ADAPTERS) if '://' in str(database) else sqlite3.connect(database)
    )
    tables = {}
    with closing(opened) as connection:
        for table in TABLES:
            names = ', '.join(column.name for column in table.c)
            keys = ', '.join(column.name for column in table.primary_key)
            condition = "WHERE kind <> 'process'" if table.name == 'entry' else ''
            rows = connection.execute(
                f'SELECT {names} FROM "{table.name}" {condition} ORDER BY {keys}'
            ).fetchall()
            tables[table.name] = [tuple(row) for row in rows]
    return tables


def copy(
    source: str | Path, target: str | Path, report: Callable[[int, int], None] = lambda *_: None
) -> None:
    copy_database(Settings(database=source), Settings(database=target), report)


@pytest.fixture(scope='module')
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asyncio.run(fill(path := tmp_path_factory.mktemp('filled') / 'runs.db'))
    return path


@pytest.fixture
def source(filled: Path, tmp_path: Path) -> Path:
    """A database with rows in every table, which the test may change."""
    return shutil.copyfile(filled, tmp_path / 'source.db')


def test_everything_survives_a_copy_to_postgresql_and_back(
    source: Path, postgres_url: str, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(source)) as connection:
        connection.execute('INSERT INTO snapshot SELECT run, seq, body FROM "transition" WHERE seq = 3')
        connection.commit()
    progress: list[tuple[int, int]] = []
    copy(source, postgres_url, lambda done, total: progress.append((done, total)))
    copy(postgres_url, copied_back := tmp_path / 'back.db')
    before = content(source)
    assert all(before.values()), 'a table is empty, so the test does not cover it'
    assert content(postgres_url) == before
    assert content(copied_back) == before
    assert progress[-1][0] == progress[-1][1] > 0
    assert progress == sorted(progress)


@pytest.mark.parametrize('kind', ['sqlite', 'postgres'])
async def test_the_copy_is_usable(source: Path, tmp_path: Path, postgres_url: str, kind: str) -> None:
    target: str | Path = postgres_url if kind == 'postgres' else tmp_path / 'target.db'
    await asyncio.to_thread(copy, source, target)
    journal = await open_journal(target)
    async with LocalConductor(journal) as conductor:
        assert await journal.documents.find(EntryQuery(kind='process')) == []
        [info] = (await conductor.runs(RunQuery(text='turning'))).runs
        assert info.starred
        [noted] = (await conductor.runs(RunQuery(text='kept'))).runs
        await conductor.audit(noted.id)
        note = await journal.write_note(Note(run=noted.id, id=0, seq=4, text='Another', created=1.5))
        assert len(await journal.notes(noted.id)) == 2 and note.id > 1
        added = await conductor.start('pipeline', task='Compare tea and water')
        await added.result()


def test_a_nonempty_target_is_refused(source: Path, tmp_path: Path) -> None:
    target = shutil.copyfile(source, tmp_path / 'target.db')
    before = content(target)
    with pytest.raises(JournalUnavailable, match=r'is not empty \(3 runs, 2 entries\)'):
        copy(source, target)
    with pytest.raises(JournalUnavailable, match='is not empty'):
        copy(source, source)
    assert content(target) == before


def test_a_missing_source_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(JournalUnavailable, match='there is nothing to copy'):
        copy(tmp_path / 'none.db', tmp_path / 'target.db')
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('kind', ['sqlite', 'postgres'])
def test_an_interrupted_copy_leaves_nothing(
    source: Path, tmp_path: Path, postgres_url: str, kind: str
) -> None:
    target: str | Path = postgres_url if kind == 'postgres' else tmp_path / 'target.db'

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy(source, target, stop)
    assert not any(content(target).values())
    copy(source, target)
    assert content(target) == content(source)


def test_a_copy_leaves_nothing_if_the_source_changes(source: Path, tmp_path: Path) -> None:
    def change(done: int, total: int) -> None:
        if done == total:
            with closing(sqlite3.connect(source)) as connection:
                connection.execute('UPDATE run SET epoch = epoch + 1')
                connection.commit()

    with pytest.raises(JournalUnavailable, match='was changed meanwhile'):
        copy(source, target := tmp_path / 'target.db', change)
    assert not any(content(target).values())


def test_a_damaged_text_is_not_silently_repaired(source: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("UPDATE note SET text = CAST(x'ff61' AS TEXT)")
        connection.commit()
    with pytest.raises(JournalDamaged, match='UTF-8'):
        copy(source, target := tmp_path / 'target.db')
    assert not any(content(target).values())


async def test_a_database_in_use_is_refused(
    source: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('storage.bulk.database_copy.MAX_WAIT', 0.2)
    await (await open_journal(postgres_url)).close()
    with (
        closing(psycopg.connect(postgres_url, application_name='hemicycle')),
        pytest.raises(JournalUnavailable, match='in use by others'),
    ):
        copy(source, postgres_url)
