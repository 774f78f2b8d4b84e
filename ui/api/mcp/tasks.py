"""Runs as MCP tasks: in protocol version 2025-11-25, and in the extension that followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolResult,
    CancelTaskRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetTaskRequestParams,
    PaginatedRequestParams,
    RequestParams,
    ServerCapabilities,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from engine import Conductor, EngineError, Status, Transition
from engine.errors import UnknownRun
from engine.records import RunId, RunInfo, RunQuery
from ui.api.cursors import read_cursor, write_cursor
from ui.api.mcp.questions import Question, question_of
from ui.api.mcp.runs import ReportProgress, as_result, describe, describe_step
from ui.api.mcp.tools import begin_run, starts_run
from ui.api.wire import to_rfc3339

Context = ServerRequestContext[Any, Any]
WITH_TASKS: Final = '2025-11-25'
"""The protocol version with tasks in its core."""
EXTENSION: Final = 'io.modelcontextprotocol/tasks'
RELATED: Final = 'io.modelcontextprotocol/related-task'
IMMEDIATE_RESPONSE: Final = 'io.modelcontextprotocol/model-immediate-response'
CAPABILITIES: Final[dict[str, Any]] = {'list': {}, 'cancel': {}, 'requests': {'tools': {'call': {}}}}
POLL_MS: Final = 1_000
MAX_TASKS: Final = 50
"""Tasks on a page."""
ENDED: Final = {Status.DONE: 'completed', Status.FAILED: 'failed', Status.CANCELLED: 'cancelled'}


class UpdateTaskParams(RequestParams):
    """Answers to a task's questions, by their keys."""

    task_id: str
    input_responses: dict[str, ElicitResult]


class TaskServer(Server[Any]):
    """A server that declares its support for tasks as each protocol version expects."""

    def get_capabilities(
        self, *args: Any, protocol_version: str | None = None, **more: Any
    ) -> ServerCapabilities:
        """Return the capabilities for a client of this protocol version."""
        capabilities = super().get_capabilities(*args, protocol_version=protocol_version, **more)
        if protocol_version in MODERN_PROTOCOL_VERSIONS:
            return capabilities.model_copy(update={'extensions': {EXTENSION: {}}})
        return ServerCapabilities.model_validate(
            {**capabilities.model_dump(by_alias=True), 'tasks': CAPABILITIES}
        )


