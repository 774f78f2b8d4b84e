"""Long calls to MCP servers: tasks of either protocol, polled until they have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from mcp import Client, types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError

from engine.errors import ToolError
from engine.records.jsonable import clip
from engine.tools.mcp.asking import CURRENT
from engine.tools.mcp.connection_errors import SESSION_ENDED, UNKNOWN, ConnectionLost, error_text, is_closed
from engine.tools.mcp.http_client import BROKEN_OFF

R = TypeVar('R', bound=types.Result)
POLLS = 4
"""Maximum consecutive attempts at a poll that is interrupted."""
POLL_SECONDS = 1.0
"""Seconds between polls of a task, unless the server requests another interval."""
MIN_SECONDS, MAX_SECONDS = 0.05, 60.0
"""Bounds for the interval that a server requests."""
MAX_STATUS = 4_000
"""Maximum characters of a task's status message."""
RELATED = 'io.modelcontextprotocol/related-task'
CANCEL_SECONDS = 5.0
"""Seconds to wait for a server to receive a cancellation."""


class TaskHandle(types.Result):
    """A server's response to a long call."""

    result_type: Literal['task'] = 'task'
    task_id: str
    poll_interval_ms: int | None = None


class TaskState(types.Result):
    """A task's current state."""

    task_id: str | None = None
    status: str
    status_message: str | None = None
    poll_interval_ms: int | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, types.ElicitRequest] | None = None


class TaskParams(types.RequestParams):
    """Parameters that identify a task."""

    task_id: str


class GetTask(types.Request[TaskParams, Literal['tasks/get']]):
    """Asks for a task's state."""

    method: Literal['tasks/get'] = 'tasks/get'
    params: TaskParams


class CancelTask(types.Request[TaskParams, Literal['tasks/cancel']]):
    """The request that cancels a task."""

    method: Literal['tasks/cancel'] = 'tasks/cancel'
    params: TaskParams


class UpdateParams(TaskParams):
    """A person's answers, by question key."""

    input_responses: dict[str, types.ElicitResult]


class UpdateTask(types.Request[UpdateParams, Literal['tasks/update']]):
    """Sends a task the input it has requested."""

    method: Literal['tasks/update'] = 'tasks/update'
    params: UpdateParams


