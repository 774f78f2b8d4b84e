"""The contents that a run keeps, as they are exported: without secrets, under digests of their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from engine.bundle.lines import PIECE
from engine.bundle.redaction import HIDDEN, Redaction
from engine.files.objects import Objects
from engine.files.tree import MOST_FILES

LONG = 64 << 20
"""Bytes of a file that is looked through in stretches; one with a secret in it is left out as a whole."""
STRETCH, OVERLAP = 1 << 20, 1 << 13
PASSES = 100
"""A folder is written anew after what is in it: so often, at most, as folders are nested."""


class Contents:
    """Goes through a store. What holds a secret is written anew, and so is every folder around it.

    Args:
        objects: the store.
        redaction: is told which digests stand for which from then on.
        aside: where what is written anew is kept meanwhile.
    """

    def __init__(self, objects: Objects, redaction: Redaction, aside: Path) -> None:
        self._objects, self._redaction = objects, redaction
        self._anew = Objects(aside)
        self._sizes: dict[str, int] = {}
        """Of what was written anew, by its digest."""
        self.digests = sorted(
            f'{path.parent.name}{path.name}' for path in objects.root.glob('[0-9a-f][0-9a-f]/*')
        )

    def prepare(self) -> None:
        """Find out what must be written anew. Blocks: reads everything once. Raises `WorkspaceError`."""
        renamed = self._redaction.renamed
        wanted = self.digests
        for _ in range(PASSES):
            before = dict(renamed)
            for digest in wanted:
                self._write_anew(digest, renamed)
            if renamed == before:
                break
            wanted = [digest for digest in self.digests if self._size(digest) < MOST_FILES * 200]
        self._redaction.found += len(renamed.keys() & set(self.digests))

    def pieces(self, digest: str) -> Iterator[tuple[str, bytes, bool]]:
        """A content under the digest that it is exported by, in pieces; last is whether more come. Blocks."""
        other = self._redaction.renamed.get(digest, digest)
        store = self._objects if other == digest else self._anew
        hashed, left = hashlib.sha256(), store.size(other)
        with store.open(other) as file:
            while True:
                piece = file.read(PIECE)
                hashed.update(piece)
                left -= len(piece)
                yield other, piece, left > 0
                if left <= 0 or not piece:
                    break
        store.check(other, hashed.hexdigest())

    def _size(self, digest: str) -> int:
        return self._objects.size(digest)

    def _write_anew(self, digest: str, renamed: dict[str, str]) -> None:
        if self._size(digest) > LONG:
            made = self._long(digest)
        else:
            data = self._objects.get(digest)
            made = self._redaction.content(data)
            made = b'' if made == data else self._resized(made)
        if made:
            renamed[digest] = self._anew.put(made)
            self._sizes[renamed[digest]] = len(made)

    def _long(self, digest: str) -> bytes:
        with self._objects.open(digest) as file:
            tail = b''
            while piece := file.read(STRETCH):
                text = (tail + piece).decode('latin-1')
                if self._redaction.hide(text) != text:
                    return f'{HIDDEN}: a file with something secret in it'.encode()
                tail = piece[-OVERLAP:]
        return b''

    def _resized(self, data: bytes) -> bytes:
        """A folder with the sizes that its files have now; anything else as it is."""
        resized = False
        try:
            tree = json.loads(data)
            for entry in tree.values():
                if entry[0] == 'file' and entry[1] in self._sizes:
                    entry[2], resized = self._sizes[entry[1]], True
        except (ValueError, AttributeError, TypeError, IndexError, KeyError, RecursionError):
            return data
        return json.dumps(tree, sort_keys=True, separators=(',', ':')).encode() if resized else data
