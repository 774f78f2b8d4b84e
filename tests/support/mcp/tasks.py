"""A tool whose calls become tasks, for the small MCP server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.server.extension import Extension, MethodBinding, ToolBinding
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import RequestParams

WORKING = {
    'resultType': 'task',
    'status': 'working',
    'createdAt': '2026-11-22T10:00:00Z',
    'lastUpdatedAt': '2026-11-22T10:00:00Z',
    'ttlMs': None,
    'pollIntervalMs': 10,
}


class Params(RequestParams):
    task_id: str


class Update(Params):
    input_responses: dict[str, Any]


ASKS = {
    'format': {
        'method': 'elicitation/create',
        'params': {
            'mode': 'form',
            'message': 'Which format?',
            'requestedSchema': {'type': 'object', 'properties': {'format': {'type': 'string'}}},
        },
    }
}


class LongWork(Extension):
    """`export` works for three polls and then ends as `how` says; `polls` lists the requests."""

    identifier = 'io.modelcontextprotocol/tasks'

    def __init__(self) -> None:
        self._asked: list[str] = []
        self._answered: dict[str, Any] = {}

    def tools(self) -> list[ToolBinding]:
        def export(how: str) -> str:
            """Export much."""
            raise ToolError('it becomes a task')

        def polls() -> str:
            """The requests."""
            return ' '.join(self._asked)

        return [ToolBinding(fn=export, kwargs={'structured_output': False}), ToolBinding(fn=polls)]

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding(method='tasks/get', params_type=Params, handler=self._get),
            MethodBinding(method='tasks/update', params_type=Update, handler=self._update),
            MethodBinding(method='tasks/cancel', params_type=Params, handler=self._cancel),
        ]

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name != 'export':
            return await call_next(ctx)
        self._asked.clear()
        return {**WORKING, 'taskId': params.arguments['how']}

    async def _get(self, ctx: Any, params: Params) -> dict[str, Any]:
        self._asked.append('get')
        if params.task_id == 'flood':
            return {**WORKING, 'resultType': 'complete', 'taskId': params.task_id, 'pollIntervalMs': -5}
        if params.task_id == 'asks for ever':
            requests = {f'{name} {len(self._asked)}': one for name, one in ASKS.items()}
            more = {'status': 'input_required', 'inputRequests': requests if len(self._asked) % 2 else {}}
            return {**WORKING, 'resultType': 'complete', 'taskId': params.task_id, **more}
        if params.task_id == 'foreign':
            content = [{'type': 'text', 'text': 'of somebody else'}]
            ended = {'status': 'completed', 'result': {'content': content}}
            return {**WORKING, 'resultType': 'complete', 'taskId': 'another', **ended}
        if params.task_id == 'forever' or len(self._asked) < 3:
            return {**WORKING, 'resultType': 'complete', 'taskId': params.task_id}
        ends: dict[str, dict[str, Any]] = {
            'done': {'status': 'completed', 'result': {'content': [{'type': 'text', 'text': 'exported'}]}},
            'wrong': {
                'status': 'completed',
                'result': {'content': [{'type': 'text', 'text': 'no disk'}], 'isError': True},
            },
            'broken': {'status': 'failed', 'error': {'code': -32603, 'message': 'out of memory'}},
            'asks': self._answered or {'status': 'input_required', 'inputRequests': ASKS},
            'wordy': {'status': 'failed', 'error': {'code': 1, 'message': 'x' * 1_000_000}},
            'gone': {'status': 'cancelled', 'statusMessage': 'by its owner'},
        }
        return {**WORKING, 'resultType': 'complete', 'taskId': params.task_id, **ends[params.task_id]}

    async def _update(self, ctx: Any, params: Update) -> dict[str, Any]:
        answer = next(iter(params.input_responses.values()), {'action': 'cancel'})
        self._asked.append(f'{answer["action"].removesuffix("e")}ed')
        text = json.dumps(answer.get('content'))
        self._answered = {'status': 'completed', 'result': {'content': [{'type': 'text', 'text': text}]}}
        return {}

    async def _cancel(self, ctx: Any, params: Params) -> dict[str, Any]:
        self._asked.append('cancel')
        if params.task_id == 'asks for ever':
            await asyncio.Event().wait()  # The answer is ignored.
        return {}
