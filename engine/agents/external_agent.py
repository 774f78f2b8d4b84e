"""The activities of a state that an external agent works in: its text and calls, and their results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic_core import to_jsonable_python

from engine.agents.spec import AgentSpec
from engine.agents.structured_answer import check_answer
from engine.agents.tool_execution import execute_tool_calls
from engine.errors import EngineError, ModelError, ToolError, WorkspaceOverLimit
from engine.journal.usage_records import usage_to_dict
from engine.models.answer_text import split_reasoning
from engine.models.protocol import schema_of
from engine.models.usage_estimate import message_length
from engine.records import Usage
from engine.records.jsonable import to_jsonable
from engine.records.message import Message, Part, Reasoning, Text, ToolCall, ToolResult
from engine.records.payloads import BatchData, ReplyData
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.run_state import AgentState
from engine.tools.acp.agents import AGENT_PREFIX, AgentModel
from engine.tools.acp.process import AgentPlace
from engine.tools.acp.session import AgentSession, Reply
from engine.tools.acp.turn import Call
from engine.tools.acp.usage import estimate
from engine.tools.artifacts import load_artifacts
from engine.tools.protocol import MAX_RESULT_TEXT, Tool, ToolContext, truncate
from engine.workspace.workspace import Workspace

MAX_HISTORY = 60_000
"""Maximum number of characters of an earlier conversation passed to a new session: its end."""
MAX_QUOTED = 2_000
"""Maximum number of characters of each tool call and result in it."""
OWN_TOOLS = (
    'Your folder is the working directory, {root}. Use your own tools: if you lack a tool that is named '
    'below, use your equivalent.'
)
CONTINUE = (
    'You were interrupted, and your last steps may be incomplete. Check the files in your folder, then '
    'continue with the task.'
)
STOPPED: Mapping[str, str] = {
    'max_tokens': 'it reached its token limit',
    'max_turn_requests': 'it reached its limit of requests per turn',
    'cancelled': 'it reported that it was cancelled',
}


async def follow_agent(
    spec: AgentSpec, scope: CallbackContext, activity: Activity, agent_model: AgentModel
) -> ReplyData:
    """Follow an external agent until it calls tools or ends its turn; begin a turn if it is in none.

    Returns:
        As `call_model`, with `external` set; also `session` (the run, its id, and whether it can be resumed),
        `plan` if it has changed, `snapshots` at the end of a turn, and `artifacts` that prove the agent's
        work.

    Raises:
        ModelError: the agent failed.
    """
    agent, began = scope.state.agents[scope.path], activity.services.clock.now()
    await _refuse_replay(activity, agent_model)
    prompt_length = 0
    try:
        session, resumed = await _open_session(spec, scope, activity, agent_model)
        if session.is_in_turn:
            session.deny()  # Calls still waiting were denied: allowed ones are settled by `await_results`.
        else:
            text = (
                _first_prompt(spec, agent, session)
                if resumed is False
                else _next_prompt(spec, agent, session, resumed)
            )
            prompt_length = len(text)
            session.prompt(text)
            if activity.attempt > 1 or agent.messages[-1].role == 'tool':
                session.usage.restart()
        session.sent_messages = len(agent.messages)
        reply = await session.wait_for_reply(activity.stream)
    except BaseException as error:
        activity.stream('', 'reset')
        ended = activity.services.sessions.end(activity.run.id, scope.path)
        if isinstance(error, ModelError):
            error.spent = _estimate_lost(agent_model, prompt_length) if prompt_length else {}
        if ended:
            await asyncio.shield(ended)
        raise
    message = _message(reply, activity, session)
    result: ReplyData = {
        'message': to_jsonable_python(message),
        'text': message.text,
        'external': True,
        'session': {'run': activity.run.id, 'id': session.id, 'loads': session.can_resume},
        **_usage(reply, message, prompt_length, agent_model, session),
        'approval': sorted({part.kind for part in reply.parts if isinstance(part, Call) and part.is_waiting}),
    }
    if reply.plan is not None:
        result['plan'] = reply.plan
    if spec.roles:
        result['role'] = agent.role
    if reply.ended:
        result |= _stop_reason(reply, message, agent_model)
        result |= await _finish_turn(spec, scope, activity, agent_model, message)
    if spec.until:
        result['seconds'] = round(activity.services.clock.now() - began, 3)
    return result


async def await_results(
    spec: AgentSpec, scope: CallbackContext, activity: Activity, agent_model: AgentModel
) -> BatchData:
    """Wait for the results of the tools that an external agent has called.

    Returns:
        As `call_tools`: `results`, `store` and `snapshots`.

    Raises:
        ModelError: the agent failed.
    """
    agent, began = scope.state.agents[scope.path], activity.services.clock.now()
    calls = next(message.calls for message in reversed(agent.messages) if message.calls)
    session = activity.services.sessions.get(activity.run.id, scope.path)
    workspace = _workspace(spec, scope, activity)
    if session is None:
        # The asking process has ended: none of the calls will run without being requested again.
        results = [(f'This was not run: {LOST}', False) for _ in calls]
    else:
        try:
            results = await session.wait_for_results([call.id for call in calls])
        except BaseException as error:
            ended = activity.services.sessions.end(activity.run.id, scope.path)
            if (
                not isinstance(error, ModelError)
                or not error.retryable
                or _count_cut_off(agent) >= MAX_CRASHES
            ):
                raise
            if ended:
                await asyncio.shield(ended)
            # The next turn resumes the session or begins a new one.
            results = [(f'{CUT_OFF}{error}', False) for _ in calls]
    tool_results = [
        ToolResult(id=call.id, name=call.name, text=await truncate(text, MAX_RESULT_TEXT, workspace), ok=ok)
        for call, (text, ok) in zip(calls, results, strict=True)
    ]
    result: BatchData = {'store': dict(agent.store)}
    try:
        result['snapshots'] = {spec.folder or scope.path: await workspace.snapshot()}
    except WorkspaceOverLimit as error:
        tool_results[-1] = replace(
            tool_results[-1], text=f'{tool_results[-1].text}\nIts folder could not be saved: {error}'
        )
    result['results'] = to_jsonable_python(tool_results)
    if spec.until:
        result['seconds'] = round(activity.services.clock.now() - began, 3)
    return result


def _count_cut_off(agent: AgentState) -> int:
    """Return how many calls of the conversation were cut off because the agent crashed."""
    parts = (part for message in agent.messages for part in message.parts)
    return sum(isinstance(part, ToolResult) and part.text.startswith(CUT_OFF) for part in parts)


CUT_OFF = 'This was cut off: '
MAX_CRASHES = 3
"""Number of crashes while tools run that an agent survives; at the next one it fails."""
LOST = 'the agent was stopped before it was answered.'


async def _refuse_replay(activity: Activity, agent_model: AgentModel) -> None:
    """Raise `ModelError` if a recording is to answer: recordings have no turns of external agents."""
    recorded = await activity.recorded_call()
    if recorded is not None and recorded.cassette.mode == 'replay':
        raise ModelError(
            f'a recording has no turns of {AGENT_PREFIX}{agent_model.agent.name}: fork the run instead, and '
            'replay its journal',
            kind='bad request',
        )


async def _open_session(
    spec: AgentSpec, scope: CallbackContext, activity: Activity, agent_model: AgentModel
) -> tuple[AgentSession, bool | None]:
    """Return the agent's session, and whether it resumes an earlier one; None for the live session."""
    live = activity.services.sessions.get(activity.run.id, scope.path)
    if live is not None:
        return live, None
    agent, run = scope.state.agents[scope.path], activity.run
    place = AgentPlace(
        workspace=_workspace(spec, scope, activity),
        sandbox=activity.services.sandbox,
        home=activity.services.workspaces.agent_home(run.id, scope.path),
        cookie=f'{run.id}/{scope.path}',
    )
    approvals = agent_model.agent.approvals_for(run.options.get('approvals', 'marked'))
    session = AgentSession(agent_model.agent, place, approvals=approvals)
    # Registered first, so that leaving the state meanwhile ends it.
    activity.services.sessions.add(run.id, scope.path, session)
    earlier = str(agent.session.get('id', '')) if agent.session.get('run') == run.id else ''
    hints = {
        'pattern': run.pattern,
        'role': agent.role,
        'state': scope.path,
        'task': scope.pattern.task,
        'visit': agent.visits,
        'attempt': activity.attempt,
        'seed': run.seed,
        'schema': schema_of(spec.output) if spec.output else None,
    }
    return session, await session.start(earlier=earlier, hints=hints)


