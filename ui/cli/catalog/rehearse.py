"""hemicycle pattern rehearse: what a pattern's chart can do, found without running it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, fields
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from engine import InvalidInput
from engine.models import StubFile, read_stub_file
from engine.operations.rehearsal import Cost, Finding, Level, PlayedEvent, Rehearsal, Walk
from engine.records import Launch
from ui.app.colours import FAILED
from ui.cli.conductors import open_reader
from ui.cli.execution.launch_options import with_launch
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import parse_parameters
from ui.cli.options import ChartParameters, PatternName
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.remote import find_pattern
from ui.cli.session import Session, with_session
from ui.formatting.usage import cost_sentence, figure, repeats_sentence, unbounded_lines, usual_sentence

STYLES = {Level.ERROR: FAILED, Level.WARNING: 'bold', Level.NOTE: 'default'}
EPILOG = """Examples:

```
hemicycle pattern rehearse supervisor
hemicycle pattern rehearse supervisor --set execution="side by side" --set workers=2
hemicycle pattern rehearse pipeline --to failed
hemicycle pattern rehearse pipeline --model anthropic/claude-sonnet-4-5
hemicycle pattern rehearse pipeline --stubs answers.stubs.yaml
```

Exit code: **0** the chart has no errors · **1** it has some · **2** bad input"""


@with_session('database', 'patterns', 'as_json', 'server')
@with_launch(*(item.name for item in fields(Launch) if item.name not in ('models', 'version')))
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
    launch: dict[str, Any],
    session: Session,
) -> None:
    """Check the chart of a pattern: what cannot be reached, where a run can hang, what it costs at most."""
    answers = read_stub_file(stubs) if stubs else None
    with answers.located() if answers else nullcontext():
        rehearsal = asyncio.run(_rehearse(session, pattern, sets or [], answers, launch))
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


async def _rehearse(
    session: Session, pattern: str, sets: list[str], stubs: StubFile | None, launch: Mapping[str, Any]
) -> Rehearsal:
    values = parse_parameters(
        await find_pattern(session, pattern, version=launch.get('version', '')), None, sets
    )
    async with open_reader(session, session.catalog) as conductor:
        return await conductor.rehearse(pattern, values, stubs, **launch)


def _show(rehearsal: Rehearsal) -> None:
    out = console()
    for finding in rehearsal.findings:
        out.print(finding_line(finding))
    reached = sum(bool(state.events) for state in rehearsal.states)
    taken = sum(edge.taken for edge in rehearsal.edges)
    states, edges = len(rehearsal.states), len(rehearsal.edges)
    out.print(f'{reached} of {states} states can be reached, {taken} of {edges} edges taken.')
    if ends := [state.path for state in rehearsal.states if state.ends and state.events]:
        out.print(f'A run can end in: {", ".join(ends)}.')
    if rehearsal.undecided:
        out.print(f'Not decided in time: {", ".join(rehearsal.undecided)}.')
    _show_cost(rehearsal.cost)


def _show_cost(cost: Cost) -> None:
    out = console()
    out.print(f'Cost: {cost_sentence(cost)} {usual_sentence(cost)}')
    for line in unbounded_lines(cost):
        out.print(f'  {line}')
    if more := repeats_sentence(cost):
        out.print(f'  {more}')
    table = Table('State', 'Visits', 'Calls', 'Usual', 'Answers', box=None, header_style='bold')
    for state in cost.states:
        if state.most.calls != 0 or state.most.answers != 0:
            usual = figure(state.usual.calls) if state.usual else '-'
            most = state.most
            table.add_row(state.path, figure(state.visits), figure(most.calls), usual, figure(most.answers))
    if table.row_count:
        out.print(table)


def _show_walk(walk: Walk) -> None:
    out = console()
    out.print('With these stubs:')
    _show_way('', walk.events)
    endings = {'done': 'The run is done', 'failed': 'The run fails', '': 'It is not known how it goes on'}
    out.print(f'{endings[walk.ending]}{": " * bool(walk.reason)}{walk.reason}.')


def finding_line(finding: Finding) -> Text:
    """Return what a rehearsal found, in a line."""
    text, subject = Text(f'{finding.level:<8}', style=STYLES[finding.level]), finding.edge or finding.state
    text.append(subject, style='bold')
    return text.append(f'{": " * bool(subject)}{finding.text} [{finding.rule}]', style='default')


def _show_way(state: str, events: tuple[PlayedEvent, ...]) -> None:
    out = console()
    if not events:
        out.print(f'No way to {state} was found.')
    for number, event in enumerate(events, start=1):
        out.print(f'{number:>3}  {event.name} {event.at}'.rstrip() + f'  →  {", ".join(event.active)}')
