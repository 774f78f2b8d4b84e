"""RemoteFiles: storage for files that workers on other machines can access, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file there."""

    path: str
    size: int
    modified: float
    """When it was written, by the clock there, in seconds since 1970."""


class RemoteFiles(Protocol):
    """Remote storage for files, by path: `RUN/objects/ab/cdef…` as in the folder of a worker.

    Every method blocks until it is done, may be called from several threads, and raises `FilesUnavailable`
    if the storage refuses or does not answer.
    """

    @property
    def name(self) -> str:
        """Its location, for display."""

    def check(self) -> None:
        """Write a file, read it and remove it."""

    def read(self, path: str) -> Iterator[bytes]:
        """A file in pieces. Raises `FileNotFoundError` before the first piece."""

    def size(self, path: str) -> int | None:
        """A file's size; None if it is not there."""

    def send(self, path: str, content: bytes | Path) -> None:
        """Put a file there, whole or not at all."""

    def list_files(self, folder: str) -> Iterator[RemoteFile]:
        """All files in a folder and the folders in it."""

    def folders(self) -> list[str]:
        """The folders at the top: runs."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file there to another path there. Raises `FileNotFoundError`."""

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, if they are there."""
