"""The server itself, and its models, endpoints, tools and MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field

from engine import Conductor
from engine.agents import ToolPlayground, ToolTrial
from engine.errors import EngineError, ToolError, UnknownRun
from engine.history import program_version
from engine.models import SCRIPTED
from engine.records import RunId
from engine.tools import Tool
from ui.api.dependencies import BackendDep, CallerDep, Engine, RequestBody, list_of
from ui.api.problems import Refusal, problems
from ui.api.records import ServerInfo, ToolInfo
from ui.api.wire import wire

router = APIRouter()
MODELS: list[str | Enum] = ['Models']
TOOLS: list[str | Enum] = ['Tools']
SERVER: list[str | Enum] = ['Server']
Name = Annotated[str, Path(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model that can be chosen."""

    name: str
    simulated: bool
    """Whether it needs no key and no network, and is free."""


class Arguments(RequestBody):
    """The arguments of a tool call."""

    arguments: dict[str, Any] = Field({}, description='Arguments that match the schema of the tool.')
    model: str = Field(
        '',
        max_length=300,
        description="The model that answers the tool's own questions; by default the simulated one.",
    )


@router.get('/server', tags=SERVER, response_model=wire(ServerInfo))
async def describe_server(conductor: Engine) -> ServerInfo:
    """Describe this server."""
    return ServerInfo(
        version=program_version(),
        owner=conductor.owner,
        stranded={
            run: reason for run, reason in conductor.stranded.items() if await _is_visible(conductor, run)
        },
        retention=conductor.retention,
    )


async def _is_visible(conductor: Conductor, run: RunId) -> bool:
    try:
        await conductor.info(run)
    except UnknownRun:
        return False
    except EngineError:
        pass  # Unreadable, perhaps for the reason that it is stranded.
    return True


@router.post('/recover', tags=SERVER)
async def recover(conductor: Engine) -> list[str]:
    """Continue all unfinished runs whose process has died, and list them."""
    return list(map(str, await conductor.recover()))


@router.get('/models', tags=MODELS, response_model=list_of(ModelInfo))
async def list_models(conductor: Engine) -> list[ModelInfo]:
    """List the known models."""
    models = conductor.catalog.registry
    return [ModelInfo(name=name, simulated=models[name].simulated) for name in models]


@router.get('/tools', tags=TOOLS, response_model=list_of(ToolInfo))
async def list_tools(conductor: Engine) -> list[ToolInfo]:
    """List the tools that agents can use."""
    tools = conductor.catalog.tools
    return [describe_tool(tools[name]) for name in sorted(tools)]


@router.get('/tools/{name}', tags=TOOLS, response_model=wire(ToolInfo), responses=problems(404))
async def get_tool(conductor: Engine, name: Name) -> ToolInfo:
    """Describe a tool."""
    return describe_tool(_tool(conductor, name))


@router.post(
    '/tools/{name}/try', tags=TOOLS, response_model=wire(ToolTrial), responses=problems(404, 413, 415)
)
async def try_tool(
    conductor: Engine, web: BackendDep, who: CallerDep, name: Name, body: Arguments
) -> ToolTrial:
    """Call a tool in a scratch folder, sandboxed as for agents; errors are returned as results."""
    return await call_tool(web.playground(who.name), _tool(conductor, name), body.arguments, body.model)


def _tool(conductor: Conductor, name: str) -> Tool:
    if name not in conductor.catalog.tools:
        raise Refusal(404, 'unknown-tool', f'there is no tool {name!r}')
    return conductor.catalog.tools[name]


async def call_tool(
    playground: ToolPlayground, tool: Tool, arguments: Mapping[str, Any], model: str
) -> ToolTrial:
    """Call a tool; unless a model is named, the simulated one answers its questions."""
    answering = model or SCRIPTED if 'model' in tool.needs else ''
    try:
        return await playground.call(tool.name, arguments, model=answering)
    except ToolError as error:
        return ToolTrial(text=str(error), ok=False, seconds=0.0)


def describe_tool(tool: Tool) -> ToolInfo:
    """Return a tool as the API shows it, with the schema of its arguments."""
    return ToolInfo(
        name=tool.name,
        description=tool.description,
        category=tool.category,
        side_effects=tool.side_effects,
        approval=tool.approval,
        arguments=tool.spec.schema,
        missing=tool.missing(),
    )
