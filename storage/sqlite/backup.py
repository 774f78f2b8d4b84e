"""Backups: the database, the files of runs, and charts in one archive, written while a server works.

SQLite's online backup copies the database first, and the files follow. An object is written before the step
that refers to it, so every object that the copy refers to is included. Agents' working folders are left out:
they are rebuilt from the objects when a run continues.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import sqlite3
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final, cast

from engine.errors import UNRELEASED, JournalDamaged, JournalUnavailable
from storage.inspection import BACKUP_FORMAT, INCOMPLETE, SCHEMA_VERSION, BackupInfo
from storage.settings import Settings
from storage.sqlite.file import checked_reader
from storage.sqlite.migrations import copy_database

MANIFEST, DATABASE, FILES, CHARTS = 'backup.json', 'hemicycle.db', 'workspaces', 'charts'
UNRELEASED_MANIFEST = 'manifest.json'
LIVE: Final = 'agents'
"""A run's folder in which its agents work."""
LOCK, MOVED = 'lock', 'moved'
"""In a staging folder: the file that its process locks, and a folder that names runs already moved."""
NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MANIFEST_BYTES = 1 << 16


def write_backup(settings: Settings, workspaces: Path, target: Path) -> BackupInfo:
    """Write a backup: all or nothing. Blocks the caller, but no other user of the database.

    Args:
        settings: the location of the database.
        workspaces: the folder of the runs' files; need not exist. The charts are in `charts` beside it.
        target: the archive to write, a gzipped tar that only its owner can read.

    Raises:
        JournalUnavailable, JournalDamaged: the database cannot be read.
        OSError: the archive cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    charts = workspaces.with_name(CHARTS)
    with _name_place(target), _staging(target.parent, '.backup-') as folder:
        copy, part = folder / DATABASE, folder / 'archive'
        with checked_reader(settings) as (source, _):
            copy_database(source, copy)
        info = inspect_database(copy)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with tarfile.open(part, 'w:gz', compresslevel=1) as archive:
            _add_bytes(archive, MANIFEST, json.dumps(asdict(info)).encode())
            archive.add(copy, DATABASE)
            for path in _files_of_runs(workspaces, _runs(copy)):
                _add_file(archive, path, f'{FILES}/{path.relative_to(workspaces).as_posix()}')
            for path in _files_of_charts(charts):
                _add_file(archive, path, f'{CHARTS}/{path.relative_to(charts).as_posix()}')
        part.replace(target)
    return info


def read_backup(archive: Path, settings: Settings, workspaces: Path) -> BackupInfo:
    """Restore a backup to an empty place: all or nothing. Blocks.

    Args:
        archive: an archive made by `write_backup`.
        settings: the new location of the database; the file must not exist.
        workspaces: the new parent of the runs' folders; must not contain any of them. In `charts` beside it,
            there must be no other charts of the same names.

    Raises:
        JournalUnavailable: the database, the log of one, or a run's folder already exists.
        JournalDamaged: the archive is not a backup, is damaged, or is from a newer or an unreleased version.
        OSError: there is no space, for example.
    """
    database, charts = settings.path, workspaces.with_name(CHARTS)
    _refuse_database(database)
    database.parent.mkdir(parents=True, exist_ok=True)
    workspaces.mkdir(parents=True, exist_ok=True)
    with _name_place(workspaces), _staging(workspaces, '.restore-', database) as staging:
        try:
            info = _unpack(archive, staging)
        except (tarfile.TarError, EOFError, OSError, ValueError, TypeError, IndexError) as error:
            if isinstance(error, OSError) and error.errno in NO_SPACE:
                raise
            raise JournalDamaged(f'{archive} is not a backup, or is damaged ({error})') from error
        copied = inspect_database(staging / DATABASE)
        if copied.digest != info.digest:
            raise JournalDamaged(f'{archive} is damaged: its database is not the one that was backed up')
        folders = sorted((staging / FILES).glob('*'))
        for unpacked in folders:
            _refuse_existing(workspaces / unpacked.name, 'another HEMICYCLE_HOME')
        texts = {
            path: charts / path.relative_to(staging / CHARTS) for path in _files_of_charts(staging / CHARTS)
        }
        for unpacked, place in texts.items():
            if place.exists() and place.read_bytes() != unpacked.read_bytes():
                _refuse_existing(place, 'another HEMICYCLE_HOME')
        _refuse_database(database)  # Again: unpacking may take minutes.
        part = database.with_name(f'{database.name}.part')
        try:
            with _name_place(database):
                shutil.copyfile(staging / DATABASE, part)
            part.chmod(0o600)
            for unpacked in folders:
                (staging / MOVED / unpacked.name).touch()
                unpacked.rename(workspaces / unpacked.name)
            with _name_place(charts):
                for unpacked, place in texts.items():
                    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    shutil.copy2(unpacked, place)
            # Last, and atomically: once the database exists, its files are in place.
            part.replace(database)
        finally:
            part.unlink(missing_ok=True)
    return info


@contextmanager
def _name_place(path: Path) -> Iterator[None]:
    """Name the path in errors that name none: a write does not say what there was no space for."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def _staging(around: Path, prefix: str, database: Path = Path()) -> Iterator[Path]:
    """Yield a temporary folder. Removes it afterwards, and those that killed processes left behind.

    Args:
        around: the parent folder.
        prefix: the prefix of its name.
        database: the database being restored; if it does not exist at the end, its runs' folders are removed.
    """
    for left in around.glob(f'{prefix}*/{LOCK}'):
        with suppress(OSError), left.open('rb') as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # Raises while the process is alive.
            _discard(left.parent, Path(os.fsdecode(lock.read())))
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=around))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)  # There may be no space even for the lock.
        (folder / MOVED).mkdir()
        (folder / 'new').write_bytes(os.fsencode(database.absolute()))
        lock = stack.enter_context((folder / 'new').open('rb'))
        stack.callback(_discard, folder, database)
        with suppress(OSError):  # Some file systems have no locks. Then no leftover is removed.
            fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / 'new').rename(folder / LOCK)  # Renamed only now, so that no process finds it unlocked.
        yield folder


