"""Snapshots: a folder's files at one moment, stored as objects; equal files are stored once."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import WorkspaceError, WorkspaceOverLimit
from engine.records.events import DIGEST
from engine.workspace.confined_dir import (
    MAX_DEPTH,
    TEMP_PREFIX,
    ConfinedDir,
    open_file,
    open_folder,
    status_of,
)
from engine.workspace.directories import remove, snapshot_limits
from engine.workspace.object_store import ObjectStore

RACY_NS = 2_000_000_000
"""Nanoseconds; a file changed this recently when it is read may change again with the same timestamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A file or link of a snapshot."""

    path: str
    digest: str
    size: int
    executable: bool = False
    target: str | None = None
    """The target of a symbolic link, for which `digest` is ''."""


Signature = tuple[int, ...]


class Scanner:
    """Takes snapshots of one folder; files that look unchanged since the last one are not read again."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._known: dict[Signature, str] = {}
        self._seen: dict[Signature, str] = {}
        self._files = self._bytes = self._started = 0
        self._limits = (0, 0)

    def scan(self, folder: int) -> str:
        """Store everything in an open folder; returns the tree's digest. Raises `WorkspaceError`."""
        self._seen, self._files, self._bytes, self._started = {}, 0, 0, time.time_ns()
        self._limits = snapshot_limits()
        try:
            digest = self._tree(folder, 0)
        finally:
            self._known = self._known | self._seen
        self._known = self._seen
        return digest

    def digest_of(self, name: str, around: int) -> str:
        """Store a file's content and return its digest."""
        digest = self._known.get(_signature(os.stat(name, dir_fd=around, follow_symlinks=False)))
        return digest or self._digest_file(name, around)

    def _digest(self, entry: os.DirEntry[str], around: int, status: os.stat_result) -> str:
        signature = _signature(status)
        digest = self._known.get(signature)
        if digest is None:
            return self._digest_file(entry.name, around)
        self._seen[signature] = digest
        return digest

    def _digest_file(self, name: str, around: int) -> str:
        with open_file(name, around) as file:
            status = os.fstat(file.fileno())
            digest = self._objects.put_file(file)
        if status.st_ctime_ns < self._started - RACY_NS:
            self._seen[_signature(status)] = digest
        return digest

    def _tree(self, folder: int, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise WorkspaceOverLimit(f'its folders are nested more than {MAX_DEPTH} deep')
        tree = {}
        with os.scandir(folder) as listing:
            entries = list(listing)
        for entry in entries:
            try:
                described = self._entry(entry, folder, depth)
            except FileNotFoundError:
                if status_of(entry.name, folder) is not None:
                    raise
                continue  # One of the agent's processes has removed it meanwhile.
            if described:
                tree[entry.name] = described
        return self._objects.put(json.dumps(tree, sort_keys=True, separators=(',', ':')).encode())

    def _entry(self, entry: os.DirEntry[str], folder: int, depth: int) -> list[object]:
        status = entry.stat(follow_symlinks=False)
        self._files += 1
        self._bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if self._files > self._limits[0] or self._bytes > self._limits[1]:
            raise WorkspaceOverLimit(
                f'it contains more than {self._limits[0]:,} files or {self._limits[1] >> 20:,} MiB'
            )
        if stat.S_ISDIR(status.st_mode):
            inner = open_folder(entry.name, folder)
            try:
                return ['folder', self._tree(inner, depth + 1)]
            finally:
                os.close(inner)
        if stat.S_ISLNK(status.st_mode):
            return ['link', os.readlink(entry.name, dir_fd=folder)]
        if not stat.S_ISREG(status.st_mode) or entry.name.startswith(TEMP_PREFIX):
            return []
        executable = bool(status.st_mode & stat.S_IXUSR)
        return ['file', self._digest(entry, folder, status), status.st_size, executable]


def _signature(status: os.stat_result) -> Signature:
    # Includes the change time, which no program can set back.
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def restore(beneath: ConfinedDir, scanner: Scanner, objects: ObjectStore, tree: str) -> None:
    """Make a folder's contents equal to the tree's; files that already match are not touched."""
    with beneath.folder(make=True) as folder:
        _restore(beneath, scanner, objects, tree, folder)


def _restore(beneath: ConfinedDir, scanner: Scanner, objects: ObjectStore, tree: str, folder: int) -> None:
    expected = entries_of(objects, tree)
    os.fchmod(folder, 0o755)  # Its owner may have removed all permissions.
    with os.scandir(folder) as listing:
        present = {entry.name: entry.stat(follow_symlinks=False).st_mode for entry in listing}
    for name, mode in present.items():
        kind = expected.get(name, ('',))[0]
        can_stay = (stat.S_ISDIR(mode) and kind == 'folder') or (stat.S_ISREG(mode) and kind == 'file')
        if not can_stay:
            remove(name, folder)
            present[name] = 0
    for name, entry in expected.items():
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


def store_files(objects: ObjectStore, files: Mapping[str, bytes]) -> str:
    """Store files as a snapshot; returns its id. Blocks.

    Args:
        objects: the store.
        files: their contents by path. One that begins with `#!` is executable.
    """
    tree: dict[str, Any] = {}
    for path, data in files.items():
        *folders, name = path.split('/')
        around = tree
        for folder in folders:
            around = around.setdefault(folder, {})
        around[name] = ['file', objects.put(data), len(data), data.startswith(b'#!')]
    return _store_tree(objects, tree)


def _store_tree(objects: ObjectStore, tree: Mapping[str, Any]) -> str:
    entries = {
        name: ['folder', _store_tree(objects, entry)] if isinstance(entry, dict) else entry
        for name, entry in tree.items()
    }
    return objects.put(json.dumps(entries, sort_keys=True, separators=(',', ':')).encode())


def entries_of(objects: ObjectStore, tree: str) -> dict[str, tuple[Any, ...]]:
    """Read the entries of a tree, by name. Raises `WorkspaceError`."""
    try:
        content = json.loads(objects.get(tree)) if tree else {}
        entries = {str(name): tuple(entry) for name, entry in content.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise WorkspaceError(f'the content {tree[:12]} is not a snapshot') from None
    # A tree written by another program may name a file outside the folder.
    for name, entry in entries.items():
        if entry and not (_is_file_name(name) and _is_entry(*entry)):
            raise WorkspaceError(
                f'the content {tree[:12]} is not a snapshot: {name[:80]!r} names no file in it'
            )
    return {name: entry for name, entry in entries.items() if entry}


def _is_file_name(name: str) -> bool:
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


def files_of(objects: ObjectStore, tree: str, *, other: str = '') -> Iterator[FileVersion]:
    """Yield the files and links of a tree, ordered by path, skipping folders it shares with `other`.

    Args:
        objects: the store of both trees.
        tree: the digest of a tree; '' is the empty tree.
        other: the digest of another tree.
    """
    yield from _changed_versions(objects, tree, other, '')


def _changed_versions(objects: ObjectStore, tree: str, other_tree: str, path: str) -> Iterator[FileVersion]:
    others = entries_of(objects, other_tree)
    for name, entry in sorted(entries_of(objects, tree).items()):
        kind, value, *more = entry
        here, other = f'{path}{name}', others.get(name, ('', ''))
        if kind == 'folder':
            if other[:2] != ('folder', value):
                yield from _changed_versions(
                    objects, value, other[1] if other[0] == 'folder' else '', f'{here}/'
                )
        elif kind == 'link':
            yield FileVersion(path=here, digest='', size=0, target=value)
        else:
            yield FileVersion(path=here, digest=value, size=int(more[0]), executable=bool(more[1]))