def _workspace(spec: AgentSpec, scope: CallbackContext, activity: Activity) -> Workspace:
    return activity.workspace(spec.folder or scope.path)


def _first_prompt(spec: AgentSpec, agent: AgentState, session: AgentSession) -> str:
    """Return the first prompt of a new session: the task, after the conversation so far, if any."""
    messages = [message for message in agent.messages if message.role != 'system']
    system = [message.text for message in agent.messages if message.role == 'system']
    lead = [*system, OWN_TOOLS.format(root=session.root)]
    if not any(message.role == 'assistant' for message in messages):
        return '\n\n'.join([*lead, *(message.text for message in messages), *_form_instruction(spec)])
    past = messages if messages[-1].role != 'user' else messages[:-1]
    last = CONTINUE if messages[-1].role != 'user' else messages[-1].text
    history = _history(past)
    return '\n\n'.join(
        [
            *lead,
            'This is a new session. Your conversation and actions so far are inside the data tags:',
            f'<data>\n{history}\n</data>',
            last,
            *_form_instruction(spec),
        ]
    )


def _next_prompt(spec: AgentSpec, agent: AgentState, session: AgentSession, resumed: bool | None) -> str:
    """Return the prompt that continues a session: the messages the agent has not seen yet."""
    if resumed is None:
        unseen = [
            message.text for message in agent.messages[session.sent_messages :] if message.role == 'user'
        ]
    else:
        unseen = []
        for message in reversed(agent.messages):
            if message.role != 'user':
                break
            unseen.insert(0, message.text)
    return '\n\n'.join([*(unseen or [CONTINUE]), *_form_instruction(spec)])


