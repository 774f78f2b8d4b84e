"""hemicycle pattern rehearse: what a pattern's chart can do, found without running it."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from engine import InvalidInput, LocalConductor
from engine.models import StubFile, read_stub_file
from engine.operations.rehearsal import Finding, Level, PlayedEvent, Rehearsal, Walk
from ui.app.colours import FAILED
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import parse_parameters
from ui.cli.options import ChartParameters, PatternName
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.remote import connect, find_pattern
from ui.cli.session import Session, with_session

STYLES = {Level.ERROR: FAILED, Level.WARNING: 'bold', Level.NOTE: 'default'}
EPILOG = """Examples:

```
hemicycle pattern rehearse supervisor
hemicycle pattern rehearse supervisor --set execution="side by side" --set workers=2
hemicycle pattern rehearse pipeline --to failed
hemicycle pattern rehearse pipeline --stubs answers.stubs.yaml
```

Exit code: **0** the chart has no errors · **1** it has some · **2** bad input"""


@with_session('patterns', 'as_json', 'server')
def rehearse(
    pattern: PatternName,
    sets: ChartParameters = None,
    to: Annotated[
        str, typer.Option(metavar='STATE', help='Show a way to this state.', show_default=False)
    ] = '',
    stubs: Annotated[
        str,
        typer.Option(
            metavar='FILE',
            help='Check the answers of agents in this file, and show the way they lead a run.',
            show_default=False,
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Check the chart of a pattern: what cannot be reached, and where a run can hang. Nothing is run."""
    answers = read_stub_file(stubs) if stubs else None
    with answers.located() if answers else nullcontext():
        rehearsal = asyncio.run(_rehearse(session, pattern, sets or [], answers))
    events_by_state = {str(state.path): state.events for state in rehearsal.states}
    if to and to not in events_by_state:
        raise InvalidInput({'--to': f'{pattern} has no state {to!r}'})
    if session.as_json:
        print_json(**asdict(rehearsal))
    elif to:
        _show_way(to, events_by_state[to])
    else:
        _show(rehearsal)
        if rehearsal.walk:
            _show_walk(rehearsal.walk)
    raise typer.Exit(ExitCode.FAILED if rehearsal.errors else ExitCode.DONE)


async def _rehearse(session: Session, pattern: str, sets: list[str], stubs: StubFile | None) -> Rehearsal:
    values = parse_parameters(await find_pattern(session, pattern), None, sets)
    if session.server:
        async with connect(session.server) as remote:
            return await remote.rehearse(pattern, values, stubs)
    async with LocalConductor(catalog=session.catalog) as conductor:
        return await conductor.rehearse(pattern, values, stubs)


def _show(rehearsal: Rehearsal) -> None:
    out = console()
    for finding in rehearsal.findings:
        out.print(_line(finding))
    reached = sum(bool(state.events) for state in rehearsal.states)
    taken = sum(edge.taken for edge in rehearsal.edges)
    states, edges = len(rehearsal.states), len(rehearsal.edges)
    out.print(f'{reached} of {states} states can be reached, {taken} of {edges} edges taken.')
    if ends := [state.path for state in rehearsal.states if state.ends and state.events]:
        out.print(f'A run can end in: {", ".join(ends)}.')
    if rehearsal.undecided:
        out.print(f'Not decided in time: {", ".join(rehearsal.undecided)}.')


def _show_walk(walk: Walk) -> None:
    out = console()
    out.print('With these stubs:')
    _show_way('', walk.events)
    endings = {'done': 'The run is done', 'failed': 'The run fails', '': 'It is not known how it goes on'}
    out.print(f'{endings[walk.ending]}{": " * bool(walk.reason)}{walk.reason}.')


def _line(finding: Finding) -> Text:
    text, subject = Text(f'{finding.level:<8}', style=STYLES[finding.level]), finding.edge or finding.state
    text.append(subject, style='bold')
    return text.append(f'{": " * bool(subject)}{finding.text} [{finding.rule}]', style='default')


def _show_way(state: str, events: tuple[PlayedEvent, ...]) -> None:
    out = console()
    if not events:
        out.print(f'No way to {state} was found.')
    for number, event in enumerate(events, start=1):
        out.print(f'{number:>3}  {event.name} {event.at}'.rstrip() + f'  →  {", ".join(event.active)}')
