"""Migrations of an SQLite file: all or nothing, after a copy; a file of an unreleased version is refused."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import JournalDamaged, JournalUnavailable
from engine.records import Event, RunId, RunInfo, Shape, StatePath, Status, Transition
from storage import (
    Settings,
    copy_database,
    incomplete_runs,
    inspect_database,
    open_journal,
    write_backup,
)
from storage.inspection import SCHEMA_VERSION
from storage.postgres import migrations as postgres
from storage.sqlite import file as sqlite_file
from storage.sqlite import migrations
from storage.sqlite.file import prepare
from storage.sqlite.migrations import UNRELEASED_APPLICATION, backup_path
from tests.support.journals.limited_space import limit_file_size

RUN = RunInfo(id=RunId('r'), pattern='p', title='A title', created=1.0, tags=('weekly',))
CHART = Shape(pattern='p', title='P', initial=StatePath('a'), states=(), edges=())
SECOND = 'CREATE TABLE mood (word VARCHAR NOT NULL); INSERT INTO mood SELECT title FROM run'
"""A made-up second version."""


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A database of version 1 with a run of 3 steps."""
    journal = await open_journal(tmp_path / 'runs.db')
    await journal.create(RUN, CHART)
    info = await journal.claim(RUN.id, 'me')
    steps = [
        Transition(run=RUN.id, seq=seq, time=1.0, event=Event(name='done', data={'text': f'{seq}' * 9000}))
        for seq in (1, 2, 3)
    ]
    await journal.append(replace(info, status=Status.DONE), steps)
    await journal.close()
    return tmp_path / 'runs.db'


