"""hemicycle runs note: people's notes on the steps of a run: list, add, change and remove."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from engine import Conductor
from engine.records import MAX_NUMBER, RunId
from ui.cli.conductors import find_run, open_reader
from ui.cli.options import RunName
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import moment_text

EPILOG = """Examples:

```
hemicycle runs note add last "Here the reviewer changes its mind." --at 12
hemicycle runs note list 3f9
hemicycle runs note change 3f9 4 "It had not read the second file."
hemicycle runs note remove 3f9 4
```"""
Number = Annotated[
    int,
    typer.Argument(min=1, max=MAX_NUMBER, metavar='NOTE', help='Its number, as `list` shows it.'),
]
Text = Annotated[str, typer.Argument(metavar='TEXT', help='The text of the note.')]


@with_session('as_json', 'database', 'server')
def list_notes(run: RunName = 'last', *, session: Session) -> None:
    """List the notes of a run."""
    _change(session, run)


@with_session('as_json', 'database', 'server')
def add(
    run: RunName,
    text: Text,
    at: Annotated[int, typer.Option(min=1, metavar='STEP', help='The step that the note is on.')],
    *,
    session: Session,
) -> None:
    """Add a note to a step of a run, and list them. The run's history does not change."""
    _change(session, run, lambda here, run_id: here.write_note(run_id, text, at=at))


@with_session('as_json', 'database', 'server')
def change(run: RunName, note: Number, text: Text, *, session: Session) -> None:
    """Replace the text of a note, and list them."""
    _change(session, run, lambda here, run_id: here.write_note(run_id, text, note=note))


@with_session('as_json', 'database', 'server')
def remove(run: RunName, note: Number, *, session: Session) -> None:
    """Remove a note, and list the others."""
    _change(session, run, lambda here, run_id: here.delete_note(run_id, note))


def _change(
    session: Session, name: str, change: Callable[[Conductor, RunId], Awaitable[Any]] | None = None
) -> None:
    """Change the notes of a run, and print them. Raises `EngineError`."""

    async def work() -> None:
        async with open_reader(session) as conductor:
            run = await find_run(conductor, name)
            if change:
                await change(conductor, run)
            notes = await conductor.notes(run)
        out = console()
        for note in notes:
            if session.as_json:
                print_json(**asdict(note))
                continue
            moment, text = moment_text(note.created), strip_control(note.text)
            out.print(f'{note.id:4}  step {note.seq:<5} {moment}  {text}')
        if not notes and not session.as_json:
            out.print('no notes', style='dim')

    asyncio.run(work())
