"""The database file: opening, rejecting, migrating, and mapping its errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from sqlalchemy.dialects import sqlite
from sqlmodel import SQLModel

from engine.errors import InvalidInput, JournalDamaged, JournalUnavailable
from engine.journal.protocol import Journal
from engine.records import (
    Event,
    RunId,
    RunInfo,
    Shape,
    StatePath,
    Status,
    Transition,
)
from storage import Settings, open_journal
from storage.sql.queries import FAMILY
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.file import connect, limit_size, prepare
from storage.sqlite.migrations import MIGRATIONS

CHART = Shape(pattern='p', title='P', initial=StatePath('a'), states=(), edges=())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'runs.db'


def step(seq: int, text: str = '') -> Transition:
    return Transition(run=RunId('r'), seq=seq, time=1.0, event=Event(name='done', data={'text': text}))


async def claim_run(journal: Journal) -> RunInfo:
    await journal.create(RunInfo(id=RunId('r'), pattern='p', title='A title', created=1.0), CHART)
    return await journal.claim(RunId('r'), 'me')


async def test_only_the_user_can_access_database_files(tmp_path: Path) -> None:
    home = tmp_path / 'home'
    journal = await open_journal(home / 'runs.db')
    await claim_run(journal)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home, *home.iterdir())}
    await journal.close()
    assert modes == {'home': 0o700, 'runs.db': 0o600, 'runs.db-wal': 0o600, 'runs.db-shm': 0o600}


async def test_data_survives_reopening(file: Path) -> None:
    journal = await open_journal(file)
    info = await claim_run(journal)
    size = await journal.append(replace(info, status=Status.DONE, updated=9.0, error='e'), [step(1), step(2)])
    before = await journal.info(info.id)
    await journal.close()
    journal = await open_journal(f'sqlite:///{file}')
    assert await journal.info(info.id) == before
    assert (before.seq, before.bytes, before.status, before.updated) == (2, size, Status.DONE, 9.0)
    assert await journal.transitions(info.id) == [step(1), step(2)]
    await journal.close()


async def test_a_closed_journal_says_so(file: Path) -> None:
    journal = await open_journal(file)
    await journal.close()
    await journal.close()
    with pytest.raises(JournalUnavailable, match='closed'):
        await journal.unfinished()
    with pytest.raises(JournalUnavailable, match='closed'):
        await journal.delete(RunId('r'))
    assert sorted(path.name for path in file.parent.iterdir()) == ['runs.db']


async def test_missing_folders_are_created(tmp_path: Path) -> None:
    await (await open_journal(tmp_path / 'a' / 'b' / 'runs.db')).close()
    assert (tmp_path / 'a' / 'b' / 'runs.db').exists()


@pytest.mark.parametrize('url', ['sqlite://', 'sqlite:///:memory:', 'mysql://host/runs', 'odd stuff://'])
async def test_a_url_that_names_no_file_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match='database'):
        await open_journal(url)


@pytest.mark.parametrize(('setting', 'level'), [('normal', 1), ('full', 2)])
def test_a_connection_is_set_up(file: Path, setting: str, level: int) -> None:
    settings = Settings(database=file, synchronous=setting, busy_timeout=0.25)  # type: ignore[arg-type]
    prepare(settings)
    connection = connect(settings)
    for pragma, value in [
        ('journal_mode', 'wal'),
        ('foreign_keys', 1),
        ('busy_timeout', 250),
        ('synchronous', level),
    ]:
        assert connection.execute(f'PRAGMA {pragma}').fetchone() == (value,)
    connection.close()


def test_a_reader_cannot_write(file: Path) -> None:
    settings = Settings(database=file)
    prepare(settings)
    connection = connect(settings, reader=True)
    with pytest.raises(sqlite3.OperationalError, match='readonly'):
        connection.execute('DELETE FROM run')
    connection.close()


# Files that are not ours


def garbage(path: Path) -> None:
    path.write_bytes(b'this is a letter, not a database\n' * 400)


def only_a_header(path: Path) -> None:
    path.write_bytes(b'SQLite format 3\0' + b'\xff' * 8000)


def other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE bookmarks (url TEXT)')
    connection.close()


def newer(path: Path) -> None:
    prepare(Settings(database=path))
    with sqlite3.connect(path) as connection:
        connection.execute('PRAGMA user_version = 99')
    connection.close()


@pytest.mark.parametrize(
    ('make', 'sentence'),
    [
        (garbage, 'is not a database; name another file'),
        (only_a_header, 'is damaged'),
        (other_program, 'the database of another program; name another file'),
        (
            newer,
            f'its format is 99, this program knows formats up to {len(MIGRATIONS)}. Install the newer',
        ),
    ],
)
async def test_a_file_that_is_not_ours_is_left_untouched(
    file: Path, make: Callable[[Path], None], sentence: str
) -> None:
    make(file)
    before = file.read_bytes()
    with pytest.raises(JournalDamaged, match=sentence) as caught:
        await open_journal(file)
    assert str(file) in str(caught.value)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ['runs.db']


async def test_a_folder_cannot_be_a_database(tmp_path: Path) -> None:
    with pytest.raises(JournalUnavailable, match='directory'):
        await open_journal(tmp_path)


async def test_a_corrupt_page_is_reported(file: Path) -> None:
    journal = await open_journal(file)
    info = await claim_run(journal)
    await journal.append(info, [step(seq, Random(seq).randbytes(1500).hex()) for seq in range(1, 200)])
    await journal.close()
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 2 // 4096 * 4096, len(content), 4096):  # the steps are at its end
        content[at : at + 4096] = b'\x55' * min(4096, len(content) - at)
    file.write_bytes(content)
    journal = await open_journal(file)
    with pytest.raises(JournalDamaged, match='backup'):
        await journal.transitions(info.id)
    await journal.close()


async def test_a_corrupt_body_is_named(file: Path) -> None:
    journal = await open_journal(file)
    info = await claim_run(journal)
    await journal.append(info, [step(1, 'some words ' * 200), step(2)])
    connection = connect(Settings(database=file))
    (body,) = connection.execute('SELECT body FROM "transition" WHERE seq = 1').fetchone()
    for broken in (body[:-9], body[:40] + b'XX' + body[42:], b'', b'\0{}'):
        connection.execute('UPDATE "transition" SET body = ? WHERE seq = 1', (broken,))
        with pytest.raises(JournalDamaged, match='step 1 of run r'):
            await journal.transitions(info.id)
    assert await journal.transitions(info.id, after=1) == [step(2)]
    connection.close()
    await journal.close()


async def test_a_missing_step_is_named(file: Path) -> None:
    journal = await open_journal(file)
    info = await claim_run(journal)
    await journal.append(info, [step(seq) for seq in range(1, 10)])
    with sqlite3.connect(file) as connection:
        connection.execute('DELETE FROM "transition" WHERE seq IN (5, 9)')
    connection.close()
    for limits in ({}, {'after': 4}, {'until': 5}, {'after': 3, 'limit': 2}, {'after': 4, 'limit': 1}):
        with pytest.raises(JournalDamaged, match='step 5 of run r is missing; put a backup'):
            await journal.transitions(info.id, **limits)
    with pytest.raises(JournalDamaged, match='step 9 of run r is missing'):
        await journal.transitions(info.id, after=5)
    fork = replace(info, id=RunId('fork'), parent=info.id, parent_at=6)
    with pytest.raises(JournalDamaged, match='a step of run r is missing'):
        await journal.fork(fork, await journal.shape(info.id))
    await journal.fork(replace(fork, parent_at=4), await journal.shape(info.id))
    for limits in ({'until': 4}, {'limit': 4}, {'after': 5, 'until': 8}, {'after': 9}, {'after': 12}):
        await journal.transitions(info.id, **limits)
    await journal.close()


# Versions


def test_migrations_match_the_tables(file: Path) -> None:
    prepare(Settings(database=file))
    connection = connect(Settings(database=file))
    for table in SQLModel.metadata.tables.values():
        columns = connection.execute(f'PRAGMA table_info("{table.name}")').fetchall()
        actual = {(name, kind, bool(needed), bool(key)) for _, name, kind, needed, _, key in columns}
        expected = {
            (c.name, c.type.compile(sqlite.dialect()), not c.nullable, c.primary_key) for c in table.columns
        }
        assert actual == expected, table.name
        indexes = {row[1] for row in connection.execute(f'PRAGMA index_list("{table.name}")')}
        assert {index.name for index in table.indexes} <= indexes
    connection.close()


def test_a_family_is_found_without_reading_all_runs(file: Path) -> None:
    prepare(Settings(database=file))
    connection = connect(Settings(database=file))
    plan = [row[-1] for row in connection.execute(f'EXPLAIN QUERY PLAN {FAMILY.text}', {'run': 'one'})]
    connection.close()
    # An automatic index would be built over the whole table for each query.
    assert [line for line in plan if 'AUTOMATIC' in line or line.startswith('SCAN run')] == []
    assert any('(parent=?)' in line for line in plan)


# A full disk, a locked file


async def test_a_full_disk_loses_nothing(file: Path) -> None:
    journal = await open_journal(Settings(database=file, quota=40 * 4096))
    info = await claim_run(journal)
    written = 0
    with pytest.raises(JournalUnavailable, match='free some space or raise the quota'):
        while written < 1000:
            await journal.append(
                replace(info, seq=written + 1), [step(written + 1, chr(65 + written % 26) * 400)]
            )
            written += 1
    assert written > 0
    assert [step.seq for step in await journal.transitions(info.id)] == list(range(1, written + 1))
    assert (await journal.info(info.id)).seq == written
    assert isinstance(journal.database, SqliteDatabase)
    await journal.database._writer.do(lambda connection: limit_size(connection, None))
    await journal.append(info, [step(written + 1, 'x' * 400)])
    assert len(await journal.transitions(info.id)) == written + 1
    await journal.close()


async def test_a_locked_file_is_unavailable_until_it_is_free(file: Path) -> None:
    journal = await open_journal(Settings(database=file, busy_timeout=0.01))
    info = await claim_run(journal)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    with pytest.raises(JournalUnavailable, match='another process has locked the database'):
        await journal.append(info, [step(1)])
    assert await journal.transitions(info.id) == []  # readers do not wait for it
    other.execute('ROLLBACK')
    other.close()
    await journal.append(info, [step(1)])
    assert await journal.transitions(info.id) == [step(1)]
    await journal.close()
