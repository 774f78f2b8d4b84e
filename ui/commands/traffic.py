"""hemicycle traffic: what many runs of a pattern did, in numbers."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from engine import InvalidInput, RunQuery, Status, Traffic, union
from ui.commands.options import AsJson, Database
from ui.commands.runs import WHICH
from ui.commands.session import reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.commands.wording import console
from ui.plain import short
from ui.presenters.reading import edge_words, place, span
from ui.presenters.words import between, day
from ui.settings import Settings, Storage
from ui.traffic.heat import EdgeHeat, Heat, StateHeat
from ui.traffic.spots import percent

EPILOG = """Examples:

```
hemicycle traffic pipeline
hemicycle traffic pipeline --tag nightly --since 2026-03-01
hemicycle traffic pipeline --json | jq '.edges[] | select(.dest == "failed")'
hemicycle runs --pattern pipeline --edge "reviewing>analyzing"
```"""


def traffic(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    pattern: Annotated[str, typer.Argument(help='The pattern.', show_default=False)],
    status: Annotated[
        list[Status] | None,
        typer.Option(
            help='Only runs that are this. Can be given again.', rich_help_panel=WHICH, show_default=False
        ),
    ] = None,
    tag: Annotated[str, typer.Option(help='Only runs with this tag.', rich_help_panel=WHICH)] = '',
    search: Annotated[
        str, typer.Option(help='Only runs with these words in what is said of them.', rich_help_panel=WHICH)
    ] = '',
    since: Annotated[
        str,
        typer.Option(metavar='DAY', help='Only runs from this day on: 2026-03-04.', rich_help_panel=WHICH),
    ] = '',
    until: Annotated[
        str, typer.Option(metavar='DAY', help='Only runs up to this day.', rich_help_panel=WHICH)
    ] = '',
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """How often runs took each edge, how long they stayed in each state, and where they failed.

    The first time every step of these runs is read; later only what is new. Works while a server runs.
    """
    wrong = {f'--{name}': f'must be a day, as 2026-03-04, not {given!r}'
             for name, given in (('since', since), ('until', until)) if given and not day(given)}  # fmt: skip
    if wrong:
        raise InvalidInput(wrong)
    first, last = between(since, until)
    query = RunQuery(
        text=search, pattern=pattern, status=tuple(status or ()), tag=tag, since=first, until=last
    )
    found = asyncio.run(_survey(storage_of(context), settings_of(database), query))
    if as_json:
        charts = [
            {'states': [state.path for state in chart.states], 'runs': runs} for chart, runs in found.shapes
        ]
        json_line(**asdict(found) | {'shapes': charts})
    elif found.runs:
        _print(found)
    else:
        typer.echo(
            'no run matches' if any((search, tag, since, until, status)) else f'no run of {pattern} yet'
        )


async def _survey(storage: Storage, settings: Settings, query: RunQuery) -> Traffic:
    async with reading(storage, settings) as conductor:
        return await conductor.traffic(query, _tell if sys.stderr.isatty() else None)


def _tell(done: int, of: int) -> None:
    typer.echo(f'\r{done:,} of {of:,} runs read' + '\n' * (done == of), err=True, nl=False)


def _print(found: Traffic) -> None:
    out = console()
    heat = Heat.of(found, union([shape for shape, _ in found.shapes]), frozenset())
    ended = ', '.join(f'{number:,} {status}' for status, number in found.statuses.items())
    out.print(f'{found.runs:,} runs: {ended}')
    if len(found.shapes) > 1:
        out.print(f'of {len(found.shapes)} different charts; each state counts among the runs that have it')
    out.print()
    out.print(_table('state', STATES, [(place(state.path), _of_state(state)) for state in heat.states]))
    out.print()
    out.print(_table('edge', EDGES, [(edge_words(edge.name), _of_edge(edge)) for edge in heat.edges]))
    for run, problem in found.unread.items():
        out.print(f'not counted: run {run}: {short(problem, 200)}', style='red')


STATES = ('runs', 'visits', 'most', 'median', '90 %', 'total', 'failed', 'expired', 'ended runs')
EDGES = ('taken', 'runs', 'of the ways out')


def _table(first: str, heads: tuple[str, ...], rows: list[tuple[str, tuple[str, ...]]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column(first, no_wrap=True)
    for head in heads:
        table.add_column(head, justify='right', no_wrap=True)
    for name, cells in rows:
        table.add_row(Text(name), *cells, style='' if cells[0] != '0' else 'dim')
    return table


def _of_state(state: StateHeat) -> tuple[str, ...]:
    found = state.traffic
    if found is None:
        return ('0', *('–' for _ in STATES[1:]))
    times = [span(seconds) for seconds in (found.median, found.p90, found.seconds)]
    counts = [f'{number:,}' for number in (found.failed, found.expired, found.fell)]
    return f'{found.runs:,}', f'{found.visits:,}', f'{found.most:,}', *times, *counts


def _of_edge(edge: EdgeHeat) -> tuple[str, ...]:
    return f'{edge.times:,}', f'{edge.runs:,}', percent(edge.share) if edge.times else '–'