@pytest.fixture
def upgraded(file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add migrations to the program; by default one to the made-up second version."""

    def upgrade(*scripts: str) -> None:
        monkeypatch.setattr(migrations, 'MIGRATIONS', (migrations.SCHEMA, *(scripts or (SECOND,))))
        monkeypatch.setattr(sqlite_file, 'MIGRATIONS', migrations.MIGRATIONS)

    return upgrade


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('PRAGMA integrity_check').fetchone() == ('ok',)
        return int(connection.execute('PRAGMA user_version').fetchone()[0])


async def test_version_1_becomes_version_2_with_its_data(file: Path, upgraded: Callable[..., None]) -> None:
    upgraded()
    journal = await open_journal(file)
    info = await journal.info(RUN.id)
    assert (info.title, info.tags, info.seq, info.status) == ('A title', ('weekly',), 3, Status.DONE)
    assert len(await journal.transitions(RUN.id)) == 3
    await journal.close()
    assert version(file) == 2
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute('SELECT word FROM mood').fetchall() == [('A title',)]


async def test_the_old_database_is_copied_once(file: Path, upgraded: Callable[..., None]) -> None:
    upgraded()
    await (await open_journal(file)).close()
    backup = backup_path(str(file), 1)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert version(backup) == 1
    with closing(sqlite3.connect(backup)) as old:
        assert old.execute('SELECT count(*) FROM "transition"').fetchone() == (3,)
    backup.unlink()
    await (await open_journal(file)).close()
    await (await open_journal(file.with_name('new.db'))).close()
    assert version(file.with_name('new.db')) == 2
    assert not list(file.parent.glob('*.version-*')), 'neither a migrated nor a new database is copied'


async def test_without_a_copy_there_is_no_migration(file: Path, upgraded: Callable[..., None]) -> None:
    upgraded()
    backup_path(str(file), 1).mkdir()
    with pytest.raises(JournalUnavailable, match='cannot be written: Is a directory'):
        await open_journal(file)
    assert version(file) == 1
    assert not list(file.parent.glob('*.part'))


async def test_a_full_disk_leaves_the_old_database_alone(file: Path, upgraded: Callable[..., None]) -> None:
    upgraded()
    with limit_file_size(file.stat().st_size // 2), pytest.raises(JournalUnavailable, match='is full'):
        await open_journal(file)
    assert version(file) == 1
    assert not list(file.parent.glob('*.version-*'))
    await (await open_journal(file)).close()
    assert version(file) == 2


async def test_a_migration_that_fails_changes_nothing(file: Path, upgraded: Callable[..., None]) -> None:
    upgraded(SECOND, 'DROP TABLE tag; INSERT INTO nowhere VALUES (1)')
    with pytest.raises(JournalDamaged, match='nowhere'):
        await open_journal(file)
    assert version(file) == 1
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute('SELECT label FROM tag').fetchall() == [('weekly',)]
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'mood'").fetchall()


async def test_a_read_only_folder_prevents_a_migration(
    file: Path, upgraded: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, 'is_read_only', Path.exists)
    await (await open_journal(file)).close()
    upgraded()
    with pytest.raises(
        JournalUnavailable, match='older version and cannot be migrated in a read-only folder'
    ):
        await open_journal(file)
    assert version(file) == 1


def test_a_copy_writes_no_journal_file_that_could_be_left_behind(tmp_path: Path) -> None:
    class Full(sqlite3.Connection):
        def backup(self, target: sqlite3.Connection, **options: Any) -> None:
            target.executescript('BEGIN; CREATE TABLE half (done)')
            assert [path.name for path in tmp_path.iterdir()] == ['copy']

    with closing(Full(':memory:')) as source:
        migrations.copy_database(source, tmp_path / 'copy')


def test_both_kinds_of_database_are_at_the_same_version() -> None:
    assert len(migrations.MIGRATIONS) == len(postgres.MIGRATIONS) == SCHEMA_VERSION


# Unreleased versions


@pytest.fixture(params=[1, 11])
def unreleased(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database of an unreleased version, with changes in the log of a process that was killed."""
    path, folder = tmp_path / 'live.db', tmp_path / 'unreleased'
    folder.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute('PRAGMA journal_mode = WAL')
        connection.execute('CREATE TABLE run (number INTEGER PRIMARY KEY)')
        connection.execute(f'PRAGMA application_id = {UNRELEASED_APPLICATION}')
        connection.execute(f'PRAGMA user_version = {request.param}')
        connection.execute('PRAGMA wal_checkpoint')
        connection.execute('INSERT INTO run VALUES (1)')
        for suffix in ('', '-wal'):
            (folder / f'runs.db{suffix}').write_bytes(Path(f'{path}{suffix}').read_bytes())
    return folder / 'runs.db'


USES: dict[str, Callable[[Path], object]] = {
    'open': lambda path: prepare(Settings(database=path)),
    'inspect': inspect_database,
    'lacking': incomplete_runs,
    'backup': lambda path: write_backup(Settings(database=path), path, path.parent.with_name('a.tar.gz')),
    'copy from': lambda path: _copy(path, path.parent.with_name('new.db')),
    'copy to': lambda path: _copy(path.parent.with_name('new.db'), path),
}


def _copy(source: Path, target: Path) -> None:
    copy_database(Settings(database=source), Settings(database=target), lambda done, total: None)


@pytest.mark.parametrize('is_read_only', [False, True], ids=['writable', 'read-only'])
def test_a_database_of_an_unreleased_version_is_left_untouched(
    unreleased: Path, is_read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(Settings(database=unreleased.parent.with_name('new.db')))
    if is_read_only:
        monkeypatch.setattr(sqlite_file, 'is_read_only', Path.exists)
    before = {path.name: path.read_bytes() for path in unreleased.parent.iterdir()}
    for name, use in USES.items():
        with pytest.raises(JournalDamaged) as caught:
            use(unreleased)
        sentence = f'{unreleased} is from an unreleased version of Hemicycle and cannot be read'
        assert str(caught.value) == f'{sentence}; name another file', name
        assert {path.name: path.read_bytes() for path in unreleased.parent.iterdir()} == before, name
