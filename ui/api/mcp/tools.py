"""The tools of the MCP server: one for each pattern, and those that steer runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from mcp_types import Tool, ToolAnnotations, ToolExecution
from pydantic import Field, JsonValue, StrictBool, ValidationError

from engine import Catalog, Conductor, InvalidInput, Pattern
from engine.history import ForkOverrides
from engine.records import FileContent, Launch, RunId, RunQuery
from ui.api.mcp.charts import CHART_TOOLS
from ui.api.mcp.experiments import EXPERIMENT_TOOLS
from ui.api.mcp.runs import DEFAULT_WAIT, MAX_WAIT, ReportProgress, describe, wait_for
from ui.api.mcp.tool_records import SteeringTool, ToolArguments
from ui.api.wire import encode

FORK = 'fork_run'
AS_TASK = ToolExecution(task_support='optional')
WAITS = Field(DEFAULT_WAIT, ge=0, le=MAX_WAIT, description='How long to wait for the run before returning.')


class StartOptions(ToolArguments):
    """What every pattern's tool takes, beside the pattern's parameters."""

    wait_seconds: float = WAITS
    given_files: dict[str, FileContent] = Field(
        {}, description='Files that its agents find in their folders, by path; bytes as `{"base64": …}`.'
    )


class GetRun(ToolArguments):
    """Show a run's status and answer, or what it asks a person for; wait for it if it is still running."""

    run: str
    wait_seconds: float = WAITS


class ListRuns(ToolArguments):
    """List runs, newest first."""

    text: str = Field('', description='Words in the title, tags, note or input.')
    pattern: str = ''
    limit: int = Field(10, ge=1, le=100)


class Answer(ToolArguments):
    """Send a waiting run one of the events that it accepts; get_run lists these."""

    run: str
    event: str
    at: str = Field('', description='The state it is for; empty for all that accept it.')
    data: dict[str, JsonValue] = Field({})
    seen: int | None = Field(None, description='Refuse it if the run has moved past this step.')


class Approve(ToolArguments):
    """Approve the tool calls that a run waits for."""

    run: str
    at: str = ''
    always: StrictBool = Field(False, description='Whether to stop asking for these tools.')


class Deny(ToolArguments):
    """Deny the tool calls that a run waits for."""

    run: str
    at: str = ''
    reason: str = ''


class Cancel(ToolArguments):
    """Cancel a run; it cannot be resumed."""

    run: str
    reason: str = ''


class Fork(ToolArguments):
    """Start a new run from a step of another, with other instructions or models if given."""

    run: str
    at: int = Field(ge=0, description='The step; 0 to start over.')
    title: str = ''
    instructions: dict[str, str] = Field({}, description='By role.')
    models: dict[str, str] = Field({}, description='Models by role; `""` applies to all other roles.')
    wait_seconds: float = WAITS


A = TypeVar('A', bound=ToolArguments)


async def _get(conductor: Conductor, arguments: GetRun, report: ReportProgress) -> dict[str, Any]:
    return await wait_for(conductor, RunId(arguments.run), arguments.wait_seconds, report)


async def _list(conductor: Conductor, arguments: ListRuns, report: ReportProgress) -> dict[str, Any]:
    page = await conductor.runs(
        RunQuery(text=arguments.text, pattern=arguments.pattern, limit=arguments.limit)
    )
    return {'runs': [encode(info) for info in page.runs], 'total': page.total}


async def _answer(conductor: Conductor, arguments: Answer, report: ReportProgress) -> dict[str, Any]:
    run = RunId(arguments.run)
    await conductor.send(run, arguments.event, at=arguments.at, data=arguments.data, seen=arguments.seen)
    return await describe(conductor, run)


async def _approve(conductor: Conductor, arguments: Approve, report: ReportProgress) -> dict[str, Any]:
    await conductor.approve(RunId(arguments.run), arguments.at, always=arguments.always)
    return await describe(conductor, RunId(arguments.run))


