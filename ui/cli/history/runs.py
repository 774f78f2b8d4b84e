"""hemicycle runs list: list the runs."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from engine import InvalidInput, Status
from engine.records import MAX_NUMBER, RunInfo, RunPage, RunQuery
from ui.cli.conductors import open_reader
from ui.cli.options import SHOWN
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console, format_time, status_in_color
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line
from ui.formatting.usage import cost_text, token_count

FILTERS = 'Which runs'
EPILOG = """Examples:

```
hemicycle runs list --status running --status waiting
hemicycle runs list --search "event sourcing" --tag demo
hemicycle runs list --pattern pipeline --edge "reviewing>analyzing"
hemicycle runs list --limit 1000 --json | jq -r .id
```"""


@with_session('as_json', 'database', 'server')
def list_runs(  # noqa: PLR0913  (its arguments are the command's)
    pattern: Annotated[str, typer.Option(help='Runs of this pattern.', rich_help_panel=FILTERS)] = '',
    status: Annotated[
        list[Status] | None,
        typer.Option(help='Runs with this status. Repeatable.', rich_help_panel=FILTERS, show_default=False),
    ] = None,
    tag: Annotated[str, typer.Option(help='Runs with this tag.', rich_help_panel=FILTERS)] = '',
    search: Annotated[
        str,
        typer.Option(
            help='Runs with these words in title, parameters, tags, note or notes on steps.',
            rich_help_panel=FILTERS,
        ),
    ] = '',
    starred: Annotated[
        bool, typer.Option('--starred', help='Starred runs.', rich_help_panel=FILTERS)
    ] = False,
    pinned: Annotated[bool, typer.Option('--pinned', help='Pinned runs.', rich_help_panel=FILTERS)] = False,
    deleted: Annotated[
        bool, typer.Option('--deleted', help='Deleted runs, instead of the others.', rich_help_panel=FILTERS)
    ] = False,
    edge: Annotated[
        list[str] | None,
        typer.Option(
            metavar='A>B',
            help='Runs that took the edge from state A to state B. Repeatable: any of them.',
            rich_help_panel=FILTERS,
            show_default=False,
        ),
    ] = None,
    state: Annotated[str, typer.Option(help='Runs that were in this state.', rich_help_panel=FILTERS)] = '',
    failed: Annotated[
        bool, typer.Option('--failed', help='With --state: something failed there.', rich_help_panel=FILTERS)
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=MAX_NUMBER, help='Maximum number of runs.', rich_help_panel=SHOWN)
    ] = 20,
    offset: Annotated[
        int, typer.Option(min=0, max=MAX_NUMBER, help='How many newer runs to skip.', rich_help_panel=SHOWN)
    ] = 0,
    *,
    session: Session,
) -> None:
    """List runs, newest first. Works while a server is running."""
    edges = tuple(edge or ())
    if wrong := [name for name in edges if not all(name.partition('>')[::2])]:
        raise InvalidInput({'--edge': f'must be two states, such as reviewing>analyzing, not {wrong[0]!r}'})
    if failed and not state:
        raise InvalidInput({'--failed': 'needs --state'})
    query = RunQuery(
        text=search,
        pattern=pattern,
        status=tuple(status or ()),
        tag=tag,
        starred=starred,
        pinned=pinned,
        place='trash' if deleted else 'list',
        edges=edges,
        state=state,
        trouble=failed,
        offset=offset,
        limit=limit,
    )
    page = asyncio.run(_page(session, query))
    if session.as_json:
        for info in page.runs:
            print_json(**asdict(info))
    elif page.runs:
        _print(page)
    else:
        narrowed = any((search, pattern, status, tag, starred, pinned, deleted, edges, state, offset))
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
        title.append(f'  ({", ".join(marks)})', style='yellow')
    if info.tags:
        title.append(f'  {" ".join(f"#{one_line(tag)}" for tag in info.tags)}', style='dim')
    if info.error:
        title.append(f'  {one_line(info.error, 200)}', style='yellow' if info.done_with_issues else 'red')
    return (
        str(info.id),
        status_in_color(info.status, info.error),
        Text(info.pattern),
        format_time(info.created),
        str(info.seq),
        token_count(info.usage, info.usage.total),
        cost_text(info.usage),
        title,
    )
