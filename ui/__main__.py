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
    from ui.app.settings import Locks, Settings


class Stores:
    """Keeps runs in an SQLite file, next to the lock files of the processes using it; or on PostgreSQL."""

    def name(self, settings: Settings) -> str:
        """The database as it may be shown to people. Raises `InvalidInput` if the URL names none."""
        return _database(settings).name

    def file(self, settings: Settings) -> Path | None:
        """The database file; None on PostgreSQL. Raises `InvalidInput` if the URL names no database."""
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
        """The bucket for the agents' files; None if they stay in this machine's folder."""
        if not settings.files:
            return None
        from storage.s3.files import S3Files

        return S3Files(settings.files)

    async def open(self, settings: Settings) -> SqlJournal:
        """Open the SQLite file or the PostgreSQL database, creating its tables if necessary."""
        from storage import open_journal

        return await open_journal(_database(settings))

    def back_up(self, settings: Settings, target: Path) -> BackupInfo:
        """Write the database and the agents' files to `target`, an archive."""
        from storage import write_backup

        return write_backup(_database(settings), settings.workspaces, target)

    def restore(self, archive: Path, settings: Settings) -> BackupInfo:
        """Restore an archive to where there is no database and no files yet."""
        from storage import read_backup

        return read_backup(archive, _database(settings), settings.workspaces)

    def copy(self, source: Settings, target: Settings, progress: Callable[[int, int], None]) -> CopyInfo:
        """Copy all rows of one database into another, empty one; either may be of either kind."""
        from storage import copy_database

        return copy_database(_database(source), _database(target), progress)

    def inspect(self, settings: Settings) -> BackupInfo:
        """Check the database and count its runs and steps."""
        from storage import inspect_database

        if file := self.file(settings):
            return inspect_database(file)
        from storage.postgres.inspection import inspect_postgres

        return inspect_postgres(_database(settings))

    def incomplete_runs(self, settings: Settings) -> dict[str, int]:
        """Return the number of missing steps of each incomplete run."""
        from storage import incomplete_runs

        if file := self.file(settings):
            return incomplete_runs(file)
        from storage.postgres import inspection

        return inspection.incomplete_runs(_database(settings))


def _database(settings: Settings) -> Database:
    from storage import Settings as Database

    return Database(database=settings.database, synchronous=settings.synchronous)


def main() -> None:
    """Run the `hemicycle` command."""
    # Imported modules stay in memory: checking them for garbage every 700 objects takes a tenth of the start.
    gc.set_threshold(50_000)
    # httpx works without its command line, which takes longer to import than the rest of httpx.
    sys.modules['httpx._main'] = cast(ModuleType, None)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors='replace')  # a terminal that cannot show a character must not end a run
    app(obj=Stores(), prog_name='hemicycle')


if __name__ == '__main__':
    main()
