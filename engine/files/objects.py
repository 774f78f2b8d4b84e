"""Objects: a store in which content is kept once, under its own digest."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import BinaryIO

from engine.errors import WorkspaceError

DIGEST = re.compile(r'[0-9a-f]{64}')
PIECE = 1 << 20


class Objects:
    """Content by its SHA-256, in hexadecimal. What is there is never changed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Keep some bytes, at no cost where they are kept already; gives their digest."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if not path.exists():
            scratch = self._scratch()
            scratch.write_bytes(data)
            self._settle(scratch, path)
        return digest

    def put_file(self, file: BinaryIO) -> str:
        """Keep the rest of an open file, however long it is."""
        head = file.read(PIECE)
        if len(head) < PIECE:
            return self.put(head)
        scratch, hashed, piece = self._scratch(), hashlib.sha256(), head
        try:
            with scratch.open('wb') as copy:
                while piece:
                    hashed.update(piece)
                    copy.write(piece)
                    piece = file.read(PIECE)
            self._settle(scratch, self._path(hashed.hexdigest()))
        finally:
            scratch.unlink(missing_ok=True)
        return hashed.hexdigest()

    def get(self, digest: str) -> bytes:
        """What was kept.

        Raises:
            WorkspaceError: it is not there, or not what was kept.
        """
        with self.open(digest) as file:
            data = file.read()
        self.check(digest, hashlib.sha256(data).hexdigest())
        return data

    def open(self, digest: str) -> BinaryIO:
        """What was kept, to be read by pieces: whoever does has to `check`. Raises `WorkspaceError`."""
        try:
            return self._path(digest).open('rb')
        except FileNotFoundError:
            raise WorkspaceError(f'the content {digest[:12]} is not kept any more') from None

    def check(self, digest: str, found: str) -> None:
        """Raises `WorkspaceError` where what was read has another digest than it is kept under."""
        if found != digest:
            raise WorkspaceError(f'the content {digest[:12]} is damaged')

    def size(self, digest: str) -> int:
        """Bytes of what was kept. Raises `WorkspaceError`."""
        try:
            return self._path(digest).stat().st_size
        except FileNotFoundError:
            raise WorkspaceError(f'the content {digest[:12]} is not kept any more') from None

    def __contains__(self, digest: str) -> bool:
        return self._path(digest).exists()

    def lend(self, other: Objects) -> None:
        """Give everything to another store: as second names of the same files, where the disk can."""
        for path in self.root.glob('[0-9a-f][0-9a-f]/*'):
            self.lend_one(f'{path.parent.name}{path.name}', other)

    def lend_one(self, digest: str, other: Objects) -> None:
        """Give one content to another store, in the same way."""
        path, theirs = self._path(digest), other._path(digest)
        if theirs.exists():
            return
        theirs.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, theirs)
        except FileExistsError:
            pass
        except OSError:
            shutil.copyfile(path, theirs)

    def _path(self, digest: str) -> Path:
        if not DIGEST.fullmatch(digest):
            raise WorkspaceError(f'{digest[:80]!r} names no content')
        return self.root / digest[:2] / digest[2:]

    def _scratch(self) -> Path:
        folder = self.root / 'new'
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        return folder / secrets.token_hex(8)

    def _settle(self, scratch: Path, path: Path) -> None:
        # Whole or not at all: nobody sees half of it under its digest.
        path.parent.mkdir(exist_ok=True)
        scratch.chmod(0o400)
        scratch.replace(path)


class Both(Objects):
    """Two stores read as one: what the first does not keep comes from the second."""

    def __init__(self, first: Objects, second: Objects) -> None:
        super().__init__(first.root)
        self._second = second

    def get(self, digest: str) -> bytes:
        """What either keeps. Raises `WorkspaceError`."""
        return super().get(digest) if digest in self else self._second.get(digest)