def _form_instruction(spec: AgentSpec) -> list[str]:
    """Return the instruction for the form of the answer, if a record is requested."""
    if spec.output is None:
        return []
    schema = json.dumps(schema_of(spec.output), ensure_ascii=False)
    return [
        f'End with an answer that is one JSON object and nothing else, and matches this schema:\n{schema}'
    ]


def _history(messages: Sequence[Message]) -> str:
    lines = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text):
                lines.append(f'{"You" if message.role == "assistant" else "User"}: {part.text}')
            elif isinstance(part, ToolCall):
                lines.append(f'You used {part.name}: {part.arguments[:MAX_QUOTED]}')
            elif isinstance(part, ToolResult):
                lines.append(f'Result ({"ok" if part.ok else "failed"}): {part.text[:MAX_QUOTED]}')
    return '\n'.join(lines)[-MAX_HISTORY:]


def _message(reply: Reply, activity: Activity, session: AgentSession) -> Message:
    parts: list[Part] = []
    for part in reply.parts:
        if isinstance(part, Call):
            name = f'call-{activity.since}-{len(parts) + 1}'
            session.record_call(part, name)
            parts.append(ToolCall(id=name, name=part.kind, arguments=part.arguments))
        elif part.kind == 'text':
            thought, text = split_reasoning(part.text)
            parts += [Reasoning(text=thought)] if thought else []
            parts += [Text(text=text)] if text else []
        else:
            parts.append(Reasoning(text=part.text))
    return Message(role='assistant', parts=tuple(parts))