class Tasks:
    """Tasks whose ids are those of runs: they are in the journal, and survive this process."""

    def __init__(self, conductor: Callable[[], Conductor]) -> None:
        self._conductor = conductor

    def serve(self, server: Server[Any]) -> None:
        """Register the handlers for tasks with a server."""
        server.middleware.append(self.begin)
        server.add_request_handler('tasks/get', GetTaskRequestParams, self.get)
        server.add_request_handler('tasks/result', GetTaskRequestParams, self.result)
        server.add_request_handler('tasks/list', PaginatedRequestParams, self.list)
        server.add_request_handler('tasks/cancel', CancelTaskRequestParams, self.cancel)
        server.add_request_handler('tasks/update', UpdateTaskParams, self.update)

    async def begin(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Middleware: in the version with tasks, a call that asks for one starts a run and returns."""
        params = ctx.params or {}
        task = params.get('task')
        if ctx.method != 'tools/call' or ctx.protocol_version != WITH_TASKS or task is None:
            return await call_next(ctx)
        name, arguments = params.get('name'), params.get('arguments') or {}
        if not isinstance(task, dict) or not isinstance(name, str) or not isinstance(arguments, dict):
            return await call_next(ctx)  # It reports what is wrong.
        if not starts_run(self._conductor().catalog, name):
            raise MCPError(METHOD_NOT_FOUND, f'{name} answers at once: call it without a task')
        try:
            info = await self._start(name, arguments)
        except EngineError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        hint = f'Run {info.id} has started and runs on its own.'
        return {'task': _task(info), '_meta': {IMMEDIATE_RESPONSE: hint}}

    async def begin_modern(
        self, context: Context, name: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return the task for a call from a client with the extension; None for other calls."""
        if not _has_extension(context) or not starts_run(self._conductor().catalog, name):
            return None
        return {'resultType': 'task', **_modern_task(await self._start(name, arguments))}

    async def get(self, context: Context, params: GetTaskRequestParams) -> dict[str, Any]:
        """Return the state of a task."""
        info = await self._info(params.task_id)
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return _task(info)
        task = _modern_task(info)
        if task['status'] == 'completed':
            result = as_result(await describe(self._conductor(), info.id))
            task['result'] = result.model_dump(by_alias=True, mode='json', exclude_none=True)
        elif task['status'] == 'input_required':
            question = await self._question(context, info)
            if question:
                task['inputRequests'] = {question.key: _elicitation_request(question)}
            else:
                task['status'] = 'working'  # A person answers elsewhere: on the page, or with a tool.
        return task

    async def result(self, context: Context, params: GetTaskRequestParams) -> CallToolResult:
        """Return a task's result once it has ended; until then, put its questions to the client."""
        conductor, info = self._conductor(), await self._info(params.task_id)
        answered = 0
        while not info.status.ended:
            if info.status is Status.WAITING and info.seq > answered:
                answered = info.seq
                await self._ask(context, info)
            else:
                await _wait_for_step(conductor, info, context.session.report_progress)
            info = await conductor.info(info.id)
        result = as_result(await describe(conductor, info.id))
        return result.model_copy(update={'meta': {RELATED: {'taskId': info.id}}})

    async def list(self, context: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        """List the tasks: all runs, newest first."""
        try:
            beyond = read_cursor(tuple[float, float, str], params.cursor or '')
        except EngineError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        infos = (await self._conductor().runs(RunQuery(beyond=beyond, limit=MAX_TASKS + 1))).runs
        page: dict[str, Any] = {'tasks': [_task(info) for info in infos[:MAX_TASKS]]}
        if len(infos) > MAX_TASKS:
            last = infos[MAX_TASKS - 1]
            page['nextCursor'] = write_cursor([last.deleted, last.created, last.id])
        return page

    async def cancel(self, context: Context, params: CancelTaskRequestParams) -> dict[str, Any]:
        """Cancel a task. If it has ended, this is an error in the older protocol versions."""
        info = await self._info(params.task_id)
        try:
            await self._conductor().cancel(info.id, 'cancelled by a chat agent')
        except EngineError as error:
            if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                raise MCPError(INVALID_PARAMS, str(error)) from None
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return {}
        return _task(await self._info(params.task_id))

    async def update(self, context: Context, params: UpdateTaskParams) -> dict[str, Any]:
        """Accept the answer to a task's question; ignore answers to older questions."""
        info = await self._info(params.task_id)
        question = await self._question(context, info)
        if question and (answer := params.input_responses.get(question.key)):
            await question.answer(self._conductor(), answer)
        return {}

    async def _start(self, name: str, arguments: Mapping[str, Any]) -> RunInfo:
        run, _ = await begin_run(self._conductor(), name, arguments)
        return await self._conductor().info(run)

    async def _info(self, task: str) -> RunInfo:
        try:
            return await self._conductor().info(RunId(task))
        except UnknownRun:
            raise MCPError(INVALID_PARAMS, f'there is no task {task!r}') from None

    async def _question(self, context: Context, info: RunInfo) -> Question | None:
        capabilities = context.session.client_capabilities
        if info.status is not Status.WAITING or not capabilities or capabilities.elicitation is None:
            return None
        return await question_of(self._conductor(), info)

    async def _ask(self, context: Context, info: RunInfo) -> None:
        question = await self._question(context, info)
        if question is None:
            return
        params = ElicitRequestFormParams.model_validate(
            {**_elicitation_request(question)['params'], '_meta': {RELATED: {'taskId': info.id}}}
        )
        asking = asyncio.ensure_future(
            context.session.send_request(ElicitRequest(params=params), ElicitResult)
        )
        moved = asyncio.ensure_future(
            _wait_for_step(self._conductor(), info, context.session.report_progress)
        )
        try:  # The first answer counts, here or on a page.
            await asyncio.wait({asking, moved}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and not asking.exception():
                await question.answer(self._conductor(), asking.result())
        finally:
            asking.cancel()
            moved.cancel()
            await asyncio.wait({asking, moved})


async def _wait_for_step(conductor: Conductor, info: RunInfo, report: ReportProgress) -> None:
    """Wait until a run has taken a step."""
    async with aclosing(conductor.watch(info.id, after=info.seq)) as items:
        async for item in items:
            if isinstance(item, Transition):
                await report(item.seq, None, describe_step(item))
                return


def _has_extension(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return (
        context.protocol_version in MODERN_PROTOCOL_VERSIONS
        and capabilities is not None
        and EXTENSION in (capabilities.extensions or {})
    )


def _task_status(info: RunInfo) -> str:
    if info.status is Status.WAITING:
        return 'input_required'
    return ENDED.get(info.status, 'working')


def _describe_task(info: RunInfo) -> dict[str, Any]:
    message = info.error or (f'waits for a person: {info.waiting}' if info.waiting else f'step {info.seq}')
    return {
        'taskId': info.id,
        'status': _task_status(info),
        'statusMessage': message,
        'createdAt': to_rfc3339(info.created),
        'lastUpdatedAt': to_rfc3339(info.updated),
    }


def _task(info: RunInfo) -> dict[str, Any]:
    return {**_describe_task(info), 'ttl': None, 'pollInterval': POLL_MS}


def _modern_task(info: RunInfo) -> dict[str, Any]:
    task = {**_describe_task(info), 'ttlMs': None, 'pollIntervalMs': POLL_MS}
    # In the extension, `failed` is for protocol errors: a failed run completes with an error result.
    return task | ({'status': 'completed'} if task['status'] == 'failed' else {})


def _elicitation_request(question: Question) -> dict[str, Any]:
    params = {'mode': 'form', 'message': question.message, 'requestedSchema': question.schema}
    return {'method': 'elicitation/create', 'params': params}
