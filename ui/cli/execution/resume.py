"""hemicycle resume: continue an unfinished run that no process is executing."""

from __future__ import annotations

import asyncio

import typer

from engine import Catalog, Conductor, Status
from engine.records import RunId
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.execution.run import Quietly, reporter_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.options import AsJson, AtRegion, Database, Durability, Pace, Patterns, RunName
from ui.cli.output.reporters import Reporter
from ui.cli.session import claim, find_run, load_catalog, open_reader, settings_of, storage_of
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
    at: AtRegion = '',
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    quiet: Quietly = False,
    as_json: AsJson = False,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Continue an unfinished run that no process is executing, and show it until it ends.

    A run is left unfinished when its process was killed or released it. It continues from its last journaled
    step: at most the call that was in flight is repeated. A run whose process is still alive is left
    alone. At a breakpoint the run is released again; in a terminal, you can step from there.
    """
    settings = settings_of(database, synchronous, patterns)
    catalog, reporter = load_catalog(settings, pace), reporter_for(as_json, quiet)
    work = _resume(storage_of(context), settings, catalog, reporter, run, at)
    raise typer.Exit(asyncio.run(work))


async def _resume(  # noqa: PLR0913  (the command's options)
    storage: Storage, settings: Settings, catalog: Catalog, reporter: Reporter, name: str, at: str
) -> ExitCode:
    async with open_reader(storage, settings) as conductor:
        run: RunId = await find_run(conductor, name)
        info = await conductor.info(run)
    async with claim(storage, settings, catalog, run, what='resume', paused=bool(at)) as conductor:
        # The status before the claim: the run may have reached a breakpoint since, and must stop there.
        begun = _begin(conductor, run, at, paused=info.status is Status.PAUSED)
        return await follow(conductor, begun, reporter, after=info.seq, ask=prompt_for(reporter))


async def _begin(conductor: Conductor, run: RunId, at: str, *, paused: bool) -> RunId:
    if at or paused:
        await conductor.resume(run, at)
    return run
