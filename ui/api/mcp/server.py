"""The MCP server for a conductor, and serving it over standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from engine import Conductor, EngineError
from engine.history import program_version
from ui.api.mcp.resources import TEMPLATES, list_resources, read_resource
from ui.api.mcp.runs import as_result
from ui.api.mcp.tasks import Tasks, TaskServer
from ui.api.mcp.tools import all_tools, call

INSTRUCTIONS = """Each pattern is a tool that starts a run of several agents. A run continues alone: if the
tool answers before it has ended, call get_run with its id. A run that waits for a person says what it
accepts: approve_run, deny_run and answer_run send it. Runs, transcripts and artifacts are resources."""
Context = ServerRequestContext[Any, Any]


def build_mcp(conductor: Callable[[], Conductor]) -> Server[Any]:
    """Build the MCP server; `conductor` returns the conductor to work with."""

    async def tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=all_tools(conductor().catalog))

    async def call_tool(context: Context, params: CallToolRequestParams) -> HandlerResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            with suppress(Exception):  # The client has disconnected, or wants no progress.
                await context.session.report_progress(progress, total, message)

        arguments = params.arguments or {}
        try:
            if task := await tasks.begin_modern(context, params.name, arguments):
                return task
            return as_result(await call(conductor(), params.name, arguments, report))
        except EngineError as error:
            return CallToolResult(content=[TextContent(type='text', text=str(error))], is_error=True)

    async def resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=await list_resources(conductor()))

    async def templates(
        context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        try:
            return ReadResourceResult(contents=[await read_resource(conductor(), str(params.uri))])
        except EngineError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None

    tasks = Tasks(conductor)
    server = TaskServer(
        'hemicycle',
        version=program_version(),
        title='Hemicycle',
        instructions=INSTRUCTIONS,
        on_list_tools=tools,
        on_call_tool=call_tool,  # type: ignore[arg-type]  # a result may be of an extension
        on_list_resources=resources,
        on_list_resource_templates=templates,
        on_read_resource=read,
    )
    tasks.serve(server)
    return server


async def serve_stdio(conductor: Conductor) -> None:
    """Serve one client over standard input and output, until it leaves."""
    server = build_mcp(lambda: conductor)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
