"""Files as people read them: what of a file can be shown, and the lines of a unified diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine import FileChange, FileVersion
from ui.presenters.words import count

MOST_BYTES = 400_000
MOST_LINES = 8_000
"""Of a file that is shown: what is longer is downloaded."""
HUNK = re.compile(r'^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@')


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A file's lines, or why they are not shown."""

    lines: tuple[str, ...] = ()
    note: str = ''


def shown(content: bytes) -> Shown:
    """What can be shown of a content: text as lines, and for all else a sentence."""
    if len(content) > MOST_BYTES:
        return Shown(note=f'It is {size(len(content))} long: too long to be shown. It can be downloaded.')
    try:
        text = '\0' if b'\0' in content else content.decode()
    except UnicodeDecodeError:
        text = '\0'
    if text == '\0':
        return Shown(note=f'It is not text ({size(len(content))}). It can be downloaded.')
    if not text:
        return Shown(note='It is empty.')
    lines = text.removesuffix('\n').split('\n')
    if len(lines) > MOST_LINES:
        return Shown(note=f'It has {len(lines):,} lines: too many to be shown. It can be downloaded.')
    return Shown(lines=tuple(lines))


def size(length: int) -> str:
    """A number of bytes for people: 812 B, 4.1 kB, 2.3 MB."""
    if length < 1_000:
        return f'{length} B'
    for limit, unit in ((1_000_000, 'kB'), (1_000_000_000, 'MB')):
        if length < limit:
            return f'{length * 1_000 / limit:.1f} {unit}'
    return f'{length / 1_000_000_000:.1f} GB'


def rows(diff: str) -> list[list[Any]]:
    r"""The rows of a unified diff: a kind, the numbers before and after (0 where there is none), the text.

    Kinds are ` `, `+`, `-`, `\` (a note) and `@`, a gap, whose text says how many unchanged lines it folds.
    """
    return list(_rows(diff))


def _rows(diff: str) -> Iterator[list[Any]]:
    before = after = 0
    # A line feed alone ends a line: a form feed in a file does not.
    for told in diff.removesuffix('\n').split('\n')[2:]:
        hunk = HUNK.match(told)
        if hunk:
            folded = int(hunk[2]) - (after or 1)
            before, after = int(hunk[1]), int(hunk[2])
            if folded > 0:
                yield ['@', 0, 0, f'{folded:,} unchanged {"line" if folded == 1 else "lines"}']
            continue
        kind, text = told[:1] or ' ', told[1:]
        yield [kind, before if kind in ' -' else 0, after if kind in ' +' else 0, text]
        before += kind in ' -'
        after += kind in ' +'


def line(entry: FileVersion | FileChange) -> dict[str, str]:
    """An entry as the tree shows it."""
    if isinstance(entry, FileVersion):
        return {'path': entry.path, 'note': 'link' if entry.target else size(entry.size)}
    counts = f'+{entry.added} -{entry.removed}' if entry.text else ''
    return {'path': entry.path, 'mark': entry.kind, 'note': counts}


def sum_of(changes: Sequence[FileChange]) -> str:
    """All differences in one line."""
    if not changes:
        return 'They hold the same files.'
    added, removed = sum(change.added for change in changes), sum(change.removed for change in changes)
    return f'{count(len(changes), "file differs", "files differ")}: +{added:,} -{removed:,} lines'


def why(change: FileChange) -> str:
    """Why a change has no lines to show."""
    if change.text:
        return ''
    if change.binary:
        return f'Not text: it was {change.kind}.'
    old, new = change.before, change.after
    if old and new and old.digest == new.digest:
        return 'Only its rights have changed.'
    return (
        f'It was {change.kind}; it is too long to be compared.'
        if max(file.size for file in (old, new) if file)
        else f'An empty file was {change.kind}.'
    )


def rights(file: FileVersion) -> str:
    """What is to be said of a file's rights."""
    return ', executable' if file.executable else ''
