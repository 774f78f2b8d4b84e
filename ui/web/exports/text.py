"""Text shared by exported files, and messages about what was imported."""

from __future__ import annotations

from collections.abc import Sequence

from engine import EngineError
from engine.history import Imported, program_version
from engine.records import Note
from ui.formatting.values import count, moment_text


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


def import_messages(imported: Sequence[Imported]) -> list[tuple[str, str]]:
    """Return sentences about what was imported, each with the address of its page, if it has one.

    Runs are listed one by one, except those of an experiment, which may be thousands.
    """
    records = [item for item in imported if item.kind != 'run']
    runs = [item for item in imported if item.kind == 'run']
    messages = [(_record_message(item), f'/{item.kind}s/{item.id}') for item in records]
    if not records:
        return [(_run_message(item), f'/runs/{item.id}') for item in runs]
    if known := sum(item.outcome == 'known' for item in runs):
        messages.append((f'{count(known, "run")} known already', ''))
    if new := len(runs) - known:
        messages.append((f'{count(new, "run")} imported', ''))
    return messages


def _record_message(imported: Imported) -> str:
    what = {
        'new': 'imported',
        'renamed': f'imported under a new id: {imported.origin} exists already, with other runs or scores',
        'known': 'exists already',
    }[imported.outcome]
    ended = '; it was under way when it was exported, and is cancelled here' if imported.closed else ''
    return f'{imported.kind.capitalize()} "{imported.title}" {what}{ended}'


def _run_message(imported: Imported) -> str:
    what = {
        'new': f'Run {imported.id} imported',
        'renamed': f'Run {imported.id} imported under a new id: {imported.origin} exists already',
        'known': f'Run {imported.id} exists already with the same history',
    }[imported.outcome]
    ended = '; it is unfinished, and can be viewed and forked' if imported.closed else ''
    return f'{what}{ended}: {imported.title}'
