"""hemicycle compare: two runs beside each other, and where they part."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine import Comparison, Status, Tally, unlike
from ui.commands.exits import CODES, Code, Refused
from ui.commands.options import SHOWN, AsJson, Database, RunName
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.commands.wording import STYLES, console, value_of
from ui.plain import plain, short
from ui.presenters.comparing import FACETS, KINDS, lines, row_other, row_text, said_of, shown_edges, verdict
from ui.settings import Settings, Storage

EPILOG = f"""Examples:

```
hemicycle compare last 3f9
hemicycle compare last            # a fork with the run that it was forked from
hemicycle compare 3f9 a41 --json | jq .divergence
```

{CODES}

Here **0** says that they went the same way, **1** that they did not, **4** that so far they did."""
MOST = 12
"""Lines of a kind that are shown."""


def compare(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    a: RunName,
    b: Annotated[
        str,
        typer.Argument(
            metavar='OTHER',
            help='The other run; by default the one that RUN was forked from.',
            show_default=False,
        ),
    ] = '',
    steps: Annotated[
        bool, typer.Option('--steps', help='Every step of both, side by side.', rich_help_panel=SHOWN)
    ] = False,
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Compare two runs, A and B: where they part first and why, and what differs in numbers.

    They are aligned by the states that they went through, not by what was said. Regions that run side by side
    are aligned each by itself. Nothing is run again, and it works while a server runs.
    """
    found = asyncio.run(_compare(storage_of(context), settings_of(database), a, b))
    if as_json:
        json_line(**as_document(found))
    else:
        _print(found, steps=steps)
    if found.divergence is not None:
        raise typer.Exit(Code.FAILED)
    if not found.same_way:
        raise typer.Exit(Code.UNFINISHED)


async def _compare(storage: Storage, settings: Settings, a: str, b: str) -> Comparison:
    async with reading(storage, settings) as conductor:
        run = await find(conductor, a)
        parent = (await conductor.info(run)).parent
        if not b and parent is None:
            raise Refused(f'run {run} was not forked from another: name the run to compare it with')
        return await conductor.compare(run, await find(conductor, b or str(parent)))


def as_document(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON values."""
    parted = found.divergence
    return {
        'a': _side(found.a),
        'b': _side(found.b),
        'same_way': found.same_way,
        'said': verdict(found),
        'divergence': None if parted is None else asdict(parted),
        'shared': found.shared,
        'beyond': found.beyond,
        'edges': found.edges,
        'states': found.states,
        'tools': found.tools,
        'parameters': [asdict(one) for one in unlike(found.a.info.parameters, found.b.info.parameters)],
        'models': [asdict(one) for one in unlike(found.a.models, found.b.models)],
        'prompts': [asdict(one) for one in unlike(found.a.prompts, found.b.prompts)],
        'rows': [asdict(row) for row in found.rows],
    }


def _side(tally: Tally) -> dict[str, Any]:
    view = tally.view
    return {
        'run': tally.info.id, 'pattern': tally.info.pattern, 'title': tally.info.title, 'status': view.status,
        'error': view.error, 'answer': tally.answer, 'steps': view.seq, 'seconds': view.seconds,
        'usage': asdict(view.usage), 'loops': tally.loops, 'errors': tally.errors, 'retries': tally.retries,
        'people': tally.people, 'files': dict(view.files),
    }  # fmt: skip


def _print(found: Comparison, *, steps: bool) -> None:
    out = console()
    for name, tally in (('A', found.a), ('B', found.b)):
        line = Text(f'{name}  {tally.info.id} · {tally.info.pattern} · ')
        line.append(str(tally.view.status), style=STYLES[Status(tally.view.status)])
        out.print(line.append(f' · {short(plain(tally.info.title), 120)}'))
    out.print()
    out.print(Text(plain(verdict(found)), style='bold'))
    for note in said_of(found):
        out.print(Text(plain(note), style='dim'))
    _numbers(out, found)
    edges = sorted(
        found.edges.items(), key=lambda item: item[0].count('.')
    )  # of the workflow, then of agents
    differ = [f'{shown_edges((name,))}  A {a}, B {b}' for name, (a, b) in edges if a != b]
    _listed(out, 'Edges that one took, or took more often', differ)
    tools = [f'{name}  A {a}, B {b}' for name, (a, b) in found.tools.items() if a != b]
    _listed(out, 'Tools that one called, or called more often', tools)
    for title, a, b in (
        ('Parameters', found.a.info.parameters, found.b.info.parameters),
        ('Models', found.a.models, found.b.models),
        ('Prompts', found.a.prompts, found.b.prompts),
    ):
        differ = [f'{one.path.strip("/")}  A {_value(one.a)}, B {_value(one.b)}' for one in unlike(a, b)]
        _listed(out, f'{title} that differ', differ)
    if steps:
        _steps(out, found)


def _numbers(out: Console, found: Comparison) -> None:
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column('')
    for name in 'AB':
        table.add_column(name, justify='right', no_wrap=True)
    table.add_column('difference', no_wrap=True)
    for line in lines(found):
        table.add_row(line.name, line.a, line.b, line.difference or Text('same', style='dim'))
    out.print()
    out.print(table, soft_wrap=False)


def _listed(out: Console, title: str, said: list[str]) -> None:
    if not said:
        return
    out.print()
    out.print(Text(title, style='bold'))
    for line in said[:MOST]:
        out.print(Text(plain(line)))
    if len(said) > MOST:
        out.print(Text(f'and {len(said) - MOST} more: see --json', style='dim'))


def _steps(out: Console, found: Comparison) -> None:
    out.print()
    for row in found.rows:
        told = f'{row.a or "":>6} {row.b or "":>6}  {KINDS[row.kind]:<7} {row_text(row)}'
        told += f'  |  {row_other(row)}' if row.other else ''
        notes = [FACETS[facet] for facet in row.facets] + (['not yet'] if row.pending else [])
        line = Text(plain(told), style='' if row.kind == 'same' else 'bold')
        out.print(line.append(f'  ({", ".join(notes)})' if notes else '', style='dim'))


def _value(value: Any) -> str:
    return 'nothing' if value is None else value_of(value, 60)
