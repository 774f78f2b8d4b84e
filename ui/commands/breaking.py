"""hemicycle break: where a run is to stop."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import CONDITION_NAMES, Breakpoint, InvalidInput
from ui.commands.breakpoints import changed, line_of
from ui.commands.claiming import claim
from ui.commands.exits import CODES
from ui.commands.options import Database, Durability, Patterns, RunName
from ui.commands.run import catalog_of
from ui.commands.session import find, reading, settings_of, storage_of

NAMES = '\n'.join(f'- `{name}`: {what}' for name, what in CONDITION_NAMES.items())
EPILOG = f"""Examples:

```
hemicycle break last --enter reviewing
hemicycle break last --edge "reviewing>analyzing" --when "loops >= 2" --once
hemicycle break last --when "'search' in tools" --region
hemicycle break last
hemicycle break last --remove 2
```

A condition is written as in Python, with `and`, `or`, `not`, comparisons, `in`, arithmetic, `len`, `lower`,
`contains`, `starts`, `abs`, `min`, `max`, `sum`, `any`, `all`, and these names:

{NAMES}

{CODES}"""
Place = Annotated[str, typer.Option(metavar='STATE', help='The path of a state.', show_default=False)]


def break_(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    enter: Place = '',
    leave: Place = '',
    edge: Annotated[
        str, typer.Option(metavar='A>B', help='An edge: the states it leads from and to.', show_default=False)
    ] = '',
    when: Annotated[
        str, typer.Option(metavar='CONDITION', help='What must hold; see below.', show_default=False)
    ] = '',
    once: Annotated[bool, typer.Option('--once', help='Only the first time.')] = False,
    region: Annotated[
        bool, typer.Option('--region', help='Hold the region in which it is hit; the others go on.')
    ] = False,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar='N', help='Its number, or `all`. Can be given again.', show_default=False),
    ] = None,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Set a breakpoint, remove some, or list those of a run.

    For an unfinished run that no process runs; it is paused by this, and goes on with `hemicycle resume` or
    `hemicycle step`. For a run that is still to start there is `hemicycle run --break`; a run of the
    dashboard is stopped there.
    """
    settings = settings_of(database, synchronous, patterns)
    storage, catalog = storage_of(context), catalog_of(settings)
    item = Breakpoint(
        enter=enter, leave=leave, edge=edge, when=when, once=once, stop='region' if region else 'run'
    )

    async def work() -> tuple[Breakpoint, ...]:
        async with reading(storage, settings) as conductor:
            found = await find(conductor, run)
            kept = (await conductor.view(found)).breakpoints
        if item.label == 'nothing' and not remove:
            if once or region:
                raise InvalidInput({'break': 'say where or when: --enter, --leave, --edge, --when'})
            return kept
        async with claim(storage, settings, catalog, found) as conductor:
            return await changed(conductor, found, item if item.label != 'nothing' else None, remove or ())

    for kept in asyncio.run(work()):
        typer.echo(line_of(kept))