async def _deny(conductor: Conductor, arguments: Deny, report: ReportProgress) -> dict[str, Any]:
    await conductor.deny(RunId(arguments.run), arguments.at, reason=arguments.reason)
    return await describe(conductor, RunId(arguments.run))


async def _cancel(conductor: Conductor, arguments: Cancel, report: ReportProgress) -> dict[str, Any]:
    await conductor.cancel(RunId(arguments.run), arguments.reason)
    return await describe(conductor, RunId(arguments.run))


STEERING: Mapping[str, SteeringTool] = {
    'get_run': SteeringTool(GetRun, _get, reads=True),
    'list_runs': SteeringTool(ListRuns, _list, reads=True),
    'answer_run': SteeringTool(Answer, _answer),
    'approve_run': SteeringTool(Approve, _approve),
    'deny_run': SteeringTool(Deny, _deny),
    'cancel_run': SteeringTool(Cancel, _cancel),
    **EXPERIMENT_TOOLS,
    **CHART_TOOLS,
}


def all_tools(catalog: Catalog) -> list[Tool]:
    """List the tools that a client is offered."""
    patterns = [_of_pattern(catalog.patterns[name]) for name in sorted(catalog.patterns)]
    steering = [_of_arguments(name, tool.arguments, reads=tool.reads) for name, tool in STEERING.items()]
    return [*patterns, _of_arguments(FORK, Fork), *steering]


def starts_run(catalog: Catalog, name: str) -> bool:
    """Whether a call of this tool starts a run: it is `fork`, or named like a pattern."""
    return name == FORK or (name not in STEERING and name in catalog.patterns)


async def call(
    conductor: Conductor, name: str, arguments: Mapping[str, Any], report: ReportProgress
) -> dict[str, Any]:
    """Call a tool. Raises `EngineError` if there is no such tool or its arguments are invalid."""
    if name in STEERING:
        tool = STEERING[name]
        return await tool.work(conductor, _check(tool.arguments, arguments), report)
    run, seconds = await begin_run(conductor, name, arguments)
    return await wait_for(conductor, run, seconds, report)


async def begin_run(conductor: Conductor, name: str, arguments: Mapping[str, Any]) -> tuple[RunId, float]:
    """Start a pattern or a fork; return the run and the seconds to wait for it. Raises `EngineError`."""
    if name == FORK:
        options = _check(Fork, arguments)
        variation = ForkOverrides(instructions=options.instructions, models=options.models)
        forked = await conductor.fork(
            RunId(options.run), options.at, title=options.title, overrides=variation
        )
        return forked, options.wait_seconds
    own = {key: arguments[key] for key in StartOptions.model_fields if key in arguments}
    start = _check(StartOptions, own)
    parameters = {key: value for key, value in arguments.items() if key not in own}
    launch = Launch(pattern=name, parameters=parameters, files=start.given_files)
    return (await conductor.start(launch)).id, start.wait_seconds


def _check(arguments: type[A], values: Mapping[str, Any]) -> A:
    try:
        return arguments.model_validate(values)
    except ValidationError as error:
        problems = {'.'.join(map(str, item['loc'])): item['msg'] for item in error.errors()}
        raise InvalidInput(problems) from None


def _of_pattern(pattern: type[Pattern]) -> Tool:
    schema = pattern.Parameters.model_json_schema()
    own = StartOptions.model_json_schema()
    schema['properties'] = {**schema.get('properties', {}), **own['properties']}
    schema['$defs'] = {**schema.get('$defs', {}), **own['$defs']}
    about = f'{" ".join(pattern.summary.split())} Starts a run of several agents, which runs on its own.'
    return Tool(
        name=pattern.name, title=pattern.title, description=about, input_schema=schema, execution=AS_TASK
    )


def _of_arguments(name: str, arguments: type[ToolArguments], *, reads: bool = False) -> Tool:
    schema = arguments.model_json_schema()
    return Tool(
        name=name,
        description=schema.pop('description', ''),
        input_schema=schema,
        annotations=ToolAnnotations(read_only_hint=reads, destructive_hint=name.startswith('cancel_')),
        execution=AS_TASK if name == FORK else None,
    )
