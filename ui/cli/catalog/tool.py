"""hemicycle tool: the tools of agents: list, show and test them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from engine import Catalog, InvalidInput, LocalConductor
from engine.agents import ToolPlayground, ToolTrial
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import check_choice, parse_data
from ui.cli.output.reporters import print_json
from ui.cli.remote import connect_to_named
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import byte_size

if TYPE_CHECKING:
    from ui.api.client import Connection
    from ui.api.records import ToolInfo

EPILOG = """Examples:

```
hemicycle tool list
hemicycle tool list --category files --json | jq -r .name
hemicycle tool show calculator
hemicycle tool test calculator --set expression="2 + 2"
```

Exit code: **0** done · **1** the tool failed · **2** bad input, or refused"""
ToolName = Annotated[str, typer.Argument(metavar='TOOL', help='The name of the tool.', show_default=False)]


@with_session('patterns', 'as_json', 'server')
def list_tools(
    category: Annotated[
        str, typer.Option(metavar='CATEGORY', help='Only those of this category.', show_default=False)
    ] = '',
    *,
    session: Session,
) -> None:
    """List the tools, including those of MCP servers."""

    async def work() -> Sequence[ToolInfo]:
        async with _open(session) as tools:
            return await tools.list()

    tools = asyncio.run(work())
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
        typer.Option(
            '--set',
            metavar='NAME=VALUE',
            help='An argument, as text or JSON. Repeatable.',
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar='NAME',
            help="The model that answers the tool's own questions; by default the simulated one.",
            show_default=False,
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
            return await tools.call(name, arguments, model)

    tried = asyncio.run(work())
    if session.as_json:
        print_json(**asdict(tried))
    else:
        typer.echo(strip_control(tried.text))
    if not tried.ok:
        raise typer.Exit(ExitCode.FAILED)


class _Tools(Protocol):
    """Tools of this machine or of a server. All methods raise `EngineError`."""

    async def list(self) -> Sequence[ToolInfo]: ...

    async def get(self, name: str) -> ToolInfo: ...

    async def call(self, name: str, arguments: dict[str, Any], model: str) -> ToolTrial: ...


@asynccontextmanager
async def _open(session: Session) -> AsyncIterator[_Tools]:
    """Open the tools of the named server, or of this machine."""
    async with connect_to_named(session) as ask:
        if ask:
            yield _RemoteTools(ask)
            return
        async with LocalConductor(catalog=session.catalog) as conductor:
            try:
                yield _LocalTools(conductor, session.catalog)
            finally:
                await session.catalog.close()


class _LocalTools:
    def __init__(self, conductor: LocalConductor, catalog: Catalog) -> None:
        self._conductor, self._catalog = conductor, catalog

    async def list(self) -> Sequence[ToolInfo]:
        from ui.api.routes.server import describe_tool

        for health in await self._catalog.mcp.health():
            if health.problem:
                typer.echo(strip_control(health.problem), err=True)
        tools = sorted(self._catalog.tools.values(), key=lambda tool: (tool.category, tool.name))
        return [describe_tool(tool) for tool in tools]

    async def get(self, name: str) -> ToolInfo:
        from ui.api.routes.server import describe_tool

        tools = self._catalog.tools
        tool = tools.get(name) or (await self._catalog.mcp.find([name])).get(name)
        if tool is None:
            raise InvalidInput({'TOOL': f'there is no tool {name!r}; available: {", ".join(sorted(tools))}'})
        return describe_tool(tool)

    async def call(self, name: str, arguments: dict[str, Any], model: str) -> ToolTrial:
        from ui.api.routes.server import call_tool

        await self.get(name)
        playground = ToolPlayground(self._conductor.services)
        try:
            tried = await call_tool(playground, self._catalog.tools[name], arguments, model)
            files = [entry for entry in await playground.files() if entry.kind != 'a folder']
            for entry in files:
                typer.echo(strip_control(f'scratch folder: {entry.path}  {byte_size(entry.size)}'), err=True)
            return tried
        finally:
            await playground.reset()


class _RemoteTools:
    def __init__(self, ask: Connection) -> None:
        self._ask = ask

    async def list(self) -> Sequence[ToolInfo]:
        from ui.api.records import ToolInfo

        return await self._ask.many(ToolInfo, 'tools')

    async def get(self, name: str) -> ToolInfo:
        from ui.api.records import ToolInfo

        return await self._ask.one(ToolInfo, f'tools/{name}')

    async def call(self, name: str, arguments: dict[str, Any], model: str) -> ToolTrial:
        body = {'arguments': arguments, 'model': model}
        return await self._ask.one_of(ToolTrial, f'tools/{name}/try', body)


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
