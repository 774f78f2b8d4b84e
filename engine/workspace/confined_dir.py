"""Confines file access to one folder: follows no links and accepts no `..`."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from engine.errors import ToolError, WorkspaceError
from engine.records.jsonable import clip

SANDBOX_PATH = '/workspace'
"""The folder's path inside the sandbox; accepted as a prefix, since commands print such paths."""
TEMP_PREFIX = '.hemicycle-'
"""Name prefix of a file being written; it is renamed once complete."""
MAX_DEPTH = 64
MAX_PATH, MAX_NAME = 4_000, 255
DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without `O_NONBLOCK`, opening a named pipe would block until somebody writes to it."""


def split_path(path: str) -> tuple[str, ...]:
    """Split a path into the names from the folder to it; empty for the folder itself.

    Raises:
        ToolError: the path leads out of the folder, or is not a valid path.
    """
    inner = (
        path.removeprefix(SANDBOX_PATH)
        if path == SANDBOX_PATH or path.startswith(f'{SANDBOX_PATH}/')
        else path
    )
    if inner is path and path.startswith('/'):
        raise ToolError(f'{_short(path)}: a path is relative to your folder and must not begin with a slash')
    names = tuple(name for name in inner.split('/') if name not in ('', '.'))
    if '..' in names:
        raise ToolError(f'{_short(path)}: it leads outside your folder')
    if len(path) > MAX_PATH or len(names) > MAX_DEPTH:
        raise ToolError(f'{_short(path)}: the path is too long')
    for name in names:
        if '\0' in name or len(os.fsencode(name)) > MAX_NAME:
            raise ToolError(f'{_short(path)}: no file can have this name')
    return names


class ConfinedDir:
    """The files beneath one folder. Each name is opened relative to its open parent folder.

    Therefore a link slipped in between check and open has no effect.

    Args:
        root: the folder; created on the first write.
        owner: the user and group id that own new files; None means this process's user.
    """

    def __init__(self, root: Path, owner: int | None = None) -> None:
        self.root, self.owner = root, owner

    @contextlib.contextmanager
    def folder(self, names: tuple[str, ...] = (), *, make: bool = False) -> Iterator[int]:
        """Open the folder at `names`; yields its descriptor.

        Raises:
            ToolError: it does not exist, or the path contains a link.
        """
        if make and not self.root.is_dir():
            self._make_root()
        with explain_os_errors('/'.join(names) or '.'):
            descriptor = open_folder(str(self.root), None)
            try:
                for name in names:
                    if make:
                        self.make(name, descriptor)
                    inner = open_folder(name, descriptor)
                    os.close(descriptor)
                    descriptor = inner
                yield descriptor
            finally:
                os.close(descriptor)

    def make(self, name: str, around: int) -> None:
        """Create a folder if it does not exist."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=around)
            if self.owner is not None:
                os.chown(name, self.owner, self.owner, dir_fd=around, follow_symlinks=False)

    def read(self, names: tuple[str, ...], most: int) -> bytes:
        """Read the file at `names`.

        Raises:
            ToolError: it does not exist, is not a file, or has more than `most` bytes.
        """
        path = '/'.join(names) or '.'
        name = names[-1] if names else '.'
        with self.folder(names[:-1]) as around, explain_os_errors(path), open_file(name, around) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise ToolError(f'{path}: it has {size} bytes, and at most {most} can be read')
            return file.read(most)

    def write(self, names: tuple[str, ...], data: bytes, *, executable: bool | None = None) -> bool:
        """Write a file atomically: readers see either the old content or the new.

        If `executable` is None, an existing file's executable bit is retained.

        Returns:
            Whether the file existed.

        Raises:
            ToolError: something other than a file has that name, or the path contains a link.
        """
        path = '/'.join(names)
        if not names:
            raise ToolError('.: it is a folder, not a file')
        with self.folder(names[:-1], make=True) as around, explain_os_errors(path):
            before = status_of(names[-1], around)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise ToolError(f'{path}: it is {describe_mode(before.st_mode)}, not a file')
            if executable is None:
                executable = before is not None and bool(before.st_mode & stat.S_IXUSR)
            self.put(names[-1], around, data, executable=executable)
            return before is not None

    def copy_in(self, source: Path, paths: Iterable[str]) -> None:
        """Copy files of another folder to the same paths in this one; fastest if neighbours are together.

        Raises:
            ToolError: a folder has that name, or the path contains a link.
            WorkspaceError: a file cannot be read.
        """
        for inner, group in groupby(paths, os.path.dirname):
            with self.folder(split_path(inner), make=True) as around:
                for path in group:
                    with _open_source(source / path) as file, explain_os_errors(path):
                        executable = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
                        with self._replacing(os.path.basename(path), around, executable) as copy:
                            share(file, copy)

    def remove(self, names: tuple[str, ...]) -> None:
        """Remove a file or a link, if it exists.

        Raises:
            ToolError: it is a folder, or the path contains a link.
        """
        path = '/'.join(names)
        if not names:
            raise ToolError('.: it is a folder, not a file')
        with self.folder(names[:-1], make=True) as around, explain_os_errors(path):
            before = status_of(names[-1], around)
            if before is not None and stat.S_ISDIR(before.st_mode):
                raise ToolError(f'{path}: it is a folder, not a file')
            if before is not None:
                os.unlink(names[-1], dir_fd=around)

    def put(self, name: str, around: int, data: bytes, *, executable: bool) -> None:
        """Write a file into an open folder, replacing an existing file or link of that name."""
        with self._replacing(name, around, executable) as file:
            file.write(data)

    @contextlib.contextmanager
    def _replacing(self, name: str, around: int, executable: bool) -> Iterator[BinaryIO]:
        scratch = f'{TEMP_PREFIX}{secrets.token_hex(8)}'
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(scratch, flags, 0o600, dir_fd=around), 'wb') as file:
            try:
                yield file
                file.flush()
                if self.owner is not None:
                    os.fchown(file.fileno(), self.owner, self.owner)
                os.fchmod(file.fileno(), 0o755 if executable else 0o644)
                os.replace(scratch, name, src_dir_fd=around, dst_dir_fd=around)
            except BaseException:
                os.unlink(scratch, dir_fd=around)
                raise

    def _make_root(self) -> None:
        for path in reversed([self.root, *self.root.parents]):
            if not path.is_dir():
                # The outer folders are closed to other users; an unprivileged sandbox must enter the root.
                path.mkdir(mode=0o700 if path != self.root or self.owner is None else 0o755, exist_ok=True)
        if self.owner is not None:
            os.chown(self.root, self.owner, self.owner)


