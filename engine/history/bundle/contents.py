"""A run's stored objects as exported: secrets removed, under new digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from engine.history.bundle.format import CHUNK_BYTES
from engine.history.bundle.redaction import HIDDEN, Redaction
from engine.workspace.directories import snapshot_limits
from engine.workspace.object_store import ObjectStore

STREAMED_SIZE = 64 << 20
"""Files larger than this many bytes are scanned in chunks and left out entirely if they hold a secret."""
WINDOW, OVERLAP = 1 << 20, 1 << 13
MAX_PASSES = 100
"""Maximum number of passes: each rewrites the folders one level above the last, so nesting limits them."""


class RedactedObjects:
    """An object store with secrets removed: objects holding one, and folders above them, are rewritten.

    Args:
        objects: the original store.
        redaction: receives the mapping from old digests to new ones.
        scratch: a temporary folder for rewritten objects.
    """

    def __init__(self, objects: ObjectStore, redaction: Redaction, scratch: Path) -> None:
        self._objects, self._redaction = objects, redaction
        self._rewritten = ObjectStore(scratch)
        self._sizes: dict[str, int] = {}
        """Sizes of rewritten objects, by digest."""
        self.digests = sorted(
            f'{path.parent.name}{path.name}' for path in objects.root.glob('[0-9a-f][0-9a-f]/*')
        )

    def prepare(self) -> None:
        """Rewrite every object that needs it. Blocks: reads everything once. Raises `WorkspaceError`."""
        renamed = self._redaction.renamed
        digests = self.digests
        for _ in range(MAX_PASSES):
            before = dict(renamed)
            for digest in digests:
                self._rewrite(digest, renamed)
            if renamed == before:
                break
            most = snapshot_limits()[0] * 200
            digests = [digest for digest in self.digests if self._size(digest) < most]
        self._redaction.found += len(renamed.keys() & set(self.digests))

    def read_pieces(self, digest: str) -> Iterator[tuple[str, bytes, bool]]:
        """Yield an object in pieces: its exported digest, the piece, and whether more follow. Blocks."""
        other = self._redaction.renamed.get(digest, digest)
        store = self._objects if other == digest else self._rewritten
        hashed, left = hashlib.sha256(), store.size(other)
        with store.open(other) as file:
            while True:
                piece = file.read(CHUNK_BYTES)
                hashed.update(piece)
                left -= len(piece)
                yield other, piece, left > 0
                if left <= 0 or not piece:
                    break
        store.check(other, hashed.hexdigest())

    def _size(self, digest: str) -> int:
        return self._objects.size(digest)

    def _rewrite(self, digest: str, renamed: dict[str, str]) -> None:
        if self._size(digest) > STREAMED_SIZE:
            content = self._scan_large_file(digest)
        else:
            data = self._objects.get(digest)
            content = self._redaction.redact_content(data)
            content = b'' if content == data else self._correct_sizes(content)
        if content:
            renamed[digest] = self._rewritten.put(content)
            self._sizes[renamed[digest]] = len(content)

    def _scan_large_file(self, digest: str) -> bytes:
        with self._objects.open(digest) as file:
            tail = b''
            while piece := file.read(WINDOW):
                text = (tail + piece).decode('latin-1')
                if self._redaction.hide(text) != text:
                    return f'{HIDDEN}: a file with something secret in it'.encode()
                tail = piece[-OVERLAP:]
        return b''

    def _correct_sizes(self, data: bytes) -> bytes:
        """Correct the file sizes in a folder object; return anything else unchanged."""
        resized = False
        try:
            tree = json.loads(data)
            for entry in tree.values():
                if entry[0] == 'file' and entry[1] in self._sizes:
                    entry[2], resized = self._sizes[entry[1]], True
        except (ValueError, AttributeError, TypeError, IndexError, KeyError, RecursionError):
            return data
        return json.dumps(tree, sort_keys=True, separators=(',', ':')).encode() if resized else data
