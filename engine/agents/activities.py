"""The activities of an agent's states: one model call, and one batch of tool calls."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_core import to_jsonable_python

from engine.agents.model_call import call_with_fallback
from engine.agents.spec import AgentSpec
from engine.agents.structured_answer import check_answer
from engine.agents.tool_execution import execute_tool_calls
from engine.agents.tool_model_client import ToolModelClient
from engine.errors import FilesUnavailable, WorkspaceError, WorkspaceOverLimit
from engine.models.protocol import Hints, ModelRequest, schema_of
from engine.models.stubs import models_and_stubs
from engine.records import RunInfo
from engine.records.effort import role_effort
from engine.records.jsonable import to_jsonable
from engine.records.message import Image, Message
from engine.records.payloads import BatchData, ReplyData
from engine.records.question import OpenBatch, Question
from engine.runtime.activity import Activity, PendingQuestion
from engine.statechart.decision_cache import CallbackContext
from engine.tools.acp.agents import AGENT_PREFIX, AgentModel
from engine.tools.artifacts import load_artifacts
from engine.tools.protocol import AnswerNeeded, Tool, ToolContext
from engine.tools.registry import ToolRegistry
from engine.workspace.workspace import Workspace

FOLDER_NOT_SAVED = 'Your folder could not be saved: %s. Fix that, or your changes will be lost.'
MAX_IMAGES = 20
"""Maximum number of images per request, the newest ones: each is paid for again with every turn."""


async def call_model(spec: AgentSpec, scope: CallbackContext, activity: Activity) -> ReplyData:
    """Call the agent's model once, streaming its text.

    Returns:
        `message` (the reply), `text`, `role` if it was chosen for this visit, the contents of
        `ModelReply.data`, `approval` (tools that need approval) and, if structured output was requested and
        no tool was called, `output` (its JSON) or `unfit` (the problem with the answer). `unfit` and `again`
        (the request to repeat it) are also set if a text answer was cut off or may not be empty.

    Raises:
        ModelError: the call failed.
    """
    agent = scope.state.agents[scope.path]
    began = activity.services.clock.now()
    names, stubs = models_and_stubs(activity.run, scope.path, agent.role)
    if agent_model := _find_external_agent(names[0], activity):
        from engine.agents.external_agent import follow_agent  # with the protocol's library

        return await follow_agent(spec, scope, activity, agent_model)
    tools = await _tools(spec, scope, activity)
    request = ModelRequest(
        model=names[0],
        messages=tuple(agent.messages),
        tools=tuple(tool.spec for tool in tools.values()),
        schema=schema_of(spec.output) if spec.output else None,
        images=await load_images(agent.messages, activity.workspace(spec.folder or scope.path)),
        effort=role_effort(activity.run.options.get('effort', {}), agent.role),
        hints=Hints(
            pattern=activity.run.pattern,
            role=agent.role,
            state=scope.path,
            task=scope.pattern.task,
            visit=agent.visits,
            turn=agent.turns,
            attempt=activity.attempt,
            seed=activity.run.seed,
            stubs=stubs,
        ),
    )
    reply = await call_with_fallback(names, request, activity)
    message = reply.message
    result: ReplyData = {
        'message': to_jsonable_python(message),
        'text': message.text,
        **reply.data,
        'approval': _find_calls_to_approve(tools, message, activity.run),
    }
    if spec.until:
        result['seconds'] = round(activity.services.clock.now() - began, 3)
    if spec.roles:
        result['role'] = agent.role
    if not message.calls:
        was_cut = reply.data.get('finish') == 'length'
        result |= check_answer(spec, agent, message.text, model=reply.real_model, was_cut=was_cut)
    return result


async def load_images(messages: Sequence[Message], workspace: Workspace) -> dict[str, str]:
    """Return the newest images in base64, by digest; those no longer stored are left out."""
    # Only tool results hold images, and each call scans the whole conversation.
    results = (message for message in messages if message.role == 'tool')
    digests = [part.digest for message in results for part in message.parts if isinstance(part, Image)]
    images: dict[str, str] = {}
    for digest in list(dict.fromkeys(reversed(digests)))[:MAX_IMAGES]:
        try:
            images[digest] = base64.b64encode(await workspace.load(digest)).decode()
        except FilesUnavailable:
            raise  # It is stored, and will be available again.
        except WorkspaceError:
            continue
    return images


async def call_tools(
    spec: AgentSpec, scope: CallbackContext, activity: Activity
) -> BatchData | PendingQuestion:
    """Run the tools that the last reply called; after a person's answer, those that have not ended.

    See `BatchData`; with a question, it is pending.
    """
    agent_model = _find_external_agent(scope.state.agents[scope.path].model, activity)
    if agent_model is None:
        return await _run_tools(spec, scope, activity)
    from engine.agents.external_agent import await_results

    return await await_results(spec, scope, activity, agent_model)


async def _run_tools(
    spec: AgentSpec, scope: CallbackContext, activity: Activity
) -> BatchData | PendingQuestion:
    agent = scope.state.agents[scope.path]
    began = activity.services.clock.now()
    all_calls = next(message.calls for message in reversed(agent.messages) if message.calls)
    batch = agent.batch or OpenBatch()
    ended_results = {result.id: result for result in batch.results}
    calls = [call for call in all_calls if call.id not in ended_results]
    store = dict(agent.store)
    tools = await _tools(spec, scope, activity)
    folder = spec.folder or scope.path
    workspace = activity.workspace(folder)
    services = activity.services
    consumed = {name for call in calls if call.name in tools for name in tools[call.name].consumes}
    artifact_store = await load_artifacts(agent.artifacts, consumed, workspace)
    model_client = ToolModelClient(activity=activity, scope=scope, role=agent.role, task=scope.pattern.task)
    facts = to_jsonable(dict(scope.pattern.facts(scope.state.memory)))
    images: list[Image] = []
    contexts = [
        ToolContext(
            key=f'{activity.run.id}:{call.id}',
            store=store,
            workspace=workspace,
            sandbox=services.sandbox,
            private_addresses=services.private_addresses,
            artifact_store=artifact_store,
            images=images,
            now=began,
            model=ask,
            facts=facts,
            questions=[question for question in batch.questions if question.call == call.id],
        )
        for call, ask in zip(calls, model_client.ask_functions(agent, calls), strict=True)
    ]
    question: Question | None = None
    try:
        results = await execute_tool_calls(tools, calls, contexts)
    except AnswerNeeded as needed:
        results, question = list(needed.results), needed.question
    snapshots = {}
    if workspace.folder.is_dir():
        try:
            snapshots = {folder: await workspace.snapshot()}
        except WorkspaceOverLimit as error:
            if results:
                text = f'{results[-1].text}\n{FOLDER_NOT_SAVED % error}'
                results[-1] = replace(results[-1], text=text, ok=False)
    result: BatchData = {'store': store, **model_client.data}
    if question:
        result |= {'finished': to_jsonable_python(results), 'question': question.model_dump(mode='json')}
    else:
        ended_results |= {item.id: item for item in results} if ended_results else {}
        all_results = [ended_results[call.id] for call in all_calls] if ended_results else results
        result['results'] = to_jsonable_python(all_results)
        images = [*batch.images, *images]
    if images:
        result['images'] = to_jsonable_python(images)
    if artifact_store.changed:
        result['artifacts'] = await artifact_store.record(workspace)
    if spec.until:
        result['seconds'] = round(services.clock.now() - began, 3)
    if snapshots:
        result['snapshots'] = snapshots
    return PendingQuestion(data=result) if question else result


def _find_external_agent(name: str, activity: Activity) -> AgentModel | None:
    """Return the external agent with that name; None if it is a model's."""
    model: object = activity.services.models.get(name) if name.startswith(AGENT_PREFIX) else None
    return model if isinstance(model, AgentModel) else None


