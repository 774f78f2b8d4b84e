"""Limits, walks, copies and removes folders made by agents, at any depth, following no links."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from engine.errors import WorkspaceError
from engine.workspace.confined_dir import DIR_FLAGS, MAX_DEPTH, open_folder, status_of

MEBIBYTE = 1 << 20
FILES_VARIABLE, SIZE_VARIABLE = 'HEMICYCLE_PROJECT_FILES', 'HEMICYCLE_PROJECT_MB'
MAX_PROJECT_FILES, MAX_PROJECT_BYTES = 100_000, 1024 * MEBIBYTE
"""Limits of a project; the settings replace the first, and the second in MiB."""
MORE_FILES, MORE_BYTES = 100_000, 1024 * MEBIBYTE
"""What agents may add to a project."""


def walk(folder: Path) -> Iterator[tuple[int, os.DirEntry[str] | None]]:
    """Yield every entry in a folder with its depth, from 1; nothing if the folder does not exist.

    Uses open folders instead of paths, whose length is limited. The contents of a folder deeper than
    `MAX_DEPTH` are replaced by a single None. Entries that vanish meanwhile or cannot be read are omitted.
    """
    try:
        descriptor = os.open(folder, DIR_FLAGS)
    except OSError:
        return
    yield from _walk(descriptor, 1)


def _walk(folder: int, depth: int) -> Iterator[tuple[int, os.DirEntry[str] | None]]:
    try:
        if depth > MAX_DEPTH:
            yield depth, None
            return
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                yield depth, entry
                if entry.is_dir(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        inner = os.open(entry.name, DIR_FLAGS, dir_fd=folder)
                        yield from _walk(inner, depth + 1)
    finally:
        os.close(folder)


def link_tree(source: Path, target: Path) -> None:
    """Copy a folder to `target`, using hard links for files; makes no copy if that fails. Blocks."""
    remove_tree(target)
    try:
        shutil.copytree(source, target, copy_function=os.link, symlinks=True)
    except (OSError, RecursionError):  # such as installed packages that are nested too deep
        remove_tree(target)


def remove_deeper(folder: int, max_depth: int = MAX_DEPTH) -> None:
    """Remove folders inside an open folder that are nested too deep for `walk` to visit their contents."""
    for name in os.listdir(folder):
        status = status_of(name, folder)
        if status is None or not stat.S_ISDIR(status.st_mode):
            continue
        if max_depth == 1:
            remove(name, folder)
            continue
        inner = open_folder(name, folder)
        try:
            remove_deeper(inner, max_depth - 1)
        finally:
            os.close(inner)


def remove_tree(path: Path) -> None:
    """Remove a folder and its contents as far as possible. Blocks."""
    with contextlib.suppress(OSError):
        around = os.open(path.parent, DIR_FLAGS)
        try:
            remove(path.name, around)
        finally:
            os.close(around)


def remove(name: str, around: int) -> None:
    """Remove a file or folder from an open folder.

    Raises:
        OSError: it cannot be removed; some of its contents may already have been removed.
    """
    if not _is_unlinked(name, around):
        inner = open_folder(name, around)
        try:
            _empty(inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=around)


def _empty(folder: int) -> None:
    """Remove everything in an open folder.

    Nested folders are moved up into it before they are emptied, so that depth does not matter.
    """
    os.fchmod(folder, 0o700)  # Its owner may have removed all permissions.
    todo = os.listdir(folder)
    while todo:
        name = todo.pop()
        if _is_unlinked(name, folder):
            continue
        inner = open_folder(name, folder)
        try:
            os.fchmod(inner, 0o700)
            for child in os.listdir(inner):
                if not _is_unlinked(child, inner):
                    todo.append(_move_up(child, inner, folder))
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=folder)


def _is_unlinked(name: str, around: int) -> bool:
    try:
        os.unlink(name, dir_fd=around)
    except (IsADirectoryError, PermissionError):
        return False
    return True


def _move_up(name: str, around: int, folder: int) -> str:
    inner = open_folder(name, around)
    os.fchmod(inner, 0o700)  # required to move it
    os.close(inner)
    moved = secrets.token_hex(16)
    os.rename(name, moved, src_dir_fd=around, dst_dir_fd=folder)
    return moved


def project_limits() -> tuple[int, int]:
    """Return how many files and bytes a project may have. Raises `WorkspaceError`."""
    try:
        files = int(os.environ.get(FILES_VARIABLE) or MAX_PROJECT_FILES)
        return files, int(os.environ.get(SIZE_VARIABLE) or MAX_PROJECT_BYTES >> 20) << 20
    except ValueError:
        raise WorkspaceError(f'{FILES_VARIABLE} and {SIZE_VARIABLE} must be whole numbers') from None


def folder_limits() -> tuple[int, int]:
    """Return how many files and bytes an agent's folder may hold: a project, its git history, and more.

    Raises:
        WorkspaceError: a setting is not a number.
    """
    files, size = project_limits()
    return 2 * files + MORE_FILES, 2 * size + MORE_BYTES


def snapshot_limits() -> tuple[int, int]:
    """Return how many entries and bytes a snapshot may have: more than a command may leave in a folder.

    Raises:
        WorkspaceError: a setting is not a number.
    """
    files, size = folder_limits()
    return files * 4 // 3, size * 4 // 3
