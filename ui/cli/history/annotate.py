"""hemicycle edit, note, star, pin and winner: people's annotations of runs and steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar, cast

import typer

from engine import Conductor, InvalidInput
from engine.records import MAX_NUMBER, Annotation, Note, RunId, RunInfo
from ui.cli.conductors import Listing, find_run, open_reader
from ui.cli.inputs import given
from ui.cli.options import RunName
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console, format_time
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

T = TypeVar('T')
EDIT = """Examples:

```
hemicycle edit last --title "The second attempt" --note "Slower, but it cites its sources."
hemicycle edit 3f9 81c --tag nightly --untag draft
hemicycle edit last --private
```"""
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
FIELD_OPTIONS = {'title': '--title', 'tags': '--tag', 'note': '--note'}
Off = Annotated[bool, typer.Option('--off', help='Remove the mark again.')]


@with_session('as_json', 'database', 'server')
def edit(  # noqa: PLR0913  (its arguments are the command's)
    runs: RunNames,
    title: Annotated[
        str | None, typer.Option(metavar='TEXT', help='Name shown in lists.', show_default=False)
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option('--tag', help='Add this tag. Repeatable.', show_default=False)
    ] = None,
    untag: Annotated[
        list[str] | None,
        typer.Option('--untag', metavar='TAG', help='Remove this tag. Repeatable.', show_default=False),
    ] = None,
    note: Annotated[
        str | None,
        typer.Option(metavar='TEXT', help='A note on the run; "" removes it.', show_default=False),
    ] = None,
    private: Annotated[
        bool | None,
        typer.Option(help='Whether only its author and administrators can see it.', show_default=False),
    ] = None,
    *,
    session: Session,
) -> None:
    """Change title, tags and note of runs, and who can see them.

    What is not given stays as it is. Works while a server is running.
    """
    details = cast(Annotation, given({'title': title, 'note': note, 'private': private}))
    if not (details or tags or untag):
        options = '--title, --tag, --untag, --note, --private or --no-private'
        raise InvalidInput({'edit': f'give what to change: {options}'})

    async def change(conductor: Conductor, run: RunId) -> RunInfo:
        before = (await conductor.info(run)).tags
        if len(runs) == 1 and (unknown := [tag for tag in untag or () if tag not in before]):
            listed = ', '.join(before) or 'none'
            raise InvalidInput({'--untag': f'the run has no tag {unknown[0]!r}; it has: {listed}'})
        if tags or untag:
            all_tags = dict.fromkeys([*before, *(tag.strip() for tag in tags or ())])
            details['tags'] = [tag for tag in all_tags if tag not in (untag or ())]
        try:
            return await conductor.annotate(run, **details)
        except InvalidInput as error:
            named = {FIELD_OPTIONS.get(field, field): problem for field, problem in error.problems.items()}
            raise InvalidInput(named) from None

    for info in asyncio.run(change_runs(session, runs, change)):
        if session.as_json:
            print_json(**asdict(info))


@with_session('as_json', 'database', 'server')
def note(  # noqa: PLR0913  (its arguments are the command's)
    run: RunName = 'last',
    text: Annotated[
        str, typer.Argument(metavar='TEXT', help='The text of the note.', show_default=False)
    ] = '',
    at: Annotated[
        int, typer.Option(metavar='STEP', help='The step that the note is on.', show_default=False)
    ] = 0,
    change: Annotated[
        int,
        typer.Option(
            max=MAX_NUMBER, metavar='NOTE', help='Replace this note with the text.', show_default=False
        ),
    ] = 0,
    remove: Annotated[
        int, typer.Option(max=MAX_NUMBER, metavar='NOTE', help='Remove this note.', show_default=False)
    ] = 0,
    *,
    session: Session,
) -> None:
    """Add, change or remove a note on a step of a run; with no option, list the notes.

    The run's history does not change. Works while a server is running.
    """
    if sum(map(bool, (at, change, remove))) > 1:
        raise InvalidInput({'--at, --change, --remove': 'only one of them at a time'})
    if text and not (at or change):
        raise InvalidInput({'--at': 'give the step that the note is on'})

    async def work() -> list[Note]:
        async with open_reader(session) as conductor:
            run_id = await find_run(conductor, run)
            if remove:
                await conductor.delete_note(run_id, remove)
            elif at or change:
                await conductor.write_note(run_id, text, at=at, note=change)
            return await conductor.notes(run_id)

    notes = asyncio.run(work())
    if session.as_json:
        for item in notes:
            print_json(**asdict(item))
        return
    out = console()
    for item in notes:
        out.print(f'{item.id:4}  step {item.seq:<5} {format_time(item.created)}  {strip_control(item.text)}')
    if not notes:
        out.print('no notes', style='dim')


@with_session('database', 'server')
def star(runs: RunNames, off: Off = False, *, session: Session) -> None:
    """Star runs to find them again; the retention policy never deletes them."""
    asyncio.run(change_runs(session, runs, lambda here, run: here.annotate(run, starred=not off)))


@with_session('database', 'server')
def pin(runs: RunNames, off: Off = False, *, session: Session) -> None:
    """Pin runs to the top of the list; the retention policy never deletes them."""
    asyncio.run(change_runs(session, runs, lambda here, run: here.annotate(run, pinned=not off)))


@with_session('database', 'server')
def winner(run: RunName, *, session: Session) -> None:
    """Mark a run as the best of the variants it was forked with."""
    asyncio.run(change_runs(session, [run], lambda here, run: here.mark_winner(run)))


async def change_runs(
    session: Session,
    names: list[str],
    change: Callable[[Conductor, RunId], Awaitable[T]],
    place: Listing = 'list',
) -> list[T]:
    """Find all of the named runs, then change each. Raises `UnknownRun`, `InvalidInput` before any change."""
    async with open_reader(session) as conductor:
        run_ids = [await find_run(conductor, name, place) for name in names]
        return [await change(conductor, run) for run in run_ids]