def _discard(folder: Path, database: Path) -> None:
    if not database.exists():
        for moved in (folder / MOVED).iterdir():
            if not (folder / FILES / moved.name).exists():
                shutil.rmtree(folder.parent / moved.name, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def inspect_database(path: Path) -> BackupInfo:
    """Count a database's contents, and have SQLite check every page. Blocks.

    Raises:
        JournalUnavailable, JournalDamaged
    """
    with checked_reader(Settings(database=path)) as (connection, version):
        (problem,) = connection.execute('PRAGMA integrity_check(1)').fetchone()
        if problem != 'ok':
            raise JournalDamaged(f'{path} is damaged: {problem}')
        (runs,) = connection.execute('SELECT count(*) FROM run').fetchone()
        (steps,) = connection.execute('SELECT count(*) FROM "transition"').fetchone()
    with path.open('rb') as file:
        digest = hashlib.file_digest(file, 'sha256').hexdigest()
    return BackupInfo(created=time.time(), runs=runs, steps=steps, schema=version, digest=digest)


def incomplete_runs(path: Path) -> dict[str, int]:
    """Return the number of missing steps of each incomplete run. Blocks. Raises `JournalError`."""
    with checked_reader(Settings(database=path)) as (connection, version):
        return dict(connection.execute(INCOMPLETE)) if version else {}


def _refuse_database(path: Path) -> None:
    """Refuse a place with a database, or with the log of one that is gone, which SQLite would apply."""
    _refuse_existing(path)
    for log in (path.with_name(f'{path.name}-wal'), path.with_name(f'{path.name}-journal')):
        if log.exists():
            raise JournalUnavailable(
                f'{log} has the last changes of the database that was here: move it away'
            )


def _refuse_existing(path: Path, instead: str = 'another place') -> None:
    if path.exists():
        raise JournalUnavailable(f'{path} already exists, and nothing is overwritten: choose {instead}')


def _runs(database: Path) -> list[str]:
    """Return the ids of all runs."""
    with closing(sqlite3.connect(database)) as connection:
        return [run for (run,) in connection.execute('SELECT id FROM run ORDER BY number')]


def _files_of_runs(workspaces: Path, runs: list[str]) -> Iterator[Path]:
    """Yield the files of these runs, except their agents' working folders."""
    for run in runs:
        for folder, folders, files in os.walk(workspaces / run):
            here = Path(folder)
            if here.name == run and LIVE in folders:
                folders.remove(LIVE)
            folders.sort()
            yield from (here / name for name in sorted(files))


def _files_of_charts(charts: Path) -> Iterator[Path]:
    """Yield the files of charts and of their versions, except those that are just being written."""
    for path in sorted(charts.rglob('*')):
        if path.is_file() and not path.name.startswith('.'):
            yield path


def _add_file(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file in its current state, though it may grow or disappear. Skips links and devices."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return  # It was deleted, or is a link.
    with os.fdopen(descriptor, 'rb') as file:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            return
        member = archive.gettarinfo(arcname=name, fileobj=file)
        if member.islnk():  # A fork shares the objects of its parent.
            archive.addfile(member)
        else:
            archive.addfile(member, _ExactReader(file, member.size))


def _add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(content), 0o600, int(time.time())
    archive.addfile(member, io.BytesIO(content))


class _ExactReader(io.RawIOBase):
    """Reads exactly the announced number of bytes, even if the file has been truncated since."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        length = self._left if size < 0 else min(size, self._left)
        data = self._file.read(length).ljust(length, b'\0')
        self._left -= length
        return data


def _unpack(archive: Path, staging: Path) -> BackupInfo:
    """Unpack the expected members of a backup. Raises the errors that `read_backup` catches."""
    with tarfile.open(archive, 'r:gz') as backup:
        first = backup.next()
        if first and first.name == UNRELEASED_MANIFEST:
            raise JournalDamaged(f'{archive} {UNRELEASED}')
        content = backup.extractfile(first) if first and first.name == MANIFEST else None
        if content is None:
            raise ValueError('it has no manifest')
        info = BackupInfo(**json.loads(content.read(MANIFEST_BYTES)))
        if info.format > BACKUP_FORMAT or info.schema > SCHEMA_VERSION:
            raise ValueError('it was written by a newer version')
        while member := backup.next():
            top = PurePosixPath(member.name).parts[0]
            if top not in (DATABASE, FILES, CHARTS) or not (member.isreg() or member.islnk()):
                raise ValueError(f'it contains {member.name}')
            _extract(backup, member, staging)
    return info


def _extract(backup: tarfile.TarFile, member: tarfile.TarInfo, staging: Path) -> None:
    """Extract a file or a hard link. Raises `ValueError` if it would lead out of the folder.

    Python 3.11.0 to 3.11.3 have no `extract(filter='data')`.
    """
    target = _locate(member.name, staging)
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.islnk():
        target.hardlink_to(_locate(member.linkname, staging))
        return
    with cast(IO[bytes], backup.extractfile(member)) as content, target.open('xb') as file:
        shutil.copyfileobj(content, file)
    target.chmod(member.mode & 0o755 | 0o600)
    os.utime(target, (member.mtime, member.mtime))


def _locate(name: str, staging: Path) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or '..' in path.parts:
        raise ValueError(f'it contains {name}')
    return staging / path
