"""A database created and filled by version 4 opens, and keeps its contents."""

from __future__ import annotations

import gzip
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, Conductor, Status
from engine.errors import JournalUnavailable
from engine.records import Note, RunId, RunQuery
from storage import open_journal
from storage.inspection import SCHEMA_VERSION
from storage.postgres.migrations import PRESENT
from storage.sqlite.migrations import MIGRATIONS, backup_path, copy_database
from tests.support.journals.limited_space import limit_file_size
from tests.tree import ROOT

OLD, FORK = RunId('539cf4aeceac'), RunId('ce3364f2a6ad')
"""A sample of the pipeline with 22 steps, and its fork at step 3."""
STEPS = 45
"""Total steps of both."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / 'runs.db'
    path.write_bytes(gzip.decompress((ROOT / 'tests/golden/version-4.db.gz').read_bytes()))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('PRAGMA user_version').fetchone() == (4,)
    return path


async def test_upgraded_runs_are_unchanged(file: Path, tmp_path: Path) -> None:
    async with Conductor(
        await open_journal(file), catalog=Catalog.load(), workspaces=tmp_path / 'files'
    ) as conductor:
        old, fork = await conductor.info(OLD), await conductor.info(FORK)
        assert (old.title, old.note, old.tags) == ('Event sourcing', 'worth reading', ('weekly', 'demo'))
        assert (old.status, old.seq, old.starred, old.pinned, old.deleted) == (
            Status.DONE,
            22,
            False,
            False,
            0.0,
        )
        assert (fork.title, fork.parent, fork.parent_at) == ('The fork', OLD, 3)
        assert await conductor.audit(OLD) == 22
        assert (await conductor.view(OLD)).status is Status.DONE
        assert [info.id for info in (await conductor.runs()).runs] == [FORK, OLD]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute('PRAGMA user_version').fetchone() == (len(MIGRATIONS),)
        assert connection.execute('PRAGMA integrity_check').fetchone() == ('ok',)
        assert connection.execute('PRAGMA foreign_key_check').fetchall() == []


async def test_the_old_database_is_backed_up(file: Path) -> None:
    await (await open_journal(file)).close()
    backup = backup_path(str(file), 4)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(sqlite3.connect(backup)) as old:
        assert old.execute('PRAGMA user_version').fetchone() == (4,)
        assert old.execute('PRAGMA integrity_check').fetchone() == ('ok',)
        assert old.execute('SELECT count(*) FROM "transition"').fetchone() == (STEPS,)
    backup.unlink()
    await (await open_journal(file)).close()
    await (await open_journal(file.with_name('new.db'))).close()
    assert not list(file.parent.glob('*.version-*')), 'neither a migrated nor a new database is copied'


async def test_without_a_backup_there_is_no_upgrade(file: Path) -> None:
    backup_path(str(file), 4).mkdir()
    with pytest.raises(JournalUnavailable, match='cannot be written: Is a directory'):
        await open_journal(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute('PRAGMA user_version').fetchone() == (4,)
    assert not list(file.parent.glob('*.part'))


async def test_a_full_disk_leaves_the_old_database_alone(file: Path) -> None:
    before = file.read_bytes()
    with limit_file_size(len(before) // 2), pytest.raises(JournalUnavailable, match='is full'):
        await open_journal(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute('PRAGMA user_version').fetchone() == (4,)
    assert not list(file.parent.glob('*.version-*'))
    await (await open_journal(file)).close()


def test_a_copy_writes_no_journal_file_that_could_be_left_behind(tmp_path: Path) -> None:
    class Full(sqlite3.Connection):
        def backup(self, target: sqlite3.Connection, **options: Any) -> None:
            target.executescript('BEGIN; CREATE TABLE half (done)')
            assert [path.name for path in tmp_path.iterdir()] == ['copy']

    with closing(Full(':memory:')) as source:
        copy_database(source, tmp_path / 'copy')


async def test_an_upgraded_database_supports_notes_stars_pins_and_search(file: Path) -> None:
    journal = await open_journal(file)
    assert (await journal.runs(RunQuery(text='fork sourcing'))).total == 1
    assert await journal.notes(OLD) == []
    note = await journal.write_note(Note(run=OLD, seq=7, text='the turning point', created=1.0))
    assert await journal.notes(OLD) == [note]
    assert (await journal.runs(RunQuery(text='turning sourcing'))).total == 1
    await journal.annotate(OLD, starred=True, pinned=True)
    assert [info.id for info in (await journal.runs(RunQuery(pins_first=True))).runs] == [OLD, FORK]
    await journal.annotate(FORK, deleted=5.0)
    assert [info.id for info in (await journal.runs(RunQuery(place='trash'))).runs] == [FORK]
    await journal.delete(OLD)
    assert len(await journal.transitions(FORK)) == (await journal.info(FORK)).seq > 3
    await journal.close()


def test_both_kinds_of_database_are_at_the_same_version() -> None:
    assert len(MIGRATIONS) == PRESENT == SCHEMA_VERSION