async def find_calls_to_approve(
    spec: AgentSpec, scope: CallbackContext, activity: Activity, message: Message
) -> list[str]:
    """Return the tools called by a reply that need approval."""
    return _find_calls_to_approve(await _tools(spec, scope, activity), message, activity.run)


async def _tools(spec: AgentSpec, scope: CallbackContext, activity: Activity) -> ToolRegistry:
    """Return the agent's tools that are available; the run's memory may disable some of these."""
    name = scope.state.agents[scope.path].role
    role = spec.find_role(name)
    names = [tool for tool in spec.tools if role is None or tool in role.tools]
    names = activity.run.options.get('tools', {}).get(name, names)
    registry = ToolRegistry((await activity.services.toolset(names)).values())
    available_tools = await registry.available(activity.services.sandbox)
    memory: Any = scope.state.memory  # Asking it for a field that it lacks is slow.
    return available_tools.without(memory.off) if 'off' in type(memory).model_fields else available_tools


def _find_calls_to_approve(tools: ToolRegistry, message: Message, run: RunInfo) -> list[str]:
    names = {call.name for call in message.calls if call.name in tools}
    return sorted(name for name in names if _needs_approval(tools[name], run))


def _needs_approval(tool: Tool, run: RunInfo) -> bool:
    """Whether a call of the tool needs approval."""
    approvals = run.options.get('approvals', 'marked')
    return approvals == 'all' or (approvals == 'marked' and tool.approval)
