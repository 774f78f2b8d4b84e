"""hemicycle step and hemicycle pause: go on with a run a step at a time, or hold it or a region of it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Conductor, EventRefused, How, InvalidInput, RunId, RunInfo, Status
from ui.commands.claiming import claim
from ui.commands.exits import CODES, Code
from ui.commands.options import AsJson, Database, Durability, Patterns, RunName
from ui.commands.prompt import asking
from ui.commands.run import Pace, Quietly, catalog_of, shower_of
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.watching import follow

STEP_EPILOG = f"""Examples:

```
hemicycle run pipeline --task "Tea or coffee?" --paused
hemicycle step last
hemicycle step last --over
hemicycle step last --out --at reviewing.thinking
```

{CODES}"""
PAUSE_EPILOG = f"""Examples:

```
hemicycle pause last
hemicycle pause last --at debating.left
```

{CODES}"""
At = Annotated[
    str,
    typer.Option(
        '--at',
        metavar='STATE',
        help='An active state: only the region that it is in is meant, and the others are left as they are.',
        show_default=False,
    ),
]


def step(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    over: Annotated[
        bool, typer.Option('--over', help='Go on until the workflow itself moves, or an agent ends.')
    ] = False,
    out: Annotated[
        bool, typer.Option('--out', help='Go on until the agent, or the state around what is active, ends.')
    ] = False,
    at: At = '',
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Go on with an unfinished run by one step, and let go of it.

    By itself: the next piece of work, also inside an agent, and no more. The run must be one that no process
    runs; it is paused then, until `hemicycle resume` or another step. In a terminal, more steps can be asked
    for at once. A run of the dashboard is stepped there.
    """
    if over and out:
        raise InvalidInput({'step': '--over or --out, not both'})
    settings = settings_of(database, synchronous, patterns)
    storage, catalog, shower = storage_of(context), catalog_of(settings, pace), shower_of(as_json, quiet)
    how: How = 'over' if over else 'out' if out else 'in'

    async def begun(conductor: Conductor, found: RunId) -> RunId:
        await conductor.step(found, how, at)
        return found

    async def work() -> Code:
        async with reading(storage, settings) as conductor:
            found = await find(conductor, run)
            after = (await conductor.info(found)).seq
        async with claim(storage, settings, catalog, found, what='step') as conductor:
            return await follow(conductor, begun(conductor, found), shower, after=after, ask=asking(shower))

    raise typer.Exit(asyncio.run(work()))


def pause(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    at: At = '',
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Hold a run that no process runs, or one region of it, so that it starts nothing when it goes on.

    A region that is held by itself stays so when the run is resumed; `hemicycle resume --at` lets it go on.
    """
    settings = settings_of(database, synchronous, patterns)
    storage, catalog = storage_of(context), catalog_of(settings)

    async def work() -> RunInfo:
        async with reading(storage, settings) as conductor:
            found = await find(conductor, run)
            if (await conductor.info(found)).status is Status.PAUSED and not at:
                raise EventRefused(found, 'pause', 'it is paused already')
        async with claim(storage, settings, catalog, found, what='pause') as conductor:
            if at:
                await conductor.pause(found, at)
            return await conductor.info(found)

    held = asyncio.run(work())
    typer.echo(f'run {held.id} is paused at step {held.seq}')
