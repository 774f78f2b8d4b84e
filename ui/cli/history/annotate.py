"""hemicycle runs change, fork choose: people's annotations of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar, cast

import typer

from engine import Conductor, InvalidInput
from engine.records import Annotation, RunId, RunInfo
from ui.cli.conductors import Listing, find_run, open_reader
from ui.cli.inputs import given
from ui.cli.options import RunName
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session

T = TypeVar('T')
EPILOG = """Examples:

```
hemicycle runs change last --title "The second attempt" --note "Slower, but it cites its sources."
hemicycle runs change 3f9 81c --tag nightly --untag draft --starred
hemicycle runs change last --private
hemicycle fork choose 81c
```"""

RunNames = Annotated[
    list[str],
    typer.Argument(metavar='RUN...', help='Ids, unique prefixes of them, or `last`.'),
]
FIELD_OPTIONS = {'title': '--title', 'tags': '--tag', 'note': '--note'}


@with_session('as_json', 'database', 'server')
def change(
    runs: RunNames,
    title: Annotated[str | None, typer.Option(metavar='TEXT', help='Name shown in lists.')] = None,
    tags: Annotated[list[str] | None, typer.Option('--tag', help='Add this tag. Repeatable.')] = None,
    untag: Annotated[
        list[str] | None,
        typer.Option('--untag', metavar='TAG', help='Remove this tag. Repeatable.'),
    ] = None,
    note: Annotated[
        str | None,
        typer.Option(metavar='TEXT', help='A note on the run; "" removes it.'),
    ] = None,
    private: Annotated[
        bool | None,
        typer.Option(help='Whether only its author and administrators can see it.'),
    ] = None,
    starred: Annotated[bool | None, typer.Option(help='Whether it is starred, to find it again.')] = None,
    pinned: Annotated[bool | None, typer.Option(help='Whether it is at the top of the list.')] = None,
    *,
    session: Session,
) -> None:
    """Change title, tags and note of runs, star and pin them, and set who can see them.

    What is not given stays as it is. The retention policy never deletes a starred or pinned run. Works while
    a server is running.
    """
    marks = {'private': private, 'starred': starred, 'pinned': pinned}
    details = cast(Annotation, given({'title': title, 'note': note, **marks}))
    if not (details or tags or untag):
        options = ', '.join(f'--{name}' for name in ('title', 'tag', 'untag', 'note', *marks))
        raise InvalidInput({'change': f'give what to change: {options}'})

    async def annotate(conductor: Conductor, run: RunId) -> RunInfo:
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

    for info in asyncio.run(change_runs(session, runs, annotate)):
        if session.as_json:
            print_json(**asdict(info))


@with_session('database', 'server')
def choose(run: RunName, *, session: Session) -> None:
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
