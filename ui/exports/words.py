"""What the files for others have in common: who wrote them and when, their names, why one is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engine import EngineError, Note, RunInfo


class Refused(EngineError):
    """A run cannot be written in this form; says why, and in which it can."""


def moment(time: float) -> str:
    """A moment that means the same everywhere: 2026-03-04 14:32 UTC."""
    return datetime.fromtimestamp(time, UTC).strftime('%Y-%m-%d %H:%M UTC')


def written(note: Note) -> str:
    """When a note was written."""
    return f'{moment(note.created)}{", edited" if note.edited else ""}'


def hidden(count: int) -> str:
    """What is said of the secrets that were taken out."""
    return (
        f'{count} texts had something secret in them: it was taken out' if count else 'nothing was redacted'
    )


def file_name(info: RunInfo, end: str, *, more: str = '') -> str:
    """A name for a file, from the run's title: of letters and digits, not too long."""
    words = '-'.join(re.findall(r'\w+', info.title.lower()))[:50].strip('-_') or info.pattern
    return f'{words}-{info.id[:6]}{more}.{end}'
