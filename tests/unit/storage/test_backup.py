"""Backups: complete, taken while a writer works, restored whole or not at all, and checked when read."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine import LocalConductor
from engine.errors import JournalDamaged, JournalUnavailable
from engine.workspace.workspaces import Workspaces
from storage import Settings, open_journal, read_backup, write_backup
from storage.inspection import BackupInfo
from storage.sqlite import backup
from storage.sqlite.backup import DATABASE, FILES, MANIFEST, inspect_database
from tests.support.journals.limited_space import limit_file_size

pytestmark = pytest.mark.slow

TASK = 'Compare tea and coffee'


class Home:
    """A database, and the folder of the runs' files."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(database=folder / 'runs.db')
        self.workspaces = folder / 'workspaces'

    @property
    def entries(self) -> list[str]:
        """The paths of all files."""
        return sorted(
            str(path.relative_to(self.workspaces.parent))
            for path in self.workspaces.parent.rglob('*')
            if path.is_file()
        )

    @property
    def shared(self) -> int:
        """The number of hard-linked files."""
        return sum(path.is_file() and path.stat().st_nlink > 1 for path in self.workspaces.rglob('*'))


@pytest.fixture(scope='module')
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with one run, a fork of it that shares an object, and files of a run of another database.

    Tests share it, and do not change it.
    """
    home = Home(tmp_path_factory.mktemp('home'))
    asyncio.run(fill(home))
    return home


@pytest.fixture(scope='module')
def archive(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of it."""
    archive = tmp_path_factory.mktemp('archive') / 'backup.tar.gz'
    write_backup(home.settings, home.workspaces, archive)
    return archive


@pytest.fixture
def other(tmp_path: Path) -> Home:
    """An empty home, to restore to."""
    return Home(tmp_path / 'other')


async def fill(home: Home) -> None:
    async with LocalConductor(await open_journal(home.settings), workspaces=home.workspaces) as conductor:
        run = await conductor.start('pipeline', task=TASK)
        await run.result()
        fork = await conductor.fork(run.id, at=5)
        await conductor.result(fork)
        workspaces = Workspaces(home.workspaces)
        workspaces.objects(run.id).put(b'an artifact')
        (workspaces.home(run.id) / 'recording.jsonl').write_text('{}\n')
        working = workspaces.home(run.id) / 'agents' / 'coder'
        working.mkdir(parents=True)
        (working / 'half-written.py').write_text('x =')
        (workspaces.root / 'another').mkdir()
        (workspaces.root / 'another' / 'secret').write_text('of another database')
        (artifact,) = (path for path in (workspaces.home(run.id) / 'objects').rglob('*') if path.is_file())
        shared = workspaces.home(fork) / 'objects' / 'shared'
        shared.parent.mkdir(parents=True)
        shared.hardlink_to(artifact)


async def test_a_restored_backup_equals_the_original(home: Home, other: Home, tmp_path: Path) -> None:
    archive = tmp_path / 'backup.tar.gz'
    info = write_backup(home.settings, home.workspaces, archive)
    assert archive.stat().st_mode & 0o777 == 0o600
    assert read_backup(archive, other.settings, other.workspaces) == info
    left_out = ('agents', 'another', '.db-')
    assert other.entries == [entry for entry in home.entries if not any(part in entry for part in left_out)]
    assert other.shared == home.shared > 0

    async with LocalConductor(await open_journal(other.settings), workspaces=other.workspaces) as conductor:
        runs = [info async for info in conductor.iter_runs()]
        assert info.runs == len(runs) == 2
        assert info.steps == sum([await conductor.audit(run.id) for run in runs])


def test_a_backup_is_consistent_and_does_not_block_writers(tmp_path: Path) -> None:
    home, stop = Home(tmp_path / 'home'), threading.Event()
    asyncio.run(fill(home))
    with closing(sqlite3.connect(home.settings.path, check_same_thread=False, timeout=5)) as writer:
        writer.execute('CREATE TABLE one (number)')
        writer.execute('CREATE TABLE two (number)')
        writer.commit()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                writer.execute('INSERT INTO one VALUES (?)', (number,))
                writer.execute('INSERT INTO two VALUES (?)', (number,))
                writer.commit()

        writing = threading.Thread(target=write)
        writing.start()
        try:
            for index in range(5):
                write_backup(home.settings, home.workspaces, tmp_path / f'{index}.tar.gz')
        finally:
            stop.set()
            writing.join()
    counts = []
    for index in range(5):
        other = Home(tmp_path / str(index))
        read_backup(tmp_path / f'{index}.tar.gz', other.settings, other.workspaces)
        with closing(sqlite3.connect(other.settings.path)) as copy:
            (one,) = copy.execute('SELECT count(*) FROM one').fetchone()
            assert copy.execute('SELECT count(*) FROM two').fetchone() == (one,)
            counts.append(one)
    assert counts == sorted(counts) and counts[0] < counts[-1]


