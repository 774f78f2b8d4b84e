"""A hand-written MCP server of protocol 2025-11-25: it asks during calls, and has tasks.

`older.py [FILE]`: requests are appended to the file, one per line.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

SIZE = {'type': 'string', 'oneOf': [{'const': 's', 'title': 'Small'}, {'const': 'l', 'title': 'Large'}]}
FORM = {
    'type': 'object',
    'properties': {
        'name': {'type': 'string', 'title': 'Guest', 'minLength': 2},
        'nights': {'type': 'integer', 'minimum': 1, 'maximum': 30, 'default': 1},
        'size': SIZE,
    },
    'required': ['name'],
}
STAMPS = {'createdAt': '2025-11-25T10:00:00Z', 'lastUpdatedAt': '2025-11-25T10:00:00Z', 'ttl': 60_000}
TOOLS = [
    {'name': 'book', 'description': 'Book a room.', 'annotations': {'destructiveHint': False}},
    {'name': 'pay', 'description': 'Pay on a page.', 'annotations': {'destructiveHint': False}},
    {'name': 'peek', 'description': 'Look.', 'annotations': {'readOnlyHint': True}},
    {
        'name': 'export',
        'description': 'Export much.',
        'annotations': {'readOnlyHint': True},
        'execution': {'taskSupport': 'required'},
    },
]


class Older:
    """The server; `_waiting` holds the questions without an answer."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._polls = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        while line := await asyncio.to_thread(sys.stdin.readline):
            message = json.loads(line)
            if 'method' not in message:
                self._waiting.pop(message['id']).set_result(message)
                continue
            if 'id' in message:
                task = asyncio.create_task(self._answer(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: dict[str, Any]) -> None:
        try:
            self._send(
                id=message['id'], result=await self._result(message['method'], message.get('params', {}))
            )
        except LookupError as error:
            self._send(id=message['id'], error={'code': -32601, 'message': f'no {error}'})

    async def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911
        self._note(f'{method} {params.get("name", "")} {"task" if "task" in params else ""}'.strip())
        match method:
            case 'initialize':
                tasks = {'list': {}, 'cancel': {}, 'requests': {'tools': {'call': {}}}}
                return {
                    'protocolVersion': '2025-11-25',
                    'capabilities': {'tools': {}, 'tasks': tasks},
                    'serverInfo': {'name': 'older', 'version': '1'},
                }
            case 'tools/list':
                return {'tools': [{'inputSchema': {'type': 'object'}, **tool} for tool in TOOLS]}
            case 'tools/call':
                return await self._call(params)
            case 'tasks/get':
                self._polls += 1
                return self._state(params['taskId'])
            case 'tasks/result':
                if params['taskId'] == 'asks':
                    answer = await self._ask({'message': 'Which format?', 'requestedSchema': FORM})
                    return _text(f'exported for {answer["content"]["name"]}')
                return _text('exported')
            case 'tasks/cancel':
                return {**STAMPS, 'taskId': params['taskId'], 'status': 'cancelled'}
        raise LookupError(method)

    async def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        arguments = params.get('arguments') or {}
        match params['name']:
            case 'book':
                answer = await self._ask(
                    {'message': arguments.get('ask', 'Who stays?'), 'requestedSchema': FORM}
                )
                return _text(json.dumps(answer, sort_keys=True))
            case 'pay':
                ask = {
                    'mode': 'url',
                    'url': 'https://pay.example/1',
                    'elicitationId': '1',
                    'message': 'Pay here',
                }
                return _text((await self._ask(ask))['action'])
            case 'export' if 'task' in params:
                self._polls = 0
                task = {
                    **STAMPS,
                    'taskId': arguments.get('how', 'done'),
                    'status': 'working',
                    'pollInterval': 10,
                }
                return {'task': task}
            case 'peek':
                return _text('nothing')
        raise LookupError('call without a task')

    def _state(self, task: str) -> dict[str, Any]:
        ends = {'done': 'completed', 'asks': 'input_required', 'broken': 'failed'}
        status = ends.get(task, 'working') if self._polls > 2 else 'working'
        return {**STAMPS, 'taskId': task, 'status': status, 'pollInterval': 10, 'statusMessage': 'no disk'}

    async def _ask(self, params: dict[str, Any]) -> dict[str, Any]:
        key = f'ask-{len(self._waiting)}'
        self._waiting[key] = asyncio.get_running_loop().create_future()
        self._note(f'asks {params["message"]}')
        self._send(id=key, method='elicitation/create', params=params)
        answer = await self._waiting[key]
        return dict(answer.get('result') or {'error': answer.get('error')})

    def _note(self, line: str) -> None:
        if self._file:
            with open(self._file, 'a', encoding='utf-8') as file:
                file.write(f'{line}\n')

    def _send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({'jsonrpc': '2.0', **message}) + '\n')
        sys.stdout.flush()


def _text(text: str) -> dict[str, Any]:
    return {'content': [{'type': 'text', 'text': text}]}


if __name__ == '__main__':
    asyncio.run(Older((sys.argv[1:] or [''])[0]).run())
