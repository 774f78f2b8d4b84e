"""hemicycle note, star and pin: what a person says of runs and of their steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated

import typer

from engine import Conductor, InvalidInput, Note, RunId
from ui.commands.options import AsJson, Database, RunName
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.commands.wording import console, when
from ui.plain import plain

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

RunNames = Annotated[
    list[str],
    typer.Argument(
        metavar='RUN...', help='Ids, their beginnings where these are unique, or `last`.', show_default=False
    ),
]
Off = Annotated[bool, typer.Option('--off', help='Take it away again.')]


def note(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    text: Annotated[str, typer.Argument(help='What to say.', show_default=False)] = '',
    at: Annotated[int, typer.Option(metavar='STEP', help='The step it is on.', show_default=False)] = 0,
    change: Annotated[
        int, typer.Option(metavar='NOTE', help='Put the text in the place of this note.', show_default=False)
    ] = 0,
    remove: Annotated[int, typer.Option(metavar='NOTE', help='Remove this note.', show_default=False)] = 0,
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Write a note on a step of a run, change one or remove one; without any of that, list them.

    The history of the run is not changed by it. Works while a server runs.
    """
    if sum(map(bool, (at, change, remove))) > 1:
        raise InvalidInput({'--at, --change, --remove': 'only one of them at a time'})
    if text and not (at or change):
        raise InvalidInput({'--at': 'name the step that the note is on'})

    async def work(conductor: Conductor, found: RunId) -> None:
        if remove:
            await conductor.delete_note(found, remove)
        elif at or change:
            await conductor.write_note(found, text, at=at, note=change)

    notes = asyncio.run(_noted(context, database, run, work))
    if as_json:
        for item in notes:
            json_line(**asdict(item))
        return
    out = console()
    for item in notes:
        out.print(f'{item.id:4}  step {item.seq:<5} {when(item.created)}  {plain(item.text)}')
    if not notes:
        out.print('no notes', style='dim')


def star(context: typer.Context, runs: RunNames, off: Off = False, database: Database = '') -> None:
    """Star runs, to find them again; what is starred is kept, whatever the retention policy says."""
    asyncio.run(_mark(context, database, runs, lambda here, run: here.annotate(run, starred=not off)))


def pin(context: typer.Context, runs: RunNames, off: Off = False, database: Database = '') -> None:
    """Pin runs: they stand on top of the list, and are kept, whatever the retention policy says."""
    asyncio.run(_mark(context, database, runs, lambda here, run: here.annotate(run, pinned=not off)))


async def _noted(
    context: typer.Context,
    database: str,
    name: str,
    work: Callable[[Conductor, RunId], Awaitable[None]],
) -> list[Note]:
    async with reading(storage_of(context), settings_of(database)) as conductor:
        found = await find(conductor, name)
        await work(conductor, found)
        return await conductor.notes(found)


async def _mark(
    context: typer.Context,
    database: str,
    names: list[str],
    change: Callable[[Conductor, RunId], Awaitable[object]],
) -> None:
    async with reading(storage_of(context), settings_of(database)) as conductor:
        found = [await find(conductor, name) for name in names]
        for run in found:
            await change(conductor, run)