def test_nothing_is_overwritten(home: Home, archive: Path, other: Home) -> None:
    before = home.entries
    with pytest.raises(JournalUnavailable, match=r'runs\.db already exists'):
        read_backup(archive, home.settings, home.workspaces)
    with pytest.raises(JournalUnavailable, match=r'already exists.*: choose another HEMICYCLE_HOME'):
        read_backup(archive, other.settings, home.workspaces)
    assert home.entries == before
    assert not other.settings.path.exists()


def test_the_log_of_a_lost_database_is_not_applied_to_a_restored_one(archive: Path, other: Home) -> None:
    log = other.settings.path.with_name('runs.db-wal')
    log.parent.mkdir(parents=True)
    log.write_bytes(b'the last steps')
    with pytest.raises(JournalUnavailable, match=r'runs\.db-wal .* move it away'):
        read_backup(archive, other.settings, other.workspaces)
    assert [path.name for path in log.parent.iterdir()] == ['runs.db-wal']


def test_a_database_made_while_a_backup_is_unpacked_is_kept(
    archive: Path, other: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inspect(path: Path) -> BackupInfo:
        other.settings.path.write_bytes(b'new')
        return inspect_database(path)

    monkeypatch.setattr(backup, 'inspect_database', inspect)
    with pytest.raises(JournalUnavailable, match=r'runs\.db already exists'):
        read_backup(archive, other.settings, other.workspaces)
    assert other.entries == ['runs.db'] and other.settings.path.read_bytes() == b'new'


def cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-2_000])


def no_archive(archive: Path) -> None:
    archive.write_bytes(b'not a tar file')


def other_database(archive: Path) -> None:
    members = unpack(archive)
    members[DATABASE] = members[DATABASE].replace(TASK.encode(), TASK.upper().encode())
    pack(archive, members)


def no_manifest(archive: Path) -> None:
    members = unpack(archive)
    del members[MANIFEST]
    pack(archive, members)


def newer(archive: Path) -> None:
    members = unpack(archive)
    members[MANIFEST] = members[MANIFEST].replace(b'"format": 1', b'"format": 2')
    pack(archive, members)


def outside(archive: Path) -> None:
    pack(archive, unpack(archive) | {f'{FILES}/../../../outside': b'x'})


def link(archive: Path) -> None:
    target = tarfile.TarInfo(f'{FILES}/link')
    target.type, target.linkname = tarfile.SYMTYPE, '/etc/passwd'
    pack(archive, unpack(archive), target)


def link_outside(archive: Path) -> None:
    target = tarfile.TarInfo(f'{FILES}/link')
    target.type, target.linkname = tarfile.LNKTYPE, str(archive)
    pack(archive, unpack(archive), target)


