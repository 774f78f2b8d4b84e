"""The composition root: gives the command line its storage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from ui.cli.app import app

if TYPE_CHECKING:
    from storage import BackupInfo, CopyInfo, SqlJournal
    from storage import Settings as Database
    from storage.s3.files import S3Files
    from ui.settings import Locks, Settings


class Stores:
    """Keeps runs in an SQLite file, next to the lock files of the processes using it; or on PostgreSQL."""

    def name(self, settings: Settings) -> str:
        """The database, fit for a screen. Raises `InvalidInput` if the URL names none."""
        return _database(settings).name

    def file(self, settings: Settings) -> Path | None:
        """The database file; None on PostgreSQL. Raises `InvalidInput` if the URL names neither."""
        database = _database(settings)
        return None if database.on_postgres else database.path

    def locks(self, settings: Settings) -> Locks:
        """The locks; the same for every spelling of one file's name."""
        if (named := self.file(settings)) is None:
            from storage.postgres.locks import PostgresLocks

            return PostgresLocks(_database(settings))
        from storage import FileLocks

        file = named.resolve()
        return FileLocks(file.with_name(f'{file.name}.locks'))

    def files(self, settings: Settings) -> S3Files | None:
        """The bucket of the agents' files; None if they lie in this machine's folder alone."""
        if not settings.files:
            return None
        from storage.s3.files import S3Files

        return S3Files(settings.files)

    async def open(self, settings: Settings) -> SqlJournal:
        """Open the database, creating it if necessary."""
        from storage import open_journal

        return await open_journal(_database(settings))

    def back_up(self, settings: Settings, target: Path) -> BackupInfo:
        """Write a backup."""
        from storage import write_backup

        return write_backup(_database(settings), settings.workspaces, target)

    def restore(self, archive: Path, settings: Settings) -> BackupInfo:
        """Put a backup where nothing is yet."""
        from storage import read_backup

        return read_backup(archive, _database(settings), settings.workspaces)

    def copy(self, source: Settings, target: Settings, progress: Callable[[int, int], None]) -> CopyInfo:
        """Copy a whole database into an empty one."""
        from storage import copy_database

        return copy_database(_database(source), _database(target), progress)

    def inspect(self, settings: Settings) -> BackupInfo:
        """Check the database, and count what it holds."""
        from storage import inspect_database

        if file := self.file(settings):
            return inspect_database(file)
        from storage.postgres.inspection import inspect_postgres

        return inspect_postgres(_database(settings))

    def incomplete_runs(self, settings: Settings) -> dict[str, int]:
        """The runs that lack steps."""
        from storage import incomplete_runs

        if file := self.file(settings):
            return incomplete_runs(file)
        from storage.postgres import inspection

        return inspection.incomplete_runs(_database(settings))


def _database(settings: Settings) -> Database:
    from storage import Settings as Database

    return Database(database=settings.database, synchronous=settings.synchronous)


def main() -> None:
    """The `hemicycle` command."""
    # What is imported stays: to look for garbage in it each 700 objects takes a tenth of the start.
    gc.set_threshold(50_000)
    # httpx does without its own command line, which takes longer to import than all the rest of it.
    sys.modules['httpx._main'] = cast(ModuleType, None)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors='replace')  # a terminal that cannot show a character must not end a run
    app(obj=Stores(), prog_name='hemicycle')


if __name__ == '__main__':
    main()