def _usage(
    reply: Reply, message: Message, prompt_length: int, agent_model: AgentModel, session: AgentSession
) -> ReplyData:
    """Return usage as journaled: reported by the agent at the end of a turn, otherwise estimated."""
    used, settles = session.usage.count(
        prompt_length, message_length(message), reply.usage, ended=reply.ended
    )
    data: ReplyData = {
        'model': f'{AGENT_PREFIX}{agent_model.agent.name}',
        'source': 'simulated' if agent_model.simulated else 'live',
    }
    if not agent_model.simulated:
        # Cost reported later counts for a later reply; the cost of a turn without any is unknown.
        unknown = reply.ended and reply.dollars is None
        used = replace(used, unpriced=1) if unknown else replace(used, dollars=reply.dollars or 0.0)
    data['usage'] = usage_to_dict(used)
    if settles and not agent_model.simulated:
        data['usage']['settles'] = True
    return data


def _estimate_lost(agent_model: AgentModel, prompt_length: int) -> dict[str, Usage]:
    """Return the minimum usage of a turn that broke off."""
    model, unpriced = f'{AGENT_PREFIX}{agent_model.agent.name}', int(not agent_model.simulated)
    return {model: replace(estimate(prompt_length, 0, calls=1), unpriced=unpriced)}


def _stop_reason(reply: Reply, message: Message, agent_model: AgentModel) -> ReplyData:
    """Return why a turn was cut short, if it was. Raises `ModelError` if the agent refused to go on."""
    if reply.reason == 'refusal':
        problem = f'{AGENT_PREFIX}{agent_model.agent.name}: the agent refused: {message.text.strip()[:500]}'
        raise ModelError(problem, kind='content filter')
    return {'finish': STOPPED[reply.reason]} if reply.reason in STOPPED else {}


async def _finish_turn(
    spec: AgentSpec, scope: CallbackContext, activity: Activity, agent_model: AgentModel, message: Message
) -> ReplyData:
    """Return the data of a turn's end: files, proofs of the work, and a record if one is requested."""
    name = f'{AGENT_PREFIX}{agent_model.agent.name}'
    workspace = _workspace(spec, scope, activity)
    result: ReplyData = {}
    if workspace.folder.is_dir():
        result['snapshots'] = {spec.folder or scope.path: await workspace.snapshot()}
    agent = scope.state.agents[scope.path]
    if not message.calls:
        result |= check_answer(spec, agent, message.text, model='' if agent_model.simulated else name)
    if spec.until and spec.until.proofs:
        result |= await _run_proofs(scope, activity, spec.until.proofs, workspace)
    return result


async def _run_proofs(
    scope: CallbackContext,
    activity: Activity,
    names: Sequence[str],
    workspace: Workspace,
) -> ReplyData:
    """Run the tools whose artifacts prove the work; the agent's own tools produce none we can trust."""
    agent, services = scope.state.agents[scope.path], activity.services
    try:
        tools: Mapping[str, Tool] = await services.toolset(names)
    except (ToolError, EngineError):
        return {}
    calls = [ToolCall(id=f'proof-{activity.since}-{name}', name=name, arguments='{}') for name in names]
    artifact_store = await load_artifacts(agent.artifacts, (), workspace)
    facts = to_jsonable(dict(scope.pattern.facts(scope.state.memory)))
    contexts = [
        ToolContext(
            key=f'{activity.run.id}:{call.id}',
            store=dict(agent.store),
            workspace=workspace,
            sandbox=services.sandbox,
            artifact_store=artifact_store,
            now=services.clock.now(),
            facts=facts,
        )
        for call in calls
    ]
    await execute_tool_calls(tools, calls, contexts)
    return {'artifacts': await artifact_store.record(workspace)} if artifact_store.changed else {}
