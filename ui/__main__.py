"""The composition root: gives the command line the storage it works on."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from ui.cli import app

if TYPE_CHECKING:
    from storage import Claims, SqlJournal
    from ui.settings import Settings


class Sqlite:
    """Runs in one SQLite file, and beside it the locks of the processes that use it."""

    def file(self, settings: Settings) -> Path:
        """The database's file. Raises `InvalidInput` for a URL that names none."""
        from storage import Settings as Database

        return Database(database=settings.database).path

    def locks(self, settings: Settings) -> Claims:
        """The locks; the same for every name of the same file."""
        from storage import Claims

        file = self.file(settings).resolve()
        return Claims(file.with_name(f'{file.name}.locks'))

    async def open(self, settings: Settings) -> SqlJournal:
        """Open the database, or make it."""
        from storage import Settings as Database
        from storage import open_journal

        return await open_journal(Database(database=settings.database, synchronous=settings.synchronous))


def main() -> None:
    """The command `hemicycle`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors='replace')  # a terminal that cannot show a sign must not end a run
    app(obj=Sqlite(), prog_name='hemicycle')


if __name__ == '__main__':
    main()