def unpack(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as packed:
        members = {member.name: packed.extractfile(member) for member in packed if member.isreg()}
        return {name: file.read() for name, file in members.items() if file}


def pack(archive: Path, members: dict[str, bytes], *others: tarfile.TarInfo) -> None:
    with tarfile.open(archive, 'w:gz') as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
        for member in others:
            packed.addfile(member)


@pytest.mark.parametrize(
    'spoil', [cut, no_archive, other_database, no_manifest, newer, outside, link, link_outside]
)
def test_a_damaged_archive_is_refused_and_leaves_nothing(
    archive: Path, other: Home, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoilt = tmp_path / 'backup.tar.gz'
    shutil.copyfile(archive, spoilt)
    spoil(spoilt)
    with pytest.raises(JournalDamaged, match=r'is not a backup, or is damaged|is damaged: its database'):
        read_backup(spoilt, other.settings, other.workspaces)
    assert other.entries == []
    assert not (tmp_path / 'outside').exists()


def test_a_backup_of_an_unreleased_version_is_refused_and_leaves_nothing(
    archive: Path, other: Home, tmp_path: Path
) -> None:
    unreleased = tmp_path / 'backup.tar.gz'
    pack(unreleased, {'manifest.json': b'{"format": 1, "schema": 1}', DATABASE: unpack(archive)[DATABASE]})
    before = unreleased.read_bytes()
    with pytest.raises(JournalDamaged) as caught:
        read_backup(unreleased, other.settings, other.workspaces)
    assert str(caught.value) == f'{unreleased} is from an unreleased version of Hemicycle and cannot be read'
    assert other.entries == [] and hidden(other.workspaces) == [] and unreleased.read_bytes() == before


def test_a_damaged_database_is_not_backed_up(home: Home, tmp_path: Path) -> None:
    damaged = Settings(database=tmp_path / 'runs.db')
    shutil.copyfile(home.settings.path, damaged.path)
    with damaged.path.open('r+b') as file:
        file.seek(3 * 4096)
        file.write(b'\xff' * 4096)
    with pytest.raises(JournalDamaged):
        write_backup(damaged, home.workspaces, tmp_path / 'backup.tar.gz')
    assert list(tmp_path.glob('*.tar.gz')) == list(tmp_path.glob('.backup-*')) == []


KILLED = """
import json, os, signal, sys
from pathlib import Path
from storage import Settings, read_backup, write_backup

def work(what, event, number, archive, database, workspaces):
    seen = 0

    def kill(name, arguments):
        nonlocal seen
        seen += name == event
        if name == event and seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)
    if what == 'write':
        write_backup(Settings(database=database), Path(workspaces), Path(archive))
    else:
        read_backup(Path(archive), Settings(database=database), Path(workspaces))

for case in json.loads(sys.argv[1]):
    if not (child := os.fork()):
        work(*case)
        os._exit(0)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]))
"""
"""Imports everything once, and carries out each case in a process of its own."""


def kill_before(what: str, *cases: tuple[tuple[str, int], Path, Home]) -> None:
    """Back up or restore in processes, each of which is killed right before the nth audit event of a name."""
    arguments = [
        (what, *event, str(archive), str(home.settings.path), str(home.workspaces))
        for event, archive, home in cases
    ]
    done = subprocess.run(
        [sys.executable, '-c', KILLED, json.dumps(arguments)], capture_output=True, check=True
    )
    assert [int(number) for number in done.stdout.split()] == [signal.SIGKILL] * len(cases)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith('.') or path.suffix == '.part']


def test_a_killed_backup_leaves_nothing_once_another_is_written(home: Home, tmp_path: Path) -> None:
    before = home.entries
    archives = {event: tmp_path / event[0] / 'backup.tar.gz' for event in [('open', 8), ('os.rename', 2)]}
    for archive in archives.values():
        archive.parent.mkdir()
    kill_before('write', *((event, archive, home) for event, archive in archives.items()))
    for archive in archives.values():
        assert not archive.exists() and home.entries == before
        assert hidden(archive.parent)
        write_backup(home.settings, home.workspaces, archive)
        assert hidden(archive.parent) == []


def test_a_killed_restore_can_be_repeated(home: Home, archive: Path, tmp_path: Path) -> None:
    events = [('os.chmod', 3), ('os.rename', 2), ('os.rename', 3), ('os.rename', 4)]
    others = [Home(tmp_path / f'{name}-{number}') for name, number in events]
    kill_before('read', *((event, archive, other) for event, other in zip(events, others, strict=True)))
    for other in others:
        assert not other.settings.path.exists()
        read_backup(archive, other.settings, other.workspaces)
        assert other.shared == home.shared > 0
        assert hidden(other.workspaces) == hidden(other.workspaces.parent) == []


def test_the_files_of_a_restore_in_progress_are_left_alone(
    home: Home, archive: Path, other: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Settings(database=tmp_path / 'elsewhere' / 'runs.db')

    def read_two(path: Path) -> BackupInfo:
        monkeypatch.undo()
        with pytest.raises(JournalDamaged):
            read_backup(tmp_path / 'none', elsewhere, other.workspaces)
        return inspect_database(path)

    monkeypatch.setattr(backup, 'inspect_database', read_two)
    read_backup(archive, other.settings, other.workspaces)
    assert other.shared == home.shared > 0


def test_a_backup_without_space_names_its_archive_and_leaves_nothing(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / 'a.tar.gz'
    with limit_file_size(0), pytest.raises(OSError, match=re.escape(str(target))):
        write_backup(home.settings, home.workspaces, target)
    assert list(tmp_path.iterdir()) == []

    def open_full(path: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(path, *arguments, **options)
        if '.backup-' in str(path):
            connection.execute('PRAGMA max_page_count = 1')
        return connection

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, 'connect', open_full)
    with pytest.raises(OSError, match=r'No space left on device: .*/a\.tar\.gz'):
        write_backup(home.settings, home.workspaces, target)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_and_leaves_nothing(
    archive: Path, other: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for place, name, named in (
        (shutil, 'copyfileobj', other.workspaces),
        (shutil, 'copyfile', other.settings.path),
        (tempfile, 'mkdtemp', other.workspaces),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            with pytest.raises(OSError, match=f'No space left on device: .{re.escape(str(named))}.$'):
                read_backup(archive, other.settings, other.workspaces)
        assert other.entries == [] and hidden(other.workspaces) == []
    read_backup(archive, other.settings, other.workspaces)
