"""Files' owner: keeps two databases from sharing one place, where each would remove the other's files."""

from __future__ import annotations

import asyncio
import uuid

from engine.errors import EntryChanged, InvalidInput
from engine.journal import Documents, Entry
from engine.workspace import RemoteFiles

KIND, KEY = 'files', 'owner'
"""The entry that identifies a database."""
MARKER = '.owner'
"""The file that says which database's files lie beside it; no run has such an id."""


async def claim_files(documents: Documents, files: RemoteFiles) -> None:
    """Mark the place of the files as this database's.

    Raises:
        InvalidInput: it is another database's.
        FilesUnavailable, JournalError
    """
    database = await _identify(documents)
    if await asyncio.to_thread(_claim, files, database) != database:
        raise InvalidInput({'--files': _describe_foreign(files)})


async def describe_conflict(documents: Documents | None, files: RemoteFiles) -> str:
    """Return what is wrong if the place of the files is another database's, or ''; nothing is changed.

    Args:
        documents: those of the database; None if it does not exist yet.
        files: the place.

    Raises:
        FilesUnavailable, JournalError
    """
    owner = await asyncio.to_thread(_read_owner, files)
    entry = await documents.get(KIND, KEY) if documents else None
    return _describe_foreign(files) if owner and (entry is None or owner != entry.body['id']) else ''


async def _identify(documents: Documents) -> str:
    """Return the database's identity; a copy of it has the same."""
    entry = await documents.get(KIND, KEY)
    if entry is None:
        entry = Entry(kind=KIND, key=KEY, body={'id': uuid.uuid4().hex})
        try:
            await documents.write([entry])
        except EntryChanged:  # Another process was faster.
            return await _identify(documents)
    return str(entry.body['id'])


def _claim(files: RemoteFiles, database: str) -> str:
    """Return the owner of the place; it is ours if there was none."""
    if owner := _read_owner(files):
        return owner
    files.send(MARKER, database.encode())
    return _read_owner(files)  # Two may have sent at the same time.


def _read_owner(files: RemoteFiles) -> str:
    """Return the identity of the database whose place it is, or ''."""
    try:
        return b''.join(files.read(MARKER)).decode()
    except FileNotFoundError:
        return ''


def _describe_foreign(files: RemoteFiles) -> str:
    return (
        f'{files.name} has the files of another database: give each its own prefix, as in'
        f' s3://BUCKET/PREFIX (if that database is gone, remove the file {MARKER} there)'
    )
