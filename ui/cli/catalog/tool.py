"""hemicycle tool: the tools of agents: list, show and test them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated

import typer

from engine import LocalConductor
from engine.agents import ToolTrial
from ui.app.services.operations import ToolOperations
from ui.app.services.tools import PERSON, ToolInfo, Tools
from ui.cli.catalog.saving import open_connections
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import check_choice, parse_data
from ui.cli.output.reporters import print_json
from ui.cli.services.opening import services_of
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import byte_size

EPILOG = """Examples:

```
hemicycle tool list
hemicycle tool list --category files --json | jq -r .name
hemicycle tool show calculator
hemicycle tool test calculator --set expression="2 + 2"
```

Exit code: **0** done · **1** the tool failed · **2** bad input, or refused"""
ToolName = Annotated[str, typer.Argument(metavar='TOOL', help='The name of the tool.')]


@with_session('patterns', 'as_json', 'server')
def list_tools(
    category: Annotated[str, typer.Option(metavar='CATEGORY', help='Only those of this category.')] = '',
    *,
    session: Session,
) -> None:
    """List the tools, including those of MCP servers."""

    async def work() -> Sequence[ToolInfo]:
        async with _open(session, ask_servers=True) as tools:
            return await tools.list()

    tools = sorted(asyncio.run(work()), key=lambda tool: (tool.category, tool.name))
    categories = sorted({tool.category for tool in tools})
    if category:
        check_choice('--category', category, categories)
    for tool in tools:
        if category in ('', tool.category):
            _print(tool, session.as_json)


@with_session('patterns', 'as_json', 'server')
def show(name: ToolName, *, session: Session) -> None:
    """Show a tool: its description for models, its arguments, and whether it can be used here."""

    async def work() -> ToolInfo:
        async with _open(session) as tools:
            return await tools.get(name)

    _print(asyncio.run(work()), session.as_json, whole=True)


@with_session('patterns', 'as_json', 'server')
def test(
    name: ToolName,
    sets: Annotated[
        list[str] | None,
        typer.Option('--set', metavar='NAME=VALUE', help='An argument, as text or JSON. Repeatable.'),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar='NAME',
            help="The model that answers the tool's own questions; by default the simulated one.",
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Call a tool as an agent would, in a scratch folder, and print its result.

    The folder lasts for one call; a server keeps it while it runs. A call with side effects elsewhere is
    real, and your command is its approval.
    """
    arguments = parse_data(sets or ())

    async def work() -> ToolTrial:
        async with _open(session) as tools:
            result = await tools.call(name, arguments, model)
            if isinstance(tools, Tools):
                await _print_files(tools)
            return result

    tried = asyncio.run(work())
    if session.as_json:
        print_json(**asdict(tried))
    else:
        typer.echo(strip_control(tried.text))
    if not tried.ok:
        raise typer.Exit(ExitCode.FAILED)


@asynccontextmanager
async def _open(session: Session, *, ask_servers: bool = False) -> AsyncIterator[ToolOperations]:
    """Open the tools of the named server, or of this machine; `ask_servers` asks MCP servers for theirs."""
    async with open_connections(session) as conductor:
        if not isinstance(conductor, LocalConductor):
            yield services_of(conductor).tools
            return
        for health in await conductor.catalog.mcp.health() if ask_servers else ():
            if health.problem:
                typer.echo(strip_control(health.problem), err=True)
        tools = Tools(conductor)
        try:
            yield tools
        finally:
            await tools.close()


async def _print_files(tools: Tools) -> None:
    for entry in await tools.playground(PERSON).files():
        if entry.kind != 'a folder':
            typer.echo(strip_control(f'scratch folder: {entry.path}  {byte_size(entry.size)}'), err=True)


def _print(tool: ToolInfo, as_json: bool, *, whole: bool = False) -> None:
    if as_json:
        print_json(**asdict(tool))
        return
    facts = [
        tool.category,
        'side effects' if tool.side_effects else '',
        'each call needs approval' if tool.approval else '',
        f'unavailable here: {tool.missing}' if tool.missing else '',
    ]
    text = tool.description if whole else one_line(tool.description.partition('\n')[0], 200)
    typer.echo(strip_control(f'{tool.name}  {text} ({"; ".join(filter(None, facts))})'))
    if whole:
        required = tool.arguments.get('required', ())
        for name, schema in tool.arguments.get('properties', {}).items():
            purpose = schema.get('description', '')
            kind = schema.get('type') or json.dumps(
                {key: schema[key] for key in schema if key != 'description'}
            )
            optional = '' if name in required else ', optional'
            typer.echo(strip_control(f'    --set {name}=  {purpose} ({kind}{optional})'))
