"""hemicycle resume: go on with an unfinished run whose process is gone."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Catalog, Conductor, RunId, Status
from ui.commands.claiming import claim
from ui.commands.exits import CODES, Code
from ui.commands.options import AsJson, Database, Durability, Patterns, RunName
from ui.commands.prompt import asking
from ui.commands.run import Pace, Quietly, catalog_of, shower_of
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.watching import Shower, follow
from ui.settings import Settings, Storage

EPILOG = f"""Examples:

```
hemicycle resume last
hemicycle resume 3f9 --json
hemicycle resume last --at debating.left
```

{CODES}"""


def resume(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    at: Annotated[
        str,
        typer.Option(
            '--at',
            metavar='STATE',
            help='An active state: only the region that it is in goes on; the others wait.',
            show_default=False,
        ),
    ] = '',
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Go on with an unfinished run that nobody runs any more, and show it until it ends.

    A run is left unfinished when its process was killed, or let go of it. It goes on from its last journaled
    step: at most the one call that was in flight is made again. A run whose process is still there is left
    to it. Where it stops at a breakpoint it is let go of again; in a terminal, it can be stepped then.
    """
    settings = settings_of(database, synchronous, patterns)
    catalog, shower = catalog_of(settings, pace), shower_of(as_json, quiet)
    work = _resume(storage_of(context), settings, catalog, shower, run, at)
    raise typer.Exit(asyncio.run(work))


async def _resume(  # noqa: PLR0913  (what the command was given)
    storage: Storage, settings: Settings, catalog: Catalog, shower: Shower, name: str, at: str
) -> Code:
    async with reading(storage, settings) as conductor:
        run: RunId = await find(conductor, name)
        info = await conductor.info(run)
    async with claim(storage, settings, catalog, run, what='resume', paused=bool(at)) as conductor:
        begun = _begun(conductor, run, at)
        return await follow(conductor, begun, shower, after=info.seq, ask=asking(shower))


async def _begun(conductor: Conductor, run: RunId, at: str) -> RunId:
    if at or (await conductor.info(run)).status is Status.PAUSED:
        await conductor.resume(run, at)
    return run
