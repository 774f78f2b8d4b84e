"""hemicycle step, hemicycle pause: advance a run step by step, or pause it or a region."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Conductor, EventRefused, InvalidInput, Status
from engine.journal import StepMode
from engine.records import RunId, RunInfo
from ui.cli.conductors import claim, find_run, open_reader
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.execution.run import reporter_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.options import AtRegion, RunName
from ui.cli.session import Session, with_session

EPILOG = f"""Examples:

```
hemicycle run pipeline --task "Tea or coffee?" --paused
hemicycle step last
hemicycle step last --over
hemicycle step last --out --at reviewing.thinking
hemicycle pause last --at debating.left
```

{CODES}"""


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def step(
    run: RunName = 'last',
    over: Annotated[
        bool, typer.Option('--over', help='Run until the workflow itself moves, or an agent ends.')
    ] = False,
    out: Annotated[bool, typer.Option('--out', help='Run until the agent or its parent state ends.')] = False,
    at: AtRegion = '',
    *,
    session: Session,
) -> None:
    """Advance an unfinished run by one step, then release it.

    By default: the next piece of work, even inside an agent, and no more. The run stays paused until
    `hemicycle resume` or another step. In a terminal, you are asked for the next step right away. Refused
    while another command is executing the run.
    """
    if over and out:
        raise InvalidInput({'step': '--over or --out, not both'})
    reporter = reporter_for(session)
    how: StepMode = 'over' if over else 'out' if out else 'in'

    async def begin(conductor: Conductor, run_id: RunId) -> RunId:
        await conductor.step(run_id, how, at)
        return run_id

    async def work() -> ExitCode:
        async with open_reader(session) as conductor:
            run_id = await find_run(conductor, run)
            after = (await conductor.info(run_id)).seq
        async with claim(session, run_id, what='step') as conductor:
            return await follow(
                conductor, begin(conductor, run_id), reporter, after=after, ask=prompt_for(reporter)
            )

    raise typer.Exit(asyncio.run(work()))


@with_session('patterns', 'database', 'synchronous', 'server')
def pause(run: RunName = 'last', at: AtRegion = '', *, session: Session) -> None:
    """Pause a run, or one of its regions.

    A region paused on its own stays paused when the run is resumed; `hemicycle resume --at` resumes it.
    Refused while another command is executing the run.
    """

    async def work() -> RunInfo:
        async with open_reader(session) as conductor:
            run_id = await find_run(conductor, run)
            if (await conductor.info(run_id)).status is Status.PAUSED and not at:
                raise EventRefused(run_id, 'pause', 'it is already paused')
        async with claim(session, run_id, what='pause') as conductor:
            if at or (await conductor.info(run_id)).status is not Status.PAUSED:
                await conductor.pause(run_id, at)
            return await conductor.info(run_id)

    info = asyncio.run(work())
    typer.echo(f'run {info.id} is paused at step {info.seq}')