def open_folder(name: str, around: int | None) -> int:
    """Open a subfolder of an open folder, even if its owner lacks permissions."""
    try:
        return os.open(name, DIR_FLAGS, dir_fd=around)
    except PermissionError:
        _unlock(name, around)
        return os.open(name, DIR_FLAGS, dir_fd=around)


def open_file(name: str, around: int) -> BinaryIO:
    """Open a file in an open folder for reading, even if its owner lacks permissions; never a link.

    Raises:
        ToolError: it is not a file.
    """
    try:
        descriptor = os.open(name, FILE_FLAGS, dir_fd=around)
    except PermissionError:
        _unlock(name, around)
        descriptor = os.open(name, FILE_FLAGS, dir_fd=around)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise ToolError(f'{name}: it is {describe_mode(mode)}, not a file')
    return os.fdopen(descriptor, 'rb')


def _unlock(name: str, around: int | None) -> None:
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            os.chmod(f'/proc/self/fd/{descriptor}', stat.S_IMODE(mode) | stat.S_IRWXU)
    finally:
        os.close(descriptor)


def describe_mode(mode: int) -> str:
    """Describe the kind of file for use in a sentence."""
    if stat.S_ISDIR(mode):
        return 'a folder'
    return 'a link' if stat.S_ISLNK(mode) else 'a file' if stat.S_ISREG(mode) else 'a device or a pipe'


@contextlib.contextmanager
def explain_os_errors(path: str) -> Iterator[None]:
    """Translate system errors about `path` into a sentence for a model."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f'{_short(path)}: there is no such file or folder') from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            problem = 'a link is in the way, and links are not followed'
        elif error.errno == errno.ENOTDIR:
            problem = 'a file or a link is in the way where a folder should be'
        else:
            problem = error.strerror or str(error)
        raise ToolError(f'{"the folder" if path == "." else _short(path)}: {problem}') from None


def _open_source(path: Path) -> BinaryIO:
    try:
        return path.open('rb')
    except OSError as error:
        raise WorkspaceError(f'{path} cannot be read: {error.strerror}') from None


def share(source: BinaryIO, target: BinaryIO) -> None:
    """Copy a file to an empty one; their blocks are shared where the file system can (reflinks)."""
    copied = 0
    with contextlib.suppress(OSError):  # Some pairs of file systems cannot.
        while more := os.copy_file_range(source.fileno(), target.fileno(), 1 << 30, copied, copied):
            copied += more
    for file in (source, target):
        file.seek(copied)
    shutil.copyfileobj(source, target)


def status_of(name: str, around: int) -> os.stat_result | None:
    """Return the status of a directory entry in an open folder; None if it does not exist."""
    try:
        return os.stat(name, dir_fd=around, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _short(path: str) -> str:
    return repr(clip(path, 200))
