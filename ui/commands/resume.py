"""hemicycle resume: go on with an unfinished run whose process is gone."""

from __future__ import annotations

import asyncio

import typer

from engine import Catalog, Conductor, EventRefused, RunId, RunInfo, Status
from ui.commands.exits import CODES, Code
from ui.commands.options import AsJson, Database, Durability, Patterns, RunName
from ui.commands.run import Pace, Quietly, catalog_of, shower_of
from ui.commands.session import find, reading, running, settings_of, storage_of
from ui.commands.watching import Shower, follow
from ui.settings import Settings, Storage

EPILOG = f"""Examples:

```
hemicycle resume last
hemicycle resume 3f9 --json
```

{CODES}"""


def resume(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    run: RunName = 'last',
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Go on with an unfinished run that nobody runs any more, and show it until it ends.

    A run is left unfinished when its process was killed, or let go of it. It goes on from its last journaled
    step: at most the one call that was in flight is made again. A run whose process is still there is left to
    it.
    """
    settings = settings_of(database, synchronous, patterns)
    work = _resume(storage_of(context), settings, catalog_of(settings, pace), shower_of(as_json, quiet), run)
    raise typer.Exit(asyncio.run(work))


async def _resume(storage: Storage, settings: Settings, catalog: Catalog, shower: Shower, name: str) -> Code:
    async with reading(storage, settings) as conductor:
        run: RunId = await find(conductor, name)
        info = await conductor.info(run)
    if info.status.ended:
        raise EventRefused(run, 'resume', f'it is {info.status}')
    async with running(storage, settings, catalog, only=run) as conductor:
        return await follow(conductor, _recovered(conductor, info), shower, after=info.seq)


async def _recovered(conductor: Conductor, info: RunInfo) -> RunId:
    if info.id not in await conductor.recover():
        reason = conductor.stranded.get(info.id, f'its process {info.owner} is still there')
        raise EventRefused(info.id, 'resume', reason)
    if info.status is Status.PAUSED:
        await conductor.resume(info.id)
    return info.id
