"""Opens files beneath a folder and nowhere else: no link is followed on the way, no `..` taken."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.errors import ToolError

SEEN_AS = '/workspace'
"""What the folder is called inside the sandbox: a path that a command has printed may be given back."""
SCRATCH = '.hemicycle-'
"""How the name of a file begins that is being written; it is renamed when it is whole."""
MOST_DEPTH = 64
MOST_PATH, MOST_NAME = 4_000, 255
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without `O_NONBLOCK`, opening a named pipe would wait until somebody writes to it."""


def parts_of(path: str) -> tuple[str, ...]:
    """The names that lead from the folder to `path`; none for the folder itself.

    Raises:
        ToolError: the path leads out of the folder, or is no path.
    """
    inner = path.removeprefix(SEEN_AS) if path == SEEN_AS or path.startswith(f'{SEEN_AS}/') else path
    if inner is path and path.startswith('/'):
        raise ToolError(f'{_short(path)}: a path is relative to your folder, and does not begin with a slash')
    names = tuple(name for name in inner.split('/') if name not in ('', '.'))
    if '..' in names:
        raise ToolError(f'{_short(path)}: it leads out of your folder')
    if len(path) > MOST_PATH or len(names) > MOST_DEPTH:
        raise ToolError(f'{_short(path)}: the path is too long')
    for name in names:
        if '\0' in name or len(os.fsencode(name)) > MOST_NAME:
            raise ToolError(f'{_short(path)}: it has a name that no file can have')
    return names


class Beneath:
    """The files beneath one folder. Every name is opened relative to the folder around it, which stays open.

    So a link that is put in the way between a look and an opening leads nowhere.

    Args:
        root: the folder; made when something is written.
        owner: whom new files are given to, as user and group; nobody else where it is None.
    """

    def __init__(self, root: Path, owner: int | None = None) -> None:
        self.root, self.owner = root, owner

    @contextlib.contextmanager
    def folder(self, names: tuple[str, ...] = (), *, make: bool = False) -> Iterator[int]:
        """An open descriptor of the folder that `names` lead to.

        Raises:
            ToolError: there is none, or a link is in the way.
        """
        if make and not self.root.is_dir():
            self._make_root()
        with explained('/'.join(names) or '.'):
            descriptor = os.open(self.root, FOLDER)
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
        """Make a folder, if there is none."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=around)
            if self.owner is not None:
                os.chown(name, self.owner, self.owner, dir_fd=around, follow_symlinks=False)

    def read(self, names: tuple[str, ...], most: int) -> bytes:
        """The file that `names` lead to.

        Raises:
            ToolError: there is none, it is something else, or it has more than `most` bytes.
        """
        path = '/'.join(names) or '.'
        name = names[-1] if names else '.'
        with self.folder(names[:-1]) as around, explained(path), open_file(name, around) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise ToolError(f'{path}: it has {size} bytes, and at most {most} are read')
            return file.read(most)

    def write(self, names: tuple[str, ...], data: bytes, *, executable: bool | None = None) -> bool:
        """Write a whole file: whoever reads it sees the old one or the new one.

        Returns:
            Whether there was a file before. Its right to be executed stays where `executable` is None.

        Raises:
            ToolError: there is something else of that name, or a link is in the way.
        """
        path = '/'.join(names)
        if not names:
            raise ToolError('.: it is a folder, not a file')
        with self.folder(names[:-1], make=True) as around, explained(path):
            before = _status(names[-1], around)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise ToolError(f'{path}: it is {kind_of(before.st_mode)}, not a file')
            if executable is None:
                executable = before is not None and bool(before.st_mode & stat.S_IXUSR)
            self.put(names[-1], around, data, executable=executable)
            return before is not None

    def put(self, name: str, around: int, data: bytes, *, executable: bool) -> None:
        """Write a file of an open folder, in the place of whatever has its name."""
        scratch = f'{SCRATCH}{secrets.token_hex(8)}'
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(scratch, flags, 0o600, dir_fd=around), 'wb') as file:
            try:
                file.write(data)
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
                # Nobody else gets past the outermost; a sandbox without rights has to enter the innermost.
                path.mkdir(mode=0o700 if path != self.root or self.owner is None else 0o755, exist_ok=True)
        if self.owner is not None:
            os.chown(self.root, self.owner, self.owner)


def open_folder(name: str, around: int) -> int:
    """Open a folder of an open folder, also one that its owner has shut."""
    try:
        return os.open(name, FOLDER, dir_fd=around)
    except PermissionError:
        _unlock(name, around)
        return os.open(name, FOLDER, dir_fd=around)


def open_file(name: str, around: int) -> BinaryIO:
    """Open a file of an open folder for reading, also one that its owner has shut; never a link.

    Raises:
        ToolError: it is no file.
    """
    try:
        descriptor = os.open(name, FILE, dir_fd=around)
    except PermissionError:
        _unlock(name, around)
        descriptor = os.open(name, FILE, dir_fd=around)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise ToolError(f'{name}: it is {kind_of(mode)}, not a file')
    return os.fdopen(descriptor, 'rb')


def _unlock(name: str, around: int) -> None:
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            os.chmod(f'/proc/self/fd/{descriptor}', stat.S_IMODE(mode) | stat.S_IRWXU)
    finally:
        os.close(descriptor)


def kind_of(mode: int) -> str:
    """What a file is, for a sentence."""
    if stat.S_ISDIR(mode):
        return 'a folder'
    return 'a link' if stat.S_ISLNK(mode) else 'a file' if stat.S_ISREG(mode) else 'a device or a pipe'


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Say in a sentence for a model what the system says of `path`."""
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
        raise ToolError(f'{_short(path)}: {problem}') from None


def _status(name: str, around: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=around, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _short(path: str) -> str:
    return repr(path if len(path) <= 200 else f'{path[:200]}…')
