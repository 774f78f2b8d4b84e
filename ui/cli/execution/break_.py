"""hemicycle break: breakpoints of a run."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Breakpoint, InvalidInput
from engine.records import RunId
from engine.runtime import CONDITION_NAMES
from ui.cli.conductors import claim, find_run, open_reader
from ui.cli.execution.breakpoints import format_breakpoint, update_breakpoints
from ui.cli.exit_codes import CODES
from ui.cli.options import RunName
from ui.cli.output.step_text import format_value
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

NAMES = '\n'.join(f'- `{name}`: {what}' for name, what in CONDITION_NAMES.items())
EPILOG = f"""Examples:

```
hemicycle break last --enter reviewing
hemicycle break last --edge "reviewing>analyzing" --when "loops >= 2" --once
hemicycle break last --when "'search' in tools" --region
hemicycle break last
hemicycle break last --remove 2
hemicycle break last --try "loops >= 2"
```

A condition is written as in Python, with `and`, `or`, `not`, comparisons, `in`, arithmetic, `len`, `lower`,
`contains`, `starts`, `abs`, `min`, `max`, `sum`, `any`, `all`, and these names:

{NAMES}

{CODES}"""
StateOption = Annotated[str, typer.Option(metavar='STATE', help='The path of a state.', show_default=False)]


@with_session('patterns', 'database', 'synchronous', 'server')
def break_(  # noqa: PLR0913  (its arguments are the command's)
    run: RunName = 'last',
    enter: StateOption = '',
    leave: StateOption = '',
    edge: Annotated[
        str, typer.Option(metavar='A>B', help='A transition between two states.', show_default=False)
    ] = '',
    when: Annotated[
        str, typer.Option(metavar='CONDITION', help='Condition; see below.', show_default=False)
    ] = '',
    once: Annotated[bool, typer.Option('--once', help='Only once.')] = False,
    region: Annotated[
        bool, typer.Option('--region', help='Pause only the region that hit it; others continue.')
    ] = False,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar='N', help='Remove this breakpoint, or `all`. Repeatable.', show_default=False),
    ] = None,
    trial: Annotated[
        str,
        typer.Option(
            '--try',
            metavar='CONDITION',
            help='Only print whether this condition holds now, and the values of its names.',
            show_default=False,
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Set, remove, list or try breakpoints of a run.

    This pauses an unfinished run; continue it with `hemicycle resume` or `hemicycle step`. For a new run, use
    `hemicycle run --break`. Refused while another command is executing the run.
    """
    item = Breakpoint(
        enter=enter, leave=leave, edge=edge, when=when, once=once, stop='region' if region else 'run'
    )
    if trial and (remove or item.label != 'nothing'):
        raise InvalidInput({'--try': 'sets and removes nothing: give it alone'})
    lists = item.label == 'nothing' and not remove and not trial
    if lists and (once or region):
        raise InvalidInput({'break': 'give a place or a condition: --enter, --leave, --edge, --when'})

    async def work() -> tuple[Breakpoint, ...]:
        async with open_reader(session) as conductor:
            run_id = await find_run(conductor, run)
            if lists:
                return (await conductor.view(run_id)).breakpoints
        if trial:
            await _try(session, run_id, trial)
            return ()
        async with claim(session, run_id, what='breakpoints') as conductor:
            return await update_breakpoints(
                conductor, run_id, item if item.label != 'nothing' else None, remove or ()
            )

    for placed in asyncio.run(work()):
        typer.echo(format_breakpoint(placed))


async def _try(session: Session, run: RunId, condition: str) -> None:
    """Print whether a condition holds at the run's present step. Raises `EventRefused`, `InvalidInput`."""
    async with claim(session, run, what='breakpoints') as conductor:
        result = await conductor.probe(run, condition)
    if result is None:
        typer.echo('the run has no step yet that conditions apply to')
        return
    outcome = f'cannot be evaluated: {result.problem}' if result.problem else ('no', 'yes')[result.holds]
    typer.echo(strip_control(f'{outcome}, at step {result.seq}'))
    for name, value in result.values.items():
        typer.echo(strip_control(f'    {name} = {format_value(value)}'))
