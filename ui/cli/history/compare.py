"""hemicycle runs compare: two runs side by side, and where they diverge."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.history import Comparison, RunStats, json_differences
from ui.cli.conductors import find_run, open_reader
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.options import SHOWN, RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console, format_value, status_in_color
from ui.cli.session import Session, with_session
from ui.formatting.comparison import (
    FACETS,
    KINDS,
    comparison_notes,
    measures,
    row_other,
    row_text,
    verdict_sentence,
)
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.steps import edges_text

EPILOG = f"""Examples:

```
hemicycle runs compare last 3f9
hemicycle runs compare last            # a fork with the run that it was forked from
hemicycle runs compare 3f9 a41 --json | jq .divergence
```

{CODES}

Here **0** means that they took the same path, **1** that they did not, **4** that so far they did."""
MAX_LINES = 12
"""The maximum number of lines shown of one kind."""


@with_session('as_json', 'database', 'server')
def compare(
    a: RunName,
    b: Annotated[
        str,
        typer.Argument(metavar='OTHER', help='The other run; by default the one that RUN was forked from.'),
    ] = '',
    steps: Annotated[
        bool, typer.Option('--steps', help='Every step of both, side by side.', rich_help_panel=SHOWN)
    ] = False,
    *,
    session: Session,
) -> None:
    """Compare two runs, A and B: where they first diverge and why, and how their figures differ.

    They are aligned by the states they passed through, not by what was said. Parallel regions are aligned
    separately. Nothing is run again, and it works while a server is running.
    """
    comparison = asyncio.run(_compare(session, a, b))
    if session.as_json:
        print_json(**as_document(comparison))
    else:
        _print(comparison, steps=steps)
    if comparison.divergence is not None:
        raise typer.Exit(ExitCode.FAILED)
    if not comparison.same_path:
        raise typer.Exit(ExitCode.UNFINISHED)


async def _compare(session: Session, a: str, b: str) -> Comparison:
    # The patterns explain their guards.
    async with open_reader(session, session.catalog) as conductor:
        run = await find_run(conductor, a)
        parent = (await conductor.info(run)).parent
        if not b and parent is None:
            raise CommandError(f'run {run} was not forked from another: name the run to compare it with')
        return await conductor.compare(run, await find_run(conductor, b or str(parent)))


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values."""
    divergence = comparison.divergence
    return {
        'a': _side(comparison.a),
        'b': _side(comparison.b),
        'same_way': comparison.same_path,
        'said': verdict_sentence(comparison),
        'divergence': None if divergence is None else asdict(divergence),
        'shared': comparison.shared,
        'beyond': comparison.beyond,
        'edges': comparison.edges,
        'states': comparison.states,
        'tools': comparison.tools,
        'parameters': [
            asdict(difference)
            for difference in json_differences(comparison.a.info.parameters, comparison.b.info.parameters)
        ],
        'models': [
            asdict(difference) for difference in json_differences(comparison.a.models, comparison.b.models)
        ],
        'prompts': [
            asdict(difference) for difference in json_differences(comparison.a.prompts, comparison.b.prompts)
        ],
        'rows': [asdict(row) for row in comparison.rows],
    }


def _side(tally: RunStats) -> dict[str, Any]:
    view = tally.view
    return {
        'run': tally.info.id, 'pattern': tally.info.pattern, 'version': tally.info.version,
        'title': tally.info.title, 'status': view.status, 'error': view.error, 'answer': tally.answer,
        'steps': view.seq, 'seconds': view.seconds, 'usage': asdict(view.usage), 'loops': tally.loops,
        'errors': tally.errors, 'retries': tally.retries, 'people': tally.people, 'files': dict(view.files),
    }  # fmt: skip


def _print(comparison: Comparison, *, steps: bool) -> None:
    out = console()
    for name, tally in (('A', comparison.a), ('B', comparison.b)):
        line = Text(f'{name}  {tally.info.id} · {tally.info.pattern} · ')
        view = tally.view
        line.append_text(status_in_color(view.status, view.error))
        out.print(line.append(f' · {one_line(strip_control(tally.info.title), 120)}'))
    out.print()
    out.print(Text(strip_control(verdict_sentence(comparison)), style='bold'))
    for note in comparison_notes(comparison):
        out.print(Text(strip_control(note), style='dim'))
    _numbers(out, comparison)
    edges = sorted(
        comparison.edges.items(), key=lambda item: item[0].count('.')
    )  # first the workflow's, then the agents'
    differ = [f'{edges_text((name,))}  A {a}, B {b}' for name, (a, b) in edges if a != b]
    _print_list(out, 'Transitions that one run took more often', differ)
    tools = [f'{name}  A {a}, B {b}' for name, (a, b) in comparison.tools.items() if a != b]
    _print_list(out, 'Tools that one run called more often', tools)
    for title, a, b in (
        ('Parameters', comparison.a.info.parameters, comparison.b.info.parameters),
        ('Models', comparison.a.models, comparison.b.models),
        ('Prompts', comparison.a.prompts, comparison.b.prompts),
    ):
        differ = [
            f'{difference.path.strip("/")}  A {_value(difference.a)}, B {_value(difference.b)}'
            for difference in json_differences(a, b)
        ]
        _print_list(out, f'{title} that differ', differ)
    if steps:
        _steps(out, comparison)


def _numbers(out: Console, comparison: Comparison) -> None:
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column('')
    for name in 'AB':
        table.add_column(name, justify='right', no_wrap=True)
    table.add_column('Difference', no_wrap=True)
    for line in measures(comparison):
        table.add_row(line.name, line.a, line.b, line.difference or Text('same', style='dim'))
    out.print()
    out.print(table, soft_wrap=False)


def _print_list(out: Console, title: str, lines: list[str]) -> None:
    if not lines:
        return
    out.print()
    out.print(Text(title, style='bold'))
    for line in lines[:MAX_LINES]:
        out.print(Text(strip_control(line)))
    if len(lines) > MAX_LINES:
        out.print(Text(f'and {len(lines) - MAX_LINES} more: see --json', style='dim'))


def _steps(out: Console, comparison: Comparison) -> None:
    out.print()
    for row in comparison.rows:
        text = f'{row.a or "":>6} {row.b or "":>6}  {KINDS[row.kind]:<7} {row_text(row)}'
        text += f'  |  {row_other(row)}' if row.other else ''
        notes = [FACETS[facet] for facet in row.facets] + (['not yet'] if row.pending else [])
        line = Text(strip_control(text), style='' if row.kind == 'same' else 'bold')
        out.print(line.append(f'  ({", ".join(notes)})' if notes else '', style='dim'))


def _value(value: Any) -> str:
    return 'nothing' if value is None else format_value(value, 60)
