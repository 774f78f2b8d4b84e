"""Text shared by exported files, and messages about imported runs."""

from __future__ import annotations

from engine import EngineError
from engine.history import Imported, program_version
from engine.records import Note
from ui.formatting.values import moment_text


class CannotExport(EngineError):
    """A run cannot be exported in this format; the message says why, and which format can be used."""


def note_date(note: Note) -> str:
    """Format when a note was written."""
    return f'{moment_text(note.created, "UTC", seconds=False)}{", edited" if note.edited else ""}'


def export_note(now: float, redacted: int) -> str:
    """Return a note about an exported file: when it was made, and how many texts were redacted."""
    hidden = f'{redacted} texts contained secrets, which were removed' if redacted else 'nothing was redacted'
    return (
        f'Exported {moment_text(now, "UTC", seconds=False)} by Hemicycle {program_version()}; {hidden}.'
        ' This is a recording: no model is called.'
    )


def import_message(imported: Imported) -> str:
    """Return a sentence about what happened to one imported run."""
    what = {
        'new': f'Run {imported.run} imported',
        'renamed': f'Run {imported.run} imported under a new id: {imported.origin} exists already',
        'known': f'Run {imported.run} exists already with the same history',
    }[imported.outcome]
    ended = '; it is unfinished, and can be viewed and forked' if imported.closed else ''
    return f'{what}{ended}: {imported.title}'
