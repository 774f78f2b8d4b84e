"""Files' owner: keeps two databases from sharing one place, where each would remove the other's files."""

from __future__ import annotations

import asyncio
import uuid

from engine.errors import EntryChanged, InvalidInput
from engine.journal import Entry, Journal
from engine.workspace import RemoteFiles

KIND, KEY = 'files', 'owner'
"""The entry that identifies a database."""
MARKER = '.owner'
"""The file that says which database's files lie beside it; no run has such an id."""


async def claim_files(journal: Journal, files: RemoteFiles) -> None:
    """Mark the place of the files as this database's.

    Raises:
        InvalidInput: it is another database's.
        FilesUnavailable, JournalError
    """
    database = await _identify(journal)
    if await asyncio.to_thread(_claim, files, database) != database:
        raise InvalidInput(
            {
                '--files': f'{files.name} has the files of another database: give each its own prefix, as in'
                f' s3://BUCKET/PREFIX (if that database is gone, remove the file {MARKER} there)'
            }
        )


async def _identify(journal: Journal) -> str:
    """Return the database's identity; a copy of it has the same."""
    entry = await journal.entry(KIND, KEY)
    if entry is None:
        entry = Entry(kind=KIND, key=KEY, body={'id': uuid.uuid4().hex})
        try:
            await journal.write_entries([entry])
        except EntryChanged:  # Another process was faster.
            return await _identify(journal)
    return str(entry.body['id'])


def _claim(files: RemoteFiles, database: str) -> str:
    """Return the owner of the place; it is ours if there was none."""
    for _ in range(2):
        try:
            return b''.join(files.read(MARKER)).decode()
        except FileNotFoundError:
            files.send(MARKER, database.encode())  # Read again: two may send at the same time.
    return ''
