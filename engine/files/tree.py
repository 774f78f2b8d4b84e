"""Trees: the files of a folder at one moment, kept as objects; the same file or folder is kept once."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.errors import WorkspaceError
from engine.files.beneath import MOST_DEPTH, SCRATCH, Beneath, open_file, open_folder
from engine.files.objects import DIGEST, Objects

MOST_FILES = 100_000
MOST_BYTES = 2 << 30
"""What a snapshot may hold. A sandboxed command is stopped at less."""
UNSETTLED = 2_000_000_000
"""Nanoseconds: a file that was changed so shortly before it was read may change again under the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A file as it was at one moment."""

    path: str
    digest: str
    size: int
    executable: bool = False
    target: str | None = None
    """Where it leads, for a symbolic link; its digest is ''."""


Signature = tuple[int, ...]


class Scanner:
    """Takes snapshots of one folder; a file that looks as it did at the last one is not read again."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[Signature, str] = {}
        self._seen: dict[Signature, str] = {}
        self._files = self._bytes = self._started = 0

    def scan(self, folder: int) -> str:
        """Keep all that is in an open folder; gives the tree's digest. Raises `WorkspaceError`."""
        self._seen, self._files, self._bytes, self._started = {}, 0, 0, time.time_ns()
        try:
            digest = self._tree(folder, 0)
        finally:
            self._known = self._known | self._seen
        self._known = self._seen
        return digest

    def digest_of(self, name: str, around: int) -> str:
        """The digest of a file's content, which is kept."""
        digest = self._known.get(_signature(os.stat(name, dir_fd=around, follow_symlinks=False)))
        return digest or self._read(name, around)

    def _digest(self, entry: os.DirEntry[str], around: int, found: os.stat_result) -> str:
        signature = _signature(found)
        digest = self._known.get(signature)
        if digest is None:
            return self._read(entry.name, around)
        self._seen[signature] = digest
        return digest

    def _read(self, name: str, around: int) -> str:
        with open_file(name, around) as file:
            found = os.fstat(file.fileno())
            digest = self._objects.put_file(file)
        if found.st_ctime_ns < self._started - UNSETTLED:
            self._seen[_signature(found)] = digest
        return digest

    def _tree(self, folder: int, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise WorkspaceError(f'its folders are nested more than {MOST_DEPTH} deep')
        tree = {}
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            described = self._entry(entry, folder, depth)
            if described:
                tree[entry.name] = described
        return self._objects.put(json.dumps(tree, sort_keys=True, separators=(',', ':')).encode())

    def _entry(self, entry: os.DirEntry[str], folder: int, depth: int) -> list[object]:
        found = entry.stat(follow_symlinks=False)
        self._files += 1
        self._bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            raise WorkspaceError(f'it holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB')
        if stat.S_ISDIR(found.st_mode):
            inner = open_folder(entry.name, folder)
            try:
                return ['folder', self._tree(inner, depth + 1)]
            finally:
                os.close(inner)
        if stat.S_ISLNK(found.st_mode):
            return ['link', os.readlink(entry.name, dir_fd=folder)]
        if not stat.S_ISREG(found.st_mode) or entry.name.startswith(SCRATCH):
            return []
        executable = bool(found.st_mode & stat.S_IXUSR)
        return ['file', self._digest(entry, folder, found), found.st_size, executable]


def _signature(found: os.stat_result) -> Signature:
    # With the time of the last change of the entry itself, which no program can set back.
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def restore(beneath: Beneath, scanner: Scanner, objects: Objects, tree: str) -> None:
    """Make a folder hold what the tree holds, and nothing else; what it holds already is left alone."""
    with beneath.folder(make=True) as folder:
        _restore(beneath, scanner, objects, tree, folder)


def _restore(beneath: Beneath, scanner: Scanner, objects: Objects, tree: str, folder: int) -> None:
    wanted = entries_of(objects, tree)
    os.fchmod(folder, 0o755)  # Its owner may have shut it.
    with os.scandir(folder) as found:
        present = {entry.name: entry.stat(follow_symlinks=False).st_mode for entry in found}
    for name, mode in present.items():
        kind = wanted.get(name, ('',))[0]
        kept = (stat.S_ISDIR(mode) and kind == 'folder') or (stat.S_ISREG(mode) and kind == 'file')
        if not kept:
            remove(name, folder)
            present[name] = 0
    for name, entry in wanted.items():
        if entry[0] == 'folder':
            beneath.make(name, folder)
            inner = open_folder(name, folder)
            try:
                _restore(beneath, scanner, objects, entry[1], inner)
            finally:
                os.close(inner)
        elif entry[0] == 'link':
            os.symlink(entry[1], name, dir_fd=folder)
            if beneath.owner is not None:
                os.chown(name, beneath.owner, beneath.owner, dir_fd=folder, follow_symlinks=False)
        else:
            same = present.get(name) and bool(present[name] & stat.S_IXUSR) == entry[3]
            if not same or scanner.digest_of(name, folder) != entry[1]:
                beneath.put(name, folder, objects.get(entry[1]), executable=entry[3])


def remove(name: str, around: int) -> None:
    """Remove whatever has that name in an open folder; follows no link."""
    try:
        os.unlink(name, dir_fd=around)
    except (IsADirectoryError, PermissionError):
        inner = open_folder(name, around)
        try:
            os.fchmod(inner, 0o700)
            with os.scandir(inner) as found:
                for entry in list(found):
                    remove(entry.name, inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=around)


def entries_of(objects: Objects, tree: str) -> dict[str, tuple[Any, ...]]:
    """What a tree says of each name. Raises `WorkspaceError`."""
    try:
        found = json.loads(objects.get(tree)) if tree else {}
        entries = {str(name): tuple(entry) for name, entry in found.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise WorkspaceError(f'the content {tree[:12]} is no snapshot') from None
    # What another program has written may name a file outside of the folder.
    for name, entry in entries.items():
        if entry and not (_names_one(name) and _is_entry(*entry)):
            raise WorkspaceError(f'the content {tree[:12]} is no snapshot: {name[:80]!r} names no file in it')
    return {name: entry for name, entry in entries.items() if entry}


def _names_one(name: str) -> bool:
    return name not in ('', '.', '..') and '/' not in name and '\0' not in name


def _is_entry(kind: object, *what: object) -> bool:
    match kind, what:
        case 'folder', [str(digest)]:
            return bool(DIGEST.fullmatch(digest))
        case 'link', [str()]:
            return True
        case 'file', [str(digest), int(), bool()]:
            return bool(DIGEST.fullmatch(digest))
    return False


def files_of(objects: Objects, tree: str, *, beside: str = '') -> Iterator[FileVersion]:
    """The files and links of a tree, in order of their paths; those of folders that `beside` shares left out.

    Args:
        objects: where both are kept.
        tree: the digest of a tree; '' is the empty one.
        beside: another tree.
    """
    yield from _files(objects, tree, beside, '')


def _files(objects: Objects, tree: str, beside: str, path: str) -> Iterator[FileVersion]:
    others = entries_of(objects, beside)
    for name, entry in sorted(entries_of(objects, tree).items()):
        kind, value, *more = entry
        here, other = f'{path}{name}', others.get(name, ('', ''))
        if kind == 'folder':
            if other[:2] != ('folder', value):
                yield from _files(objects, value, other[1] if other[0] == 'folder' else '', f'{here}/')
        elif kind == 'link':
            yield FileVersion(path=here, digest='', size=0, target=value)
        else:
            yield FileVersion(path=here, digest=value, size=int(more[0]), executable=bool(more[1]))