class Tasks(ClientExtension):
    """Lets a server respond to a call with a task.

    Args:
        seconds: the time limit of a task.
    """

    identifier = 'io.modelcontextprotocol/tasks'

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the handlers of results that are tasks: they are followed to their end."""
        return [ResultClaim(result_type='task', model=TaskHandle, resolve=self._follow)]

    async def _follow(self, task: TaskHandle, context: ClaimContext) -> types.CallToolResult:
        """Wait until a task has ended; abandoning the call cancels the task."""
        if call := CURRENT.get(None):
            call.extend(self._seconds)
        params = TaskParams(task_id=task.task_id)
        pause = task.poll_interval_ms
        try:
            while True:
                await asyncio.sleep(_seconds(pause))
                state = await _poll(context.session, GetTask(params=params), TaskState)
                _refuse_others(state.task_id, task.task_id)
                if state.status == 'input_required' and (call := CURRENT.get(None)):
                    requests, before = state.input_requests or {}, call.answered
                    answers = {key: await call.answer(request.params) for key, request in requests.items()}
                    update = UpdateParams(task_id=task.task_id, input_responses=answers)
                    await _ask(context.session, UpdateTask(params=update), types.EmptyResult)
                    if call.answered > before:  # Do not count the time a person took.
                        call.extend(self._seconds)
                elif state.status != 'working':
                    return _result_of(state)
                pause = state.poll_interval_ms
        except TaskEnded as error:
            raise ToolError(str(error)) from None
        except BaseException:
            await _cancel(context.session, params)
            raise


def becomes_task(client: Client, tool: types.Tool) -> bool:
    """Return whether a call to the tool should be a task, in the protocol version 2025-11-25."""
    support = tool.execution.task_support if tool.execution else None
    tasks = client.server_capabilities.tasks
    calls = tasks.requests.tools if tasks and tasks.requests else None
    return support in ('optional', 'required') and bool(calls and calls.call is not None)


async def call_as_task(
    session: ClientSession, name: str, arguments: dict[str, Any], meta: Any, seconds: float
) -> types.CallToolResult:
    """Call a tool as a task, in the protocol version 2025-11-25; abandoning the call cancels the task."""
    ttl = types.TaskMetadata(ttl=int(seconds * 1000))
    params = types.CallToolRequestParams(name=name, arguments=arguments, task=ttl, _meta=meta)
    # The package knows these messages, but its session rejects a task as the result of a call.
    parameters = params.model_dump(by_alias=True, mode='json', exclude_none=True)
    raw = await session._dispatcher.send_raw_request('tools/call', parameters, {})
    if 'task' not in raw:
        return types.CallToolResult.model_validate(raw, by_name=False)
    created = types.CreateTaskResult.model_validate(raw, by_name=False)
    if call := CURRENT.get(None):
        call.extend(seconds)
    task = created.task
    task_parameters = types.GetTaskRequestParams(task_id=task.task_id)
    try:
        while task.status == 'working':
            await asyncio.sleep(_seconds(task.poll_interval))
            task = await _poll(session, types.GetTaskRequest(params=task_parameters), types.GetTaskResult)
            _refuse_others(task.task_id, created.task.task_id)
        if task.status == 'cancelled':
            reason = task.status_message or 'no reason given'
            raise ToolError(f'its task is cancelled: {reason[:MAX_STATUS]}')
        # Fetch the call's result or error. A server that needs input asks during this wait.
        payload = types.GetTaskPayloadRequestParams(task_id=task.task_id)
        ended = await _ask(session, types.GetTaskPayloadRequest(params=payload), types.CallToolResult)
        related = (ended.meta or {}).get(RELATED)
        _refuse_others(related.get('taskId') if isinstance(related, dict) else None, created.task.task_id)
        return ended
    except asyncio.CancelledError:
        await _cancel(session, TaskParams(task_id=task.task_id))
        raise


class TaskEnded(ToolError):
    """The task ended without being completed."""


async def _poll(session: ClientSession, request: types.Request[Any, Any], kind: type[R]) -> R:
    """Get a task's state, retrying if interrupted. Raises `ConnectionLost` if the task is unknown."""
    for left in reversed(range(POLLS)):
        try:
            return await session.send_request(request, kind)
        except MCPError as error:
            if is_closed(error):
                raise
            if error.code != BROKEN_OFF or not left:
                raise _lost_error(error) from None
        await asyncio.sleep(POLL_SECONDS)
    raise AssertionError


async def _ask(session: ClientSession, request: types.Request[Any, Any], kind: type[R]) -> R:
    """Send another request about a task. Raises `ConnectionLost` if session and task have ended."""
    try:
        return await session.send_request(request, kind)
    except MCPError as error:
        if error.message != SESSION_ENDED:
            raise
        raise _lost_error(error) from None


def _lost_error(error: MCPError) -> ConnectionLost:
    return ConnectionLost(f'its task is lost: {clip(error_text(error), MAX_STATUS)}; {UNKNOWN}')


def _seconds(pause: int | None) -> float:
    """Seconds to wait before polling a task again."""
    return POLL_SECONDS if pause is None else min(max(pause, MIN_SECONDS * 1000), MAX_SECONDS * 1000) / 1000


def _refuse_others(answered_task: object, expected: str) -> None:
    """Raise `ToolError` if a response names another task."""
    if answered_task is not None and answered_task != expected:
        raise ToolError(f'it answered for the task {str(answered_task)[:100]!r}, not {expected[:100]!r}')


def _result_of(state: TaskState) -> types.CallToolResult:
    if state.status == 'completed':
        return types.CallToolResult.model_validate(state.result or {'content': []})
    reason = str((state.error or {}).get('message') or state.status_message or 'no reason given')
    how = 'has failed' if state.status == 'failed' else f'is {state.status[:100]}'
    ended = TaskEnded if state.status in ('failed', 'cancelled') else ToolError
    raise ended(f'its task {how}: {reason[:MAX_STATUS]}')


async def _cancel(session: ClientSession, params: TaskParams) -> None:
    """Try to cancel a task that nobody waits for any more."""
    sending = asyncio.ensure_future(session.send_request(CancelTask(params=params), types.EmptyResult))
    sending.add_done_callback(lambda sent: sent.cancelled() or sent.exception())
    await asyncio.wait({sending}, timeout=CANCEL_SECONDS)
    if not sending.done():  # The server does not respond.
        sending.cancel()
