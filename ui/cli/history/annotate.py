"""hemicycle note, star, pin and winner: people's annotations of runs and steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated

import typer

from engine import Conductor, InvalidInput
from engine.records import Note, RunId
from ui.cli.options import AsJson, Database, RunName
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console, format_time
from ui.cli.session import Listing, find_run, open_reader, settings_of, storage_of
from ui.formatting.safe_text import strip_control

NOTE = """Examples:

```
hemicycle note last --at 12 "Here the reviewer changes its mind."
hemicycle note 3f9
hemicycle note 3f9 --change 4 "It had not read the second file."
hemicycle note 3f9 --remove 4
```"""
STAR = """Examples:

```
hemicycle star last
hemicycle star 3f9 81c --off
hemicycle runs --starred
```"""
PIN = """Examples:

```
hemicycle pin last
hemicycle runs --pinned --json | jq -r .id
```"""
WINNER = """Examples:

```
hemicycle winner 81c
hemicycle lineage 81c
```"""

RunNames = Annotated[
    list[str],
    typer.Argument(metavar='RUN...', help='Ids, unique prefixes of them, or `last`.', show_default=False),
]
Off = Annotated[bool, typer.Option('--off', help='Remove the mark again.')]


def note(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    text: Annotated[
        str, typer.Argument(metavar='TEXT', help='The text of the note.', show_default=False)
    ] = '',
    at: Annotated[
        int, typer.Option(metavar='STEP', help='The step that the note is on.', show_default=False)
    ] = 0,
    change: Annotated[
        int, typer.Option(metavar='NOTE', help='Replace this note with the text.', show_default=False)
    ] = 0,
    remove: Annotated[int, typer.Option(metavar='NOTE', help='Remove this note.', show_default=False)] = 0,
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Add, change or remove a note on a step of a run; with no option, list the notes.

    The run's history does not change. Works while a server is running.
    """
    if sum(map(bool, (at, change, remove))) > 1:
        raise InvalidInput({'--at, --change, --remove': 'only one of them at a time'})
    if text and not (at or change):
        raise InvalidInput({'--at': 'give the step that the note is on'})

    async def work() -> list[Note]:
        async with open_reader(storage_of(context), settings_of(database)) as conductor:
            found = await find_run(conductor, run)
            if remove:
                await conductor.delete_note(found, remove)
            elif at or change:
                await conductor.write_note(found, text, at=at, note=change)
            return await conductor.notes(found)

    notes = asyncio.run(work())
    if as_json:
        for item in notes:
            print_json(**asdict(item))
        return
    out = console()
    for item in notes:
        out.print(f'{item.id:4}  step {item.seq:<5} {format_time(item.created)}  {strip_control(item.text)}')
    if not notes:
        out.print('no notes', style='dim')


def star(context: typer.Context, runs: RunNames, off: Off = False, database: Database = '') -> None:
    """Star runs to find them again; the retention policy never deletes them."""
    asyncio.run(change_runs(context, database, runs, lambda here, run: here.annotate(run, starred=not off)))


def pin(context: typer.Context, runs: RunNames, off: Off = False, database: Database = '') -> None:
    """Pin runs to the top of the list; the retention policy never deletes them."""
    asyncio.run(change_runs(context, database, runs, lambda here, run: here.annotate(run, pinned=not off)))


def winner(context: typer.Context, run: RunName, database: Database = '') -> None:
    """Mark a run as the best of the variants it was forked with."""
    asyncio.run(change_runs(context, database, [run], lambda here, run: here.mark_winner(run)))


async def change_runs(
    context: typer.Context,
    database: str,
    names: list[str],
    change: Callable[[Conductor, RunId], Awaitable[object]],
    place: Listing = 'list',
) -> None:
    """Find all of the named runs, then change each. Raises `UnknownRun`, `InvalidInput` before any change."""
    async with open_reader(storage_of(context), settings_of(database)) as conductor:
        found = [await find_run(conductor, name, place) for name in names]
        for run in found:
            await change(conductor, run)
