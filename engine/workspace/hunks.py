"""Splits a unified diff into hunks, and applies a selection of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import WorkspaceError

HEAD = re.compile(r'@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@')


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place where a file changes."""

    first: int
    """Its first line in the old file, from 1; 0 if the file is new."""
    length: int
    """The number of lines of the old file it replaces."""
    lines: tuple[str, ...]
    """The lines with their signs (` `, `+`, `-`), each with its line feed if the file has one there."""
    text: str
    """The hunk as written in the diff."""


def split_hunks(diff: str) -> list[Hunk]:
    """Split one file's unified diff, as in `FileChange.text`, into hunks."""
    hunks: list[Hunk] = []
    lines: list[str] = []
    for line in [*diff.split('\n')[2:], '@@']:
        if line.startswith('@@'):
            if lines:
                hunks.append(_hunk(lines))
            lines = [line]
        else:
            lines.append(line)
    return hunks


def _hunk(lines: Sequence[str]) -> Hunk:
    head = HEAD.match(lines[0])
    if head is None:
        raise WorkspaceError(f'{lines[0][:80]!r} does not begin a hunk of a diff')
    body: list[str] = []
    for line in lines[1:]:
        if line.startswith('\\'):
            body[-1] = body[-1].removesuffix('\n')
        elif line:
            body.append(f'{line}\n')
    text = '\n'.join(lines).rstrip('\n')
    return Hunk(first=int(head[1]), length=int(head[2] or 1), lines=tuple(body), text=f'{text}\n')


def apply_hunks(before: str, hunks: Sequence[Hunk]) -> str:
    """Apply hunks of a diff to its old text. Raises `WorkspaceError` if one does not fit."""
    *whole, last = before.split('\n')
    old = [*(f'{line}\n' for line in whole), *([last] if last else [])]
    result: list[str] = []
    at = 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.first):
        # The head of a hunk that only adds lines names the line before them.
        start = hunk.first if hunk.length == 0 else hunk.first - 1
        context = [line[1:] for line in hunk.lines if line[0] != '+']
        if start < at or old[start : start + hunk.length] != context:
            raise WorkspaceError(f'the change at line {hunk.first} does not apply to the file')
        result += [*old[at:start], *(line[1:] for line in hunk.lines if line[0] != '-')]
        at = start + hunk.length
    return ''.join([*result, *old[at:]])
