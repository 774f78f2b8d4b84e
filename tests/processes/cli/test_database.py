"""The command line on unusable databases: one clear line, and nothing is touched."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from engine.journal.projection import RunProjection
from engine.records import RunInfo
from engine.runtime.recorder import Recorder
from storage import Settings as Database
from storage import SqlJournal, open_journal
from storage.sqlite.migrations import APPLICATION, UNRELEASED_APPLICATION
from tests.support.cli import Hemicycle
from ui.__main__ import Stores
from ui.app.settings import Settings
from ui.cli.app import app

COMMANDS = (
    ('run', 'pipeline', '--task', 'Compare tea and coffee'),
    ('runs', 'list'),
    ('show', 'last'),
    ('runs', 'audit', 'last'),
    ('resume', 'last'),
    ('serve',),
)


@pytest.mark.parametrize('command', COMMANDS, ids=' '.join)
@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'no database at all', 'is not a database'),
        ((APPLICATION, 999), 'was written by a newer version'),
        ((UNRELEASED_APPLICATION, 1), 'is from an unreleased version of Hemicycle and cannot be read'),
    ],
    ids=['other', 'newer', 'unreleased'],
)
def test_a_file_that_is_not_ours_is_left_alone(
    hemicycle: Hemicycle, command: tuple[str, ...], content: bytes | tuple[int, int], message: str
) -> None:
    if isinstance(content, tuple):
        content = numbered(hemicycle.home / 'numbered.db', *content)
    hemicycle.database.write_bytes(content)
    before = sorted(hemicycle.home.iterdir())
    result = hemicycle(*command)
    assert (result.exit_code, result.stdout) == (5, '')
    assert result.stderr.startswith(f'hemicycle: {hemicycle.database} {message}')
    assert result.stderr.count('\n') == 1
    assert hemicycle.database.read_bytes() == content
    assert sorted(hemicycle.home.iterdir()) == before


@pytest.mark.parametrize('command', COMMANDS[::5], ids=' '.join)
def test_a_folder_that_cannot_be_written(hemicycle: Hemicycle, command: tuple[str, ...]) -> None:
    (hemicycle.home / 'file').write_text('')
    result = hemicycle(*command, '--database', str(hemicycle.home / 'file' / 'runs.db'))
    assert result.exit_code == 5
    assert result.stderr.startswith(f'hemicycle: {hemicycle.home / "file" / "runs.db"}: ')
    assert result.stderr.count('\n') == 1


def test_a_url_of_an_unsupported_database_is_refused(hemicycle: Hemicycle) -> None:
    result = hemicycle('runs', 'list', '--database', 'mysql://somewhere/runs')
    assert result.exit_code == 2
    assert result.stderr.startswith('hemicycle: database: ')


def test_a_full_disk_is_reported(hemicycle: Hemicycle) -> None:
    assert hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q').exit_code == 0
    size = hemicycle.database.stat().st_size
    environment = {'HEMICYCLE_HOME': str(hemicycle.home), 'HEMICYCLE_PACE': '0'}
    command = ['run', 'pipeline', '--task', 'Compare tea and coffee ' * 800]
    result = CliRunner(env=environment).invoke(app, command, obj=Small(size))
    assert result.exit_code == 5
    assert 'the disk or the quota is full' in result.stderr
    assert result.stderr.count('\n') == 1
    assert hemicycle('runs', 'audit').exit_code == 0


def test_a_command_ends_when_its_run_can_no_longer_be_journaled(
    hemicycle: Hemicycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Recorder.write

    async def failing(self: Recorder, info: RunInfo, projection: RunProjection, *more: Any) -> RunInfo:
        if projection.seq > 2:
            raise OverflowError('too large')
        return await write(self, info, projection, *more)

    monkeypatch.setattr(Recorder, 'write', failing)
    result = hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee')
    assert result.exit_code == 5
    assert 'cannot continue here: OverflowError: too large' in result.stderr
    monkeypatch.undo()
    assert hemicycle('resume', '-q').exit_code == 0


@dataclass
class Small(Stores):
    """A database that cannot grow."""

    size: int

    async def open(self, settings: Settings) -> SqlJournal:
        return await open_journal(Database(database=settings.database, quota=self.size))


def numbered(path: Path, application: int, version: int) -> bytes:
    """An empty database with these numbers."""
    connection = sqlite3.connect(path)
    connection.execute(f'PRAGMA application_id = {application}')
    connection.execute(f'PRAGMA user_version = {version}')
    connection.close()
    return path.read_bytes()
