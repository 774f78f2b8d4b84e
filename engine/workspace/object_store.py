"""ObjectStore: content-addressed storage; equal content is stored once."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from engine.errors import WorkspaceError
from engine.records.events import DIGEST
from engine.workspace.confined_dir import share

SMALL_BYTES = 1 << 16
"""Smaller files are written without sharing blocks, which saves less than it takes."""


class ObjectStore:
    """Stores content by its SHA-256 digest, in hexadecimal. Stored objects never change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Store bytes unless they are already stored; returns their digest."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if not path.exists():
            scratch = self._scratch()
            scratch.write_bytes(data)
            self._settle(scratch, path)
        return digest

    def put_file(self, file: BinaryIO) -> str:
        """Store an open file of any length, which may share its blocks; returns its digest."""
        head = file.read(SMALL_BYTES)
        if len(head) < SMALL_BYTES:
            return self.put(head)
        file.seek(0)
        digest = hashlib.file_digest(cast(BufferedReader, file), 'sha256').hexdigest()
        if digest not in self:
            scratch = self._scratch()
            try:
                with scratch.open('wb+') as copy:
                    share(file, copy)
                    copy.seek(0)
                    digest = hashlib.file_digest(copy, 'sha256').hexdigest()  # It may have changed meanwhile.
                self._settle(scratch, self._path(digest))
            finally:
                scratch.unlink(missing_ok=True)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the stored bytes.

        Raises:
            WorkspaceError: it is missing or corrupt.
        """
        with self.open(digest) as file:
            data = file.read()
        self.check(digest, hashlib.sha256(data).hexdigest())
        return data

    def open(self, digest: str) -> BinaryIO:
        """Open the object for reading; the caller must `check` its digest. Raises `WorkspaceError`."""
        try:
            return self._path(digest).open('rb')
        except FileNotFoundError:
            raise WorkspaceError(f'the content {digest[:12]} is no longer kept') from None

    def check(self, digest: str, actual: str) -> None:
        """Raise `WorkspaceError` if the bytes read do not match the object's digest."""
        if actual != digest:
            raise WorkspaceError(f'the content {digest[:12]} is damaged')

    def size(self, digest: str) -> int:
        """Return the object's size in bytes. Raises `WorkspaceError`."""
        try:
            return self._path(digest).stat().st_size
        except FileNotFoundError:
            raise WorkspaceError(f'the content {digest[:12]} is no longer kept') from None

    def __contains__(self, digest: str) -> bool:
        return self._path(digest).exists()

    def link_all(self, other: ObjectStore) -> None:
        """Add all objects to another store, as hard links where possible, else as copies."""
        for path in self.root.glob('[0-9a-f][0-9a-f]/*'):
            self.link_one(f'{path.parent.name}{path.name}', other)

    def link_one(self, digest: str, other: ObjectStore) -> None:
        """Add one object to another store, as a hard link where possible, else as a copy."""
        path, theirs = self._path(digest), other._path(digest)
        if theirs.exists():
            return
        theirs.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, theirs)
        except FileExistsError:
            pass
        except OSError:
            scratch = other._scratch()
            shutil.copyfile(path, scratch)
            other._settle(scratch, theirs)

    def _path(self, digest: str) -> Path:
        if not DIGEST.fullmatch(digest):
            raise WorkspaceError(f'{digest[:80]!r} is not a valid digest')
        return self.root / digest[:2] / digest[2:]

    def _scratch(self) -> Path:
        folder = self.root / 'new'
        if not folder.is_dir():
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        return folder / secrets.token_hex(8)

    def _settle(self, scratch: Path, path: Path) -> None:
        # Atomic, so that a partial object is never visible under its digest.
        scratch.chmod(0o400)
        try:
            scratch.replace(path)
        except FileNotFoundError:
            path.parent.mkdir(exist_ok=True)
            scratch.replace(path)


class ChainedStore(ObjectStore):
    """Reads two stores as one: objects missing from the first come from the second."""

    def __init__(self, first: ObjectStore, second: ObjectStore) -> None:
        super().__init__(first.root)
        self._second = second

    def get(self, digest: str) -> bytes:
        """Return the object from either store. Raises `WorkspaceError`."""
        return super().get(digest) if digest in self else self._second.get(digest)
