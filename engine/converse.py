"""The activities behind an agent's states: one model call, and one batch of tool calls."""

from __future__ import annotations

import contextlib
import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from engine.activity import Activity
from engine.attempt import attempt, choices
from engine.batch import run_calls
from engine.course import Scope
from engine.dynamic.artifacts import whole
from engine.dynamic.asking import Asking
from engine.dynamic.registry import Registry
from engine.message import Message
from engine.model import Hints, ModelRequest, schema_of
from engine.plain import plain
from engine.records import RunInfo
from engine.tool import Tool, ToolContext

if TYPE_CHECKING:
    from engine.agent import AgentSpec

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


async def think(spec: AgentSpec, scope: Scope, activity: Activity) -> dict[str, Any]:
    """Call the agent's model once, streaming its text.

    Returns:
        `message` (the reply), `text`, `role` where it was picked for this visit, what `Reply.data` holds,
        `approval` (tools that need a person's word), and, where a record was asked for and no tool was,
        `output` (its JSON) or `unfit` (what is wrong with the answer).

    Raises:
        ModelError: the call failed.
    """
    agent = scope.state.agents[scope.path]
    began = activity.services.clock.now()
    tools = await _tools(spec, scope, activity)
    names = choices(activity.run.models, agent.role)
    request = ModelRequest(
        model=names[0],
        messages=tuple(agent.messages),
        tools=tuple(tool.spec for tool in tools.values()),
        schema=schema_of(spec.output) if spec.output else None,
        hints=Hints(
            pattern=activity.run.pattern,
            role=agent.role,
            state=scope.path,
            task=scope.pattern.task,
            visit=agent.visits,
            turn=agent.turns,
            attempt=activity.attempt,
            seed=activity.run.seed,
        ),
    )
    reply = await attempt(names, request, activity)
    message = reply.message
    result: dict[str, Any] = {
        'message': to_jsonable_python(message),
        'text': message.text,
        **reply.data,
        'approval': _awaiting(tools, message, activity.run),
    }
    if spec.until:
        result['seconds'] = round(activity.services.clock.now() - began, 3)
    if spec.roles:
        result['role'] = agent.role
    if spec.output and not message.calls:
        result |= fitted(spec.output, message.text)
    return result


async def use_tools(spec: AgentSpec, scope: Scope, activity: Activity) -> dict[str, Any]:
    """Run the tools the last reply asked for.

    Returns:
        `results` in the order of the calls; `store`, the agent's notes after them; `artifacts` that were
        made; `usage`, `model` and `cost` where tools asked a model; and, where it has files, `snapshots`, the
        id of what its folder held then, by the folder's name.
    """
    agent = scope.state.agents[scope.path]
    began = activity.services.clock.now()
    calls = next(message.calls for message in reversed(agent.messages) if message.calls)
    store = dict(agent.store)
    tools = await _tools(spec, scope, activity)
    folder = spec.folder or scope.path
    workspace = activity.workspace(folder)
    services = activity.services
    consumed = {name for call in calls if call.name in tools for name in tools[call.name].consumes}
    shelf = await whole(agent.artifacts, consumed, workspace)
    asking = Asking(activity=activity, scope=scope, role=agent.role, task=scope.pattern.task)
    facts = plain(dict(scope.pattern.facts(scope.state.memory)))
    contexts = [
        ToolContext(
            key=f'{activity.run.id}:{call.id}',
            store=store,
            workspace=workspace,
            sandbox=services.sandbox,
            private_addresses=services.private_addresses,
            shelf=shelf,
            now=began,
            model=ask,
            facts=facts,
        )
        for call, ask in zip(calls, asking.of(agent, calls), strict=True)
    ]
    results = await run_calls(tools, calls, contexts)
    result = {'results': to_jsonable_python(results), 'store': store, **asking.data}
    if shelf.changed:
        result['artifacts'] = await shelf.record(workspace)
    if spec.until:
        result['seconds'] = round(services.clock.now() - began, 3)
    if workspace.folder.is_dir():
        result['snapshots'] = {folder: await workspace.snapshot()}
    return result


async def awaiting(spec: AgentSpec, scope: Scope, activity: Activity, message: Message) -> list[str]:
    """The tools that a reply asks for and that need a person's word."""
    return _awaiting(await _tools(spec, scope, activity), message, activity.run)


async def _tools(spec: AgentSpec, scope: Scope, activity: Activity) -> Registry:
    """The agent's tools that can be used here; a run's memory may turn more of them off."""
    name = scope.state.agents[scope.path].role
    role = spec.role_named(name)
    own = [tool for tool in spec.tools if role is None or tool in role.tools]
    own = activity.run.options.get('tools', {}).get(name, own)
    known = Registry((await activity.services.toolset(own)).values())
    found = await known.available(activity.services.sandbox)
    return found.but(getattr(scope.state.memory, 'off', {}))


def _awaiting(tools: Registry, message: Message, run: RunInfo) -> list[str]:
    names = {call.name for call in message.calls if call.name in tools}
    return sorted(name for name in names if _waits(tools[name], run))


def _waits(tool: Tool, run: RunInfo) -> bool:
    """Whether a call of the tool needs a person's word."""
    approvals = run.options.get('approvals', 'marked')
    return approvals == 'all' or (approvals == 'marked' and tool.approval)


def fitted(record: type[BaseModel], text: str) -> dict[str, Any]:
    """The answer as the record asked for; models like to wrap it in a fence or in a sentence."""
    try:
        answer = _json_in(text)
        return {'output': record.model_validate(answer).model_dump(mode='json')}
    except ValidationError as error:
        listed = '; '.join(
            f'{".".join(map(str, item["loc"])) or "it"}: {item["msg"]}' for item in error.errors()
        )
        return {'unfit': listed}
    except (ValueError, RecursionError) as error:
        return {'unfit': f'it is not JSON: {error}'}


def _json_in(text: str) -> Any:
    """The text as JSON, or the first object inside it that is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        for start in islice(re.finditer(r'\{', text), MOST_BRACES):
            with contextlib.suppress(ValueError, RecursionError):
                return json.JSONDecoder().raw_decode(text, start.start())[0]
        raise


MOST_BRACES = 100
"""Places in an answer at which a JSON object is looked for."""
