"""Differences between two snapshots: the files changed, and unified diffs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.workspace.object_store import ObjectStore
from engine.workspace.snapshots import FileVersion, files_of

KEPT_BY_TOOLS = re.compile(r'(^|/)(\.git|__pycache__|\.pytest_cache)/')
MAX_DIFF_BYTES = 1_000_000
MAX_DIFF_LINES = 20_000
"""Maximum size of a file to diff by line; larger diffs take long and nobody reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """How one file changed between two snapshots."""

    path: str
    kind: Literal['added', 'removed', 'changed']
    before: FileVersion | None
    after: FileVersion | None
    text: str = ''
    """A unified diff; '' if the files are binary or too long, or if only their permissions changed."""
    binary: bool = False
    added: int = 0
    """Number of lines added."""
    removed: int = 0


def diff_snapshots(objects: ObjectStore, before: str, after: str) -> list[FileChange]:
    """Return the files that differ between two snapshots, ordered by path; '' is the empty snapshot."""
    old = {file.path: file for file in files_of(objects, before, other=after)}
    new = {file.path: file for file in files_of(objects, after, other=before)}
    return [
        _change(objects, path, old.get(path), new.get(path))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def is_own_work(entry: FileVersion | FileChange) -> bool:
    """Return whether a file is an agent's work rather than internal data of Git or Python."""
    return not KEPT_BY_TOOLS.search(entry.path)


def format_patch(changes: Sequence[FileChange]) -> str:
    """Format all changes as one patch for `git apply` or `patch -p1`, preceded by a list of omitted files."""
    own = [change for change in changes if is_own_work(change)]
    left_out = [change for change in own if not change.text or is_link(change)]
    noted = [f'# Left out: {quote_path(change.path)}, {_why_left_out(change)}\n' for change in left_out]
    return ''.join([*noted, *(change.text for change in own if change not in left_out)])


def quote_path(path: str) -> str:
    """Quote a path as git does in patches, if it is not UTF-8 or contains quotes or control characters."""
    data = path.encode('utf-8', 'surrogateescape')
    if path.isprintable() and not set(path) & {'"', '\\'}:
        return path
    quoted = (f'\\{byte:03o}' if byte < 32 or byte > 126 or byte in b'"\\' else chr(byte) for byte in data)
    return f'"{"".join(quoted)}"'


def is_link(change: FileChange) -> bool:
    """Return whether the file is or was a symbolic link: a line-based patch would make it a regular file."""
    return any(file is not None and file.target is not None for file in (change.before, change.after))


def _why_left_out(change: FileChange) -> str:
    if is_link(change):
        return 'a symbolic link'
    return 'not UTF-8 text' if change.binary else f'{change.kind}, without lines to show'


def _change(objects: ObjectStore, path: str, old: FileVersion | None, new: FileVersion | None) -> FileChange:
    kind: Literal['added', 'removed', 'changed'] = (
        'added' if old is None else 'removed' if new is None else 'changed'
    )
    change = FileChange(path=path, kind=kind, before=old, after=new)
    sizes = [file.size for file in (old, new) if file is not None]
    texts = [] if max(sizes) > MAX_DIFF_BYTES else [_read_text(objects, old), _read_text(objects, new)]
    if not texts or any(text is None for text in texts):
        return FileChange(path=path, kind=kind, before=old, after=new, binary=bool(texts))
    first, second = (_split_lines(text or '') for text in texts)
    if max(len(first), len(second)) > MAX_DIFF_LINES:
        return change
    names = (
        '/dev/null' if old is None else quote_path(f'a/{path}'),
        '/dev/null' if new is None else quote_path(f'b/{path}'),
    )
    diff_lines = list(difflib.unified_diff(first, second, *names))
    return FileChange(
        path=path,
        kind=kind,
        before=old,
        after=new,
        text=''.join(diff_lines),
        added=sum(line.startswith('+') for line in diff_lines[2:]),
        removed=sum(line.startswith('-') for line in diff_lines[2:]),
    )


def _split_lines(text: str) -> list[str]:
    """Split at line feeds only: `splitlines` would also split at form feeds and the like."""
    *lines, last = text.split('\n')
    whole = [f'{line}\n' for line in lines]
    return [*whole, f'{last}\n\\ No newline at end of file\n'] if last else whole


def _read_text(objects: ObjectStore, file: FileVersion | None) -> str | None:
    """Return the file as text; None if it is not text."""
    if file is None:
        return ''
    if file.target is not None:
        return f'link to {file.target}\n'
    return decode_text(objects.get(file.digest))


def decode_text(data: bytes) -> str | None:
    """Decode a file's content; None if it is not text."""
    try:
        return None if b'\0' in data else data.decode()
    except UnicodeDecodeError:
        return None
