"""Hunks of a unified diff: taken apart, and some of them applied."""

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
    """The number of its first line before, from 1; 0 where the file is new."""
    length: int
    """How many lines of the file before it replaces."""
    lines: tuple[str, ...]
    """The lines with their signs (` `, `+`, `-`), each with its line feed if the file has one there."""
    text: str
    """The hunk as the diff has it."""


def split_hunks(diff: str) -> list[Hunk]:
    """The hunks of one file's unified diff, as `FileChange.text` holds it."""
    found: list[Hunk] = []
    lines: list[str] = []
    for line in [*diff.split('\n')[2:], '@@']:
        if line.startswith('@@'):
            if lines:
                found.append(_hunk(lines))
            lines = [line]
        else:
            lines.append(line)
    return found


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
    """A text with these hunks of a diff that begins at it. Raises `WorkspaceError` if one does not fit."""
    *whole, last = before.split('\n')
    old = [*(f'{line}\n' for line in whole), *([last] if last else [])]
    made: list[str] = []
    at = 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.first):
        # A hunk that only adds names the line after which it adds.
        start = hunk.first if hunk.length == 0 else hunk.first - 1
        kept = [line[1:] for line in hunk.lines if line[0] != '+']
        if start < at or old[start : start + hunk.length] != kept:
            raise WorkspaceError(f'the change at line {hunk.first} does not apply to the file')
        made += [*old[at:start], *(line[1:] for line in hunk.lines if line[0] != '-')]
        at = start + hunk.length
    return ''.join([*made, *old[at:]])
