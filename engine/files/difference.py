"""Differences between two snapshots: which files, and what changed in them, as unified diffs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from engine.files.objects import Objects
from engine.files.tree import FileVersion, files_of

MOST_BYTES = 1_000_000
MOST_LINES = 20_000
"""Of a file that is compared line by line: past that, to compare takes longer than anybody reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What became of one file between two snapshots."""

    path: str
    kind: Literal['added', 'removed', 'changed']
    before: FileVersion | None
    after: FileVersion | None
    text: str = ''
    """A unified diff; '' where the files are binary, too long to compare, or only their rights changed."""
    binary: bool = False
    added: int = 0
    """Lines."""
    removed: int = 0


def differences(objects: Objects, before: str, after: str) -> list[FileChange]:
    """The files that two snapshots do not share, in order of their paths; '' is the empty snapshot."""
    old = {file.path: file for file in files_of(objects, before, beside=after)}
    new = {file.path: file for file in files_of(objects, after, beside=before)}
    return [
        _change(objects, path, old.get(path), new.get(path))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def _change(objects: Objects, path: str, old: FileVersion | None, new: FileVersion | None) -> FileChange:
    kind: Literal['added', 'removed', 'changed'] = (
        'added' if old is None else 'removed' if new is None else 'changed'
    )
    change = FileChange(path=path, kind=kind, before=old, after=new)
    sizes = [file.size for file in (old, new) if file is not None]
    texts = [] if max(sizes) > MOST_BYTES else [_text(objects, old), _text(objects, new)]
    if not texts or any(text is None for text in texts):
        return FileChange(path=path, kind=kind, before=old, after=new, binary=bool(texts))
    first, second = (_lines(text or '') for text in texts)
    if max(len(first), len(second)) > MOST_LINES:
        return change
    names = ('/dev/null' if old is None else f'a/{path}', '/dev/null' if new is None else f'b/{path}')
    found = list(difflib.unified_diff(first, second, *names))
    return FileChange(
        path=path,
        kind=kind,
        before=old,
        after=new,
        text=''.join(found),
        added=sum(line.startswith('+') for line in found[2:]),
        removed=sum(line.startswith('-') for line in found[2:]),
    )


def _lines(text: str) -> list[str]:
    """A line feed alone ends a line: `splitlines` would cut at a form feed and the like too."""
    *lines, last = text.split('\n')
    whole = [f'{line}\n' for line in lines]
    return [*whole, f'{last}\n\\ No newline at end of file\n'] if last else whole


def _text(objects: Objects, file: FileVersion | None) -> str | None:
    """The file as text; None where it is not text."""
    if file is None:
        return ''
    if file.target is not None:
        return f'link to {file.target}\n'
    return decoded(objects.get(file.digest))


def decoded(data: bytes) -> str | None:
    """What a file holds as text; None where it is not text."""
    try:
        return None if b'\0' in data else data.decode()
    except UnicodeDecodeError:
        return None
