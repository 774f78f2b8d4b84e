"""The composition root: gives the command line its storage."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from ui.cli.app import app

if TYPE_CHECKING:
    from storage import BackupInfo, Claims, SqlJournal
    from ui.settings import Settings


class Sqlite:
    """Keeps runs in one SQLite file, next to the lock files of the processes using it."""

    def file(self, settings: Settings) -> Path:
        """The database file. Raises `InvalidInput` if the URL does not name one."""
        from storage import Settings as Database

        return Database(database=settings.database).path

    def locks(self, settings: Settings) -> Claims:
        """The locks; the same for every spelling of one file's name."""
        from storage import Claims

        file = self.file(settings).resolve()
        return Claims(file.with_name(f'{file.name}.locks'))

    async def open(self, settings: Settings) -> SqlJournal:
        """Open the database, creating it if necessary."""
        from storage import Settings as Database
        from storage import open_journal

        return await open_journal(Database(database=settings.database, synchronous=settings.synchronous))

    def back_up(self, settings: Settings, target: Path) -> BackupInfo:
        """Write a backup."""
        from storage import Settings as Database
        from storage import write_backup

        return write_backup(Database(database=settings.database), settings.workspaces, target)

    def restore(self, archive: Path, settings: Settings) -> BackupInfo:
        """Put a backup where nothing is yet."""
        from storage import Settings as Database
        from storage import read_backup

        return read_backup(archive, Database(database=settings.database), settings.workspaces)

    def inspect(self, settings: Settings) -> BackupInfo:
        """Check the database, and count what it holds."""
        from storage import inspect_database

        return inspect_database(self.file(settings))


def main() -> None:
    """The `hemicycle` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors='replace')  # a terminal that cannot show a character must not end a run
    app(obj=Sqlite(), prog_name='hemicycle')


if __name__ == '__main__':
    main()
