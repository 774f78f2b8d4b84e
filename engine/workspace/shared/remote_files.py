"""RemoteFiles: file storage shared with workers on other machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file in the remote storage."""

    path: str
    size: int
    modified: float
    """When it was written, by the storage's clock, in seconds since 1970."""


class RemoteFiles(Protocol):
    """Remote storage for files, by path: `RUN/objects/ab/cdef…`, as in a worker's folder.

    Every method blocks, is thread-safe, and raises `FilesUnavailable` if the storage refuses or does not
    respond.
    """

    @property
    def name(self) -> str:
        """Its location, for display."""

    def check(self) -> None:
        """Check access by writing, reading and removing a file."""

    def read(self, path: str) -> Iterator[bytes]:
        """Yield a file in pieces. Raises `FileNotFoundError` before the first piece."""

    def size(self, path: str) -> int | None:
        """Return a file's size; None if it does not exist."""

    def send(self, path: str, content: bytes | Path) -> None:
        """Store a file atomically."""

    def list_files(self, folder: str) -> Iterator[RemoteFile]:
        """Yield all files in a folder and its subfolders."""

    def folders(self) -> list[str]:
        """List the top-level folders, one per run."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the storage. Raises `FileNotFoundError`."""

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""
