"""hemicycle runs list: list the runs."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from engine.records import MAX_NUMBER, RunInfo, RunPage, RunQuery
from ui.app.colours import style_of
from ui.cli.conductors import open_reader
from ui.cli.history.run_filters import FILTERS, run_filters, run_query
from ui.cli.options import SHOWN
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console, status_in_color
from ui.cli.record_options import with_options
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line
from ui.formatting.usage import cost_text, token_count
from ui.formatting.values import moment_text

EPILOG = """Examples:

```
hemicycle runs list --status running --status waiting
hemicycle runs list --search "event sourcing" --tag demo
hemicycle runs list --pattern pipeline --edge "reviewing>analyzing"
hemicycle runs list --limit 1000 --json | jq -r .id
```"""


@with_options('values', run_filters(without=('since', 'until')))
@with_session('as_json', 'database', 'server')
def list_runs(
    *,
    values: dict[str, Any],
    deleted: Annotated[
        bool, typer.Option('--deleted', help='Deleted runs, instead of the others.', rich_help_panel=FILTERS)
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=MAX_NUMBER, help='Maximum number of runs.', rich_help_panel=SHOWN)
    ] = 20,
    offset: Annotated[
        int, typer.Option(min=0, max=MAX_NUMBER, help='How many newer runs to skip.', rich_help_panel=SHOWN)
    ] = 0,
    session: Session,
) -> None:
    """List runs, newest first. Works while a server is running."""
    query = run_query(values, place='trash' if deleted else 'list', offset=offset, limit=limit)
    page = asyncio.run(_page(session, query))
    if session.as_json:
        for info in page.runs:
            print_json(**asdict(info))
    elif page.runs:
        _print(page)
    else:
        narrowed = any(values.values()) or deleted or offset
        typer.echo('no runs match' if narrowed else 'there are no runs yet: start one with `hemicycle run`')


async def _page(session: Session, query: RunQuery) -> RunPage:
    async with open_reader(session) as conductor:
        return await conductor.runs(query)


def _print(page: RunPage) -> None:
    out = console()
    table = Table(box=None, pad_edge=False, header_style='bold')
    for name in ('run', 'status', 'pattern', 'started'):
        table.add_column(name, no_wrap=True)
    for name in ('steps', 'tokens', 'cost'):
        table.add_column(name, justify='right', no_wrap=True)
    table.add_column('title', no_wrap=True, overflow='ellipsis')
    for info in page.runs:
        table.add_row(*_row(info))
    out.print(table, soft_wrap=False)
    if len(page.runs) < page.total:
        out.print(f'{len(page.runs)} of {page.total:,} runs', style='dim')


def _row(info: RunInfo) -> tuple[Text | str, ...]:
    marks = [word for word in ('starred', 'pinned', 'private') if getattr(info, word)]
    title = Text(one_line(info.title, 200))
    if marks:
        title.append(f'  ({", ".join(marks)})', style='bold')
    if info.tags:
        title.append(f'  {" ".join(f"#{one_line(tag)}" for tag in info.tags)}', style='dim')
    if info.error:
        title.append(f'  {one_line(info.error, 200)}', style=style_of(info.status, info.error))
    return (
        str(info.id),
        status_in_color(info.status, info.error),
        Text(info.pattern),
        moment_text(info.created),
        str(info.seq),
        token_count(info.usage, info.usage.total),
        cost_text(info.usage),
        title,
    )
