"""hemicycle breakpoint: the breakpoints of a run: list, add, remove and test; parsed and formatted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Annotated

import typer

from engine import Breakpoint, Conductor, InvalidInput
from engine.records import RunId
from engine.runtime import CONDITION_NAMES
from ui.cli.conductors import claim, find_run, open_reader
from ui.cli.exit_codes import CODES
from ui.cli.options import RunName
from ui.cli.output.step_text import format_value
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

SPEC = re.compile(r'(?:(?P<kind>enter|leave|edge)\s+(?P<place>\S+))?\s*(?:when\s+(?P<when>.+))?', re.DOTALL)
NAMES = '\n'.join(f'- `{name}`: {what}' for name, what in CONDITION_NAMES.items())
EPILOG = f"""Examples:

```
hemicycle breakpoint add last --enter reviewing
hemicycle breakpoint add last --edge "reviewing>analyzing" --when "loops >= 2" --once
hemicycle breakpoint add last --when "'search' in tools" --region
hemicycle breakpoint list last
hemicycle breakpoint remove last 2
hemicycle breakpoint test last "loops >= 2"
```

A condition is written as in Python, with `and`, `or`, `not`, comparisons, `in`, arithmetic, `len`, `lower`,
`contains`, `starts`, `abs`, `min`, `max`, `sum`, `any`, `all`, and these names:

{NAMES}

{CODES}"""
StateOption = Annotated[str, typer.Option(metavar='STATE', help='The path of a state.')]


@with_session('patterns', 'database', 'server')
def list_breakpoints(run: RunName = 'last', *, session: Session) -> None:
    """List the breakpoints of a run, with how often each was hit."""

    async def work() -> tuple[Breakpoint, ...]:
        async with open_reader(session) as conductor:
            return (await conductor.view(await find_run(conductor, run))).breakpoints

    _print(asyncio.run(work()))


@with_session('patterns', 'database', 'synchronous', 'server')
def add(
    run: RunName = 'last',
    enter: StateOption = '',
    leave: StateOption = '',
    edge: Annotated[str, typer.Option(metavar='A>B', help='A transition between two states.')] = '',
    when: Annotated[str, typer.Option(metavar='CONDITION', help='Condition; see below.')] = '',
    once: Annotated[bool, typer.Option('--once', help='Only once.')] = False,
    region: Annotated[
        bool, typer.Option('--region', help='Pause only the region that hit it; others continue.')
    ] = False,
    *,
    session: Session,
) -> None:
    """Add a breakpoint to an unfinished run, which is paused, and list them.

    Continue it with `hemicycle resume` or `hemicycle step`. For a new run, use `hemicycle run --break`.
    Refused while another command is executing the run.
    """
    item = Breakpoint(
        enter=enter, leave=leave, edge=edge, when=when, once=once, stop='region' if region else 'run'
    )
    if item.label == 'nothing':
        raise InvalidInput({'add': 'give a place or a condition: --enter, --leave, --edge, --when'})
    _print(asyncio.run(_change(session, run, item)))


@with_session('patterns', 'database', 'synchronous', 'server')
def remove(
    run: RunName,
    names: Annotated[
        list[str],
        typer.Argument(metavar='N...', help='Their numbers, as `list` shows them, or `all`.'),
    ],
    *,
    session: Session,
) -> None:
    """Remove breakpoints from an unfinished run, which is paused, and list the others.

    Refused while another command is executing the run.
    """
    _print(asyncio.run(_change(session, run, None, names)))


@with_session('patterns', 'database', 'synchronous', 'server')
def test(
    run: RunName,
    condition: Annotated[str, typer.Argument(metavar='CONDITION', help='Condition; see below.')],
    *,
    session: Session,
) -> None:
    """Print whether a condition holds now, and the values of its names. Sets nothing, but pauses the run."""

    async def work() -> None:
        async with open_reader(session) as conductor:
            run_id = await find_run(conductor, run)
        await _try(session, run_id, condition)

    asyncio.run(work())


def parse_breakpoint(text: str) -> Breakpoint:
    """Parse a breakpoint: `enter STATE`, `leave STATE` or `edge A>B`, `when CONDITION`, or both.

    It may be preceded by `once` and `region`. Raises `InvalidInput`.
    """
    words, once, stop = text.strip(), False, False
    while prefix := re.match(r'(once|region)\s+', words):
        once, stop = once or prefix[1] == 'once', stop or prefix[1] == 'region'
        words = words[prefix.end() :]
    match = SPEC.fullmatch(words)
    if not match or not words:
        shape = '[once] [region] enter STATE, leave STATE or edge A>B, and when CONDITION'
        raise InvalidInput({'break': f'must be {shape}, not {text!r}'})
    kind = match['kind']
    return Breakpoint(
        enter=match['place'] if kind == 'enter' else '',
        leave=match['place'] if kind == 'leave' else '',
        edge=match['place'] if kind == 'edge' else '',
        when=match['when'] or '',
        once=once,
        stop='region' if stop else 'run',
    )


def format_breakpoint(item: Breakpoint) -> str:
    """Return a line with a breakpoint's id and label, its hits, and how it differs from the default."""
    notes = [
        'hit once' if item.hits == 1 else f'hit {item.hits} times' if item.hits else '',
        'once' if item.once else '',
        'its region alone' if item.stop == 'region' else '',
        '' if item.enabled else 'disabled',
        f'could not be evaluated: {item.problem}' if item.problem else '',
    ]
    return strip_control(' · '.join([f'{item.id:>3}  {item.label}', *filter(None, notes)]))


async def update_breakpoints(
    conductor: Conductor, run: RunId, item: Breakpoint | None, remove: Sequence[str]
) -> tuple[Breakpoint, ...]:
    """Add a breakpoint to a run, or remove some. Raises `EventRefused`, `InvalidInput`."""
    current = (await conductor.view(run)).breakpoints
    numbers = {item.id for item in current}
    unknown = [number for number in remove if number != 'all' and number not in numbers]
    if unknown:
        listed = ', '.join(sorted(numbers)) or 'none'
        raise InvalidInput({'remove': f'there is no breakpoint {unknown[0]!r}; available: {listed}'})
    left = [item for item in current if 'all' not in remove and item.id not in remove]
    return await conductor.set_breakpoints(run, [*left, *([item] if item else [])])


def _print(items: Sequence[Breakpoint]) -> None:
    for item in items:
        typer.echo(format_breakpoint(item))


async def _change(
    session: Session, name: str, item: Breakpoint | None, remove: Sequence[str] = ()
) -> tuple[Breakpoint, ...]:
    async with open_reader(session) as conductor:
        run = await find_run(conductor, name)
    async with claim(session, run, what='breakpoints') as conductor:
        return await update_breakpoints(conductor, run, item, remove)


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
