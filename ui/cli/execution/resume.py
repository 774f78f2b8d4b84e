"""hemicycle resume: continue an unfinished run that no process is executing."""

from __future__ import annotations

import asyncio

import typer

from engine import Conductor, Status
from engine.records import RunId
from ui.cli.conductors import claim, find_run, open_reader
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.execution.run import reporter_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.options import AtRegion, RunName
from ui.cli.session import Session, with_session

EPILOG = f"""Examples:

```
hemicycle resume last
hemicycle resume 3f9 --json
hemicycle resume last --at debating.left
```

{CODES}"""


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def resume(run: RunName = 'last', at: AtRegion = '', *, session: Session) -> None:
    """Continue an unfinished run that no process is executing, and show it until it ends.

    A run is left unfinished when its process was killed or released it. It continues from its last journaled
    step: at most the call that was in flight is repeated. A run whose process is still alive is left
    alone. At a breakpoint the run is released again; in a terminal, you can step from there.
    """
    raise typer.Exit(asyncio.run(_resume(session, run, at)))


async def _resume(session: Session, name: str, at: str) -> ExitCode:
    reporter = reporter_for(session)
    async with open_reader(session) as conductor:
        run: RunId = await find_run(conductor, name)
        info = await conductor.info(run)
    async with claim(session, run, what='resume', paused=bool(at)) as conductor:
        # The status before the claim: the run may have reached a breakpoint since, and must stop there.
        begun = _begin(conductor, run, at, paused=info.status is Status.PAUSED)
        return await follow(conductor, begun, reporter, after=info.seq, ask=prompt_for(reporter))


async def _begin(conductor: Conductor, run: RunId, at: str, *, paused: bool) -> RunId:
    if at or paused:
        await conductor.resume(run, at)
    return run
