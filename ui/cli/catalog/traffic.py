"""hemicycle pattern traffic: statistics of many runs of a pattern."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from engine.history import merge_shapes
from engine.records import RunQuery, Traffic
from ui.app.colours import FAILED
from ui.cli.conductors import open_reader
from ui.cli.history.run_filters import run_filters, run_query
from ui.cli.options import PatternName
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.record_options import with_options
from ui.cli.session import Session, with_session
from ui.formatting.diagram.traffic import EdgeHeat, Heat, StateHeat, fork_note
from ui.formatting.plain_text import one_line
from ui.formatting.steps import duration, edge_text, path_text
from ui.formatting.values import percent

EPILOG = """Examples:

```
hemicycle pattern traffic pipeline
hemicycle pattern traffic pipeline --tag nightly --since 2026-03-01
hemicycle pattern traffic pipeline --json | jq '.edges[] | select(.dest == "failed")'
hemicycle runs list --pattern pipeline --edge "reviewing>analyzing"
```"""


@with_options('values', run_filters(without=('pattern', 'starred', 'pinned', 'edges', 'state', 'trouble')))
@with_session('as_json', 'database', 'server')
def traffic(pattern: PatternName, *, values: dict[str, Any], session: Session) -> None:
    """Show how often runs took each edge, how long they stayed in each state, and where they failed.

    The first call reads every step of these runs; later calls read only new steps. Works while a server is
    running.
    """
    query = run_query(values, pattern=pattern)
    traffic = asyncio.run(_survey(session, query))
    if session.as_json:
        charts = [
            {'states': [state.path for state in chart.states], 'runs': runs} for chart, runs in traffic.shapes
        ]
        print_json(**asdict(traffic) | {'shapes': charts})
    elif traffic.runs:
        _print(traffic)
    else:
        typer.echo('no runs match' if any(values.values()) else f'no runs of {pattern} yet')


async def _survey(session: Session, query: RunQuery) -> Traffic:
    async with open_reader(session) as conductor:
        return await conductor.traffic(query, _show_progress if sys.stderr.isatty() else None)


def _show_progress(done: int, of: int) -> None:
    typer.echo(f'\r{done:,} of {of:,} runs read' + '\n' * (done == of), err=True, nl=False)


def _print(traffic: Traffic) -> None:
    out = console()
    heat = Heat.of(traffic, merge_shapes([shape for shape, _ in traffic.shapes]), frozenset())
    ended = ', '.join(f'{number:,} {status}' for status, number in traffic.statuses.items())
    out.print(f'{traffic.runs:,} runs: {ended}')
    if traffic.forks:
        out.print(fork_note(traffic))
    if len(traffic.shapes) > 1:
        out.print(f'of {len(traffic.shapes)} different charts; each state counts among the runs that have it')
    out.print()
    out.print(_table('state', STATES, [(path_text(state.path), _of_state(state)) for state in heat.states]))
    out.print()
    out.print(_table('edge', EDGES, [(edge_text(edge.name), _of_edge(edge)) for edge in heat.edges]))
    for run, problem in traffic.unread.items():
        out.print(f'not counted: run {run}: {one_line(problem, 200)}', style=FAILED)


STATES = ('runs', 'visits', 'most', 'median', '90 %', 'total', 'failed', 'expired', 'ended runs')
EDGES = ('taken', 'runs', 'of all exits')


def _table(first: str, heads: tuple[str, ...], rows: list[tuple[str, tuple[str, ...]]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column(first, no_wrap=True)
    for head in heads:
        table.add_column(head, justify='right', no_wrap=True)
    for name, cells in rows:
        table.add_row(Text(name), *cells, style='' if cells[0] != '0' else 'dim')
    return table


def _of_state(state: StateHeat) -> tuple[str, ...]:
    traffic = state.traffic
    if traffic is None:
        return ('0', *('–' for _ in STATES[1:]))
    times = [duration(seconds) for seconds in (traffic.median, traffic.p90, traffic.seconds)]
    counts = [f'{number:,}' for number in (traffic.failed, traffic.expired, traffic.fell)]
    return f'{traffic.runs:,}', f'{traffic.visits:,}', f'{traffic.most:,}', *times, *counts


def _of_edge(edge: EdgeHeat) -> tuple[str, ...]:
    return f'{edge.times:,}', f'{edge.runs:,}', percent(edge.share) if edge.times else '–'
