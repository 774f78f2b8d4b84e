"""An invalid answer to one call of an MCP server fails only that call: calls of other runs continue."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ToolError
from engine.tools.mcp import session, tasks
from engine.tools.mcp.config import MAX_MESSAGE_BYTES, McpServer
from engine.tools.mcp.line_limit import TOO_DEEP
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool, ToolContext
from tests.models.server import listening
from tests.support.harness import until
from tests.support.mcp import odd
from tests.support.mcp.pattern import connect
from ui.formatting.values import describe_tools

ODD = str(Path(odd.__file__))
VAST = bytes(MAX_MESSAGE_BYTES + 1)
SURROGATE = '{"text": "\\ud800"}'
STDIO = [
    ('malformed', '', 'its answer cannot be parsed: content: Input should be a valid list'),
    ('task', '', 'its answer cannot be parsed: '),
    ('unfit', '', 'its answer cannot be parsed: RuntimeError: Invalid structured content'),
    ('bad_schema', '', 'its answer cannot be parsed: RuntimeError: Invalid schema'),
    ('half', '', 'half \ufffd, whole \U0001f600'),
    ('listed', '', 'its answer cannot be parsed: result: Input should be an object'),
    ('refused', '', 'MCP server odd: the printer is out of paper'),
    ('bytes', '', 'bytes '),
    ('garbage', '', 'garbage '),
    ('plain', SURROGATE, 'plain '),
    ('plain', '{"number": NaN}', 'plain '),
    ('plain', '{"deep": ' + '[' * 300 + ']' * 300 + '}', 'the arguments cannot be sent: '),
]


@contextlib.asynccontextmanager
async def connect_and_find(server: McpServer) -> AsyncIterator[tuple[McpServers, dict[str, Tool]]]:
    async with connect(server) as (servers, tools):
        await servers.find(['mcp:odd'])
        yield servers, tools


async def call_tool(tools: dict[str, Tool], name: str, arguments: str = '', run: str = 'other') -> str:
    try:
        return await tools[f'odd_{name}'].run(arguments, ToolContext(key=f'{run}:{name}'))
    except ToolError as error:
        return f'error: {error}'


@pytest.mark.parametrize(('name', 'arguments', 'message'), STDIO)
async def test_an_invalid_answer_fails_only_its_call(name: str, arguments: str, message: str) -> None:
    async with connect_and_find(
        McpServer(name='odd', command=sys.executable, args=(ODD,), start=60, seconds=20)
    ) as (_, tools):
        process = (await call_tool(tools, 'plain')).removeprefix('plain ')
        waits = asyncio.create_task(call_tool(tools, 'wait', run='first'))
        assert message in await call_tool(tools, name, arguments)
        assert await call_tool(tools, 'free') == f'free {process}'
        assert await waits == f'wait {process}', 'the other call continues, with the same program'


LOST = 'whether the call was carried out is not known'
TOO_LONG = f'MCP server odd: it wrote a line of more than {MAX_MESSAGE_BYTES:,} characters; {LOST}'


async def test_an_endless_line_fails_only_the_calls_of_its_connection() -> None:
    async with connect_and_find(McpServer(name='odd', command=sys.executable, args=(ODD,), start=60)) as (
        _,
        tools,
    ):
        process = await call_tool(tools, 'plain')
        assert await call_tool(tools, 'endless') == f'error: {TOO_LONG}'
        assert (result := await call_tool(tools, 'plain')).startswith('plain ') and result != process


async def test_a_server_that_begins_with_an_endless_line_is_reported() -> None:
    server = McpServer(name='odd', command=sys.executable, args=(ODD, 'initialize'), start=60)
    async with connect(server) as (servers, _):
        problem = (await servers.test('odd')).problem
        assert f'it wrote a line of more than {MAX_MESSAGE_BYTES:,} characters' in problem
        assert problem.startswith('MCP server odd: ')


async def test_only_the_flawed_tools_of_a_server_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    server = McpServer(name='odd', command=sys.executable, args=(ODD, 'flawed'), start=60)
    async with connect(server) as (servers, _):
        health = await servers.test('odd')
        assert (health.tools, health.problem) == (('odd_typeless', 'odd_fine'), '')
        assert health.unusable == (
            'none: inputSchema: Input should be a valid dictionary',
            "array: inputSchema.type: Input should be 'object'",
            'dangling: its schema refers to #/$defs/B, which it does not define',
            'all: its schema has allOf at the top, which providers of models refuse',
            'good: annotations: Input should be a valid dictionary',
            '(a tool without a name): Input should be a valid dictionary',
        )
        assert "MCP server odd: 'dangling' cannot be used: its schema refers to" in caplog.text
        assert describe_tools(health.tools, health.unusable).startswith(
            '2 tools; not usable: none: inputSchema: '
        )
        for name in ('mcp:odd/dangling', 'odd_dangling'):
            with pytest.raises(ToolError, match=f'{name} cannot be used: its schema refers to'):
                await servers.find([name])


async def test_a_schema_nested_too_deeply_is_reported() -> None:
    server = McpServer(name='odd', command=sys.executable, args=(ODD, 'deep'), start=60)
    async with asyncio.timeout(30), connect(server) as (servers, _):
        assert TOO_DEEP in (await servers.test('odd')).problem


@pytest.mark.parametrize('kind', ['application/json', 'text/event-stream'])
async def test_a_schema_nested_too_deeply_is_reported_over_http(kind: str) -> None:
    async with far() as (server, settings), connect(settings) as (servers, _):
        server.deep = kind
        problem = (await servers.test('odd')).problem
        assert (
            problem.startswith('MCP server odd: Failed to parse ') and 'recursion limit exceeded' in problem
        )
        assert len(problem) < 1_000


HALF = b'HTTP/1.1 %b\r\ncontent-length: 900\r\n\r\nhalf'
"""An answer whose rest never comes."""


class Far:
    """The same server over HTTP; `breaks` selects how the next call of `plain` or `garbage` fails."""

    def __init__(self) -> None:
        self.breaks = ''
        self.polls: list[str] = []
        """Replies to the polls of a task, in order: a status, or a way to fail; the last one is repeated."""
        self.holds: dict[str, str] = {}
        """HTTP statuses by tool: their calls are held until `free` is set, then refused."""
        self.lists = True
        self.streams = False
        """Whether results are events of a stream."""
        self.deep = ''
        """The content type of a list of tools with a schema nested too deeply; if empty, it is valid."""
        self.sessions = 0
        self.called: list[str] = []
        self.free = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while not writer.is_closing():
                head = (await reader.readuntil(b'\r\n\r\n')).decode().lower()
                length = re.search(r'content-length: (\d+)', head)
                body = await reader.readexactly(int(length[1])) if length else b''
                if head.startswith('delete'):
                    writer.write(HALF % b'200 OK')
                elif head.startswith('get'):
                    self._send(writer, '405 Method Not Allowed', b'')
                else:
                    await self._answer(json.loads(body), head, writer)

    async def _answer(  # noqa: C901  (a list of methods)
        self, message: dict[str, Any], head: str, writer: asyncio.StreamWriter
    ) -> None:
        name = message.get('params', {}).get('name', '')
        self.called += [name] if name else []
        if 'id' not in message:
            self._send(writer, '202 Accepted', b'')
            return
        match message['method']:
            case 'initialize':
                self.sessions += 1
                self._result(writer, message, {'result': odd.greeting()}, f'mcp-session-id: {self.sessions}')
            case 'tools/list' if self.deep:
                listed = odd.deep(message['id'])
                body = listed if 'json' in self.deep else b'data: %b\n\n' % listed
                self._send(writer, '200 OK', body, f'content-type: {self.deep}')
            case 'tools/list':
                if self.lists:
                    self._result(writer, message, {'result': {'tools': odd.tools()}})
            case 'tools/call' if f'mcp-session-id: {self.sessions}' not in head:
                self._send(writer, '404 Not Found', b'')
            case 'tools/call' if name in self.holds:
                await self.free.wait()
                self._send(writer, self.holds[name], b'')
            case 'tools/call' if name == 'wait':
                await self.free.wait()
                self._result(writer, message, odd.answer_call(name))
            case 'tools/call' if name in ('plain', 'garbage') and self.breaks:
                breaks, self.breaks = self.breaks, ''
                self._break(breaks, writer)
            case 'tools/call':
                self._result(writer, message, odd.answer_call(name))
            case method:
                if method.startswith('tasks/'):
                    self._task(method, writer, message)
                    return
                self._result(writer, message, {'error': {'code': -32601, 'message': f'no {method}'}})

    def _task(self, method: str, writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
        if method != 'tasks/get':
            self._result(writer, message, odd.answer_call('ended'))
            return
        self.called.append('poll')
        how = self.polls.pop(0) if self.polls[1:] else self.polls[0]
        if how in ('working', 'completed', 'cancelled'):
            self._result(writer, message, {'result': odd.state(how)})
        elif how == 'unknown':
            error = {'code': -32602, 'message': 'there is no such task'}
            self._result(writer, message, {'error': error})
        else:
            self._break(how, writer)

    def _break(self, how: str, writer: asyncio.StreamWriter) -> None:  # noqa: C901  (a table)
        match how:
            case 'hangs up':
                writer.transport.abort()
            case 'a redirect':
                writer.write(HALF % b'307 Temporary Redirect\r\nlocation: /mcp')
            case 'half of its JSON':
                head = (
                    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"json'
                )
                writer.write(head.encode())
                writer.close()
            case 'a stream without an answer':
                self._send(writer, '200 OK', b': nothing\n\n', 'content-type: text/event-stream')
            case 'no JSON':
                self._send(writer, '200 OK', b'<html>', 'content-type: application/json')
            case 'another type':
                self._send(writer, '200 OK', b'<html>', 'content-type: text/html')
            case 'an error':
                self._send(writer, '500 Oh no', b'oh')
            case 'a coded body':
                coded = 'content-encoding: gzip'
                self._send(writer, '200 OK', b'no gzip', f'content-type: application/json\r\n{coded}')
            case 'compressed twice' | 'a stream compressed twice':
                kind = 'text/event-stream' if 'stream' in how else 'application/json'
                coded = f'content-type: {kind}\r\ncontent-encoding: gzip, gzip'
                self._send(writer, '200 OK', gzip.compress(gzip.compress(VAST)), coded)
            case 'a vast answer':
                coded = 'content-type: application/json\r\ncontent-encoding: gzip'
                self._send(writer, '200 OK', gzip.compress(VAST), coded)
            case 'a vast event':
                coded = 'content-type: text/event-stream\r\ncontent-encoding: gzip'
                self._send(writer, '200 OK', gzip.compress(b'data: ' + VAST), coded)
            case 'another session':
                self.sessions += 1
                self._send(writer, '404 Not Found', b'')

    def _result(
        self, writer: asyncio.StreamWriter, message: dict[str, Any], answer: dict[str, Any], more: str = ''
    ) -> None:
        body = json.dumps({'jsonrpc': '2.0', 'id': message['id'], **answer}).encode()
        kind = f'content-type: {"text/event-stream" if self.streams else "application/json"}'
        body = b'data: %b\n\n' % body if self.streams else body
        self._send(writer, '200 OK', body, f'{kind}\r\n{more}' if more else kind)

    def _send(self, writer: asyncio.StreamWriter, status: str, body: bytes, more: str = 'x: y') -> None:
        head = f'HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{more}\r\n\r\n'
        writer.write(head.encode() + body)


@contextlib.asynccontextmanager
async def far() -> AsyncIterator[tuple[Far, McpServer]]:
    server = Far()
    async with listening(server) as port:
        yield server, McpServer(name='odd', url=f'http://127.0.0.1:{port}/mcp', start=60, seconds=20)


TWICE = 'its answer is compressed with gzip, gzip, which was not requested'
BREAKS = {
    'hangs up': 'whether the call was carried out is not known',
    'half of its JSON': 'whether the call was carried out is not known',
    'a stream without an answer': 'SSE stream ended without a response; whether the call was carried out is',
    'no JSON': 'Failed to parse JSON response: Invalid JSON: expected value at line 1 column 1',
    'another type': 'Unexpected content type: text/html',
    'an error': 'HTTP 500 Oh no',
    'a coded body': 'whether the call was carried out is not known',
    'compressed twice': f'{TWICE}; whether the call was carried out is not known',
    'a stream compressed twice': f'{TWICE}; whether the call was carried out is not known',
    'a vast answer': f'its answer is longer than {MAX_MESSAGE_BYTES:,} bytes; whether the call',
    'a vast event': 'SSE stream',
}


@pytest.mark.parametrize('breaks', BREAKS)
async def test_a_truncated_http_answer_fails_only_its_call(breaks: str) -> None:
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        waits = asyncio.create_task(call_tool(tools, 'wait', run='first'))
        await until(lambda: 'wait' in server.called)
        server.breaks = breaks
        result = await call_tool(tools, 'plain')
        assert BREAKS[breaks] in result and 'MCP server odd: ' in result
        assert (await call_tool(tools, 'plain')).startswith('plain '), 'the connection lives on'
        assert (server.called.count('plain'), server.sessions) == (2, 1)
        server.free.set()
        assert (await waits).startswith('wait '), 'the other call continues'


@pytest.mark.parametrize('streams', [False, True])
async def test_half_of_a_character_is_replaced_over_http(streams: bool) -> None:
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.streams = streams
        assert await call_tool(tools, 'half') == 'half \ufffd, whole \U0001f600'


async def test_each_of_two_refused_calls_gets_its_own_reason() -> None:
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.holds = {'plain': '500 Oh no', 'garbage': '403 Forbidden'}
        calls = [asyncio.create_task(call_tool(tools, name)) for name in server.holds]
        await until(lambda: set(server.holds) <= set(server.called))
        server.free.set()
        first, second = await asyncio.gather(*calls)
        assert first == 'error: MCP server odd: it answered with HTTP 500 Oh no'
        assert 'HTTP 403 Forbidden: the key in `headers` does not allow this' in second


async def test_a_read_only_call_is_retried_over_http() -> None:
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.breaks = 'hangs up'
        assert (await call_tool(tools, 'garbage')).startswith('garbage ')
        assert server.called.count('garbage') == 2


async def test_the_body_of_a_redirect_is_not_awaited() -> None:
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.breaks = 'a redirect'
        assert (await call_tool(tools, 'plain')).startswith('plain ')
        assert (server.called.count('plain'), server.sessions) == (2, 1)


async def test_disconnecting_does_not_wait_for_a_response_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, 'CLOSE_SECONDS', 60)
    async with asyncio.timeout(30), far() as (_, settings), connect_and_find(settings) as (_, tools):
        assert (await call_tool(tools, 'plain')).startswith('plain ')


async def test_an_ended_session_is_reopened() -> None:
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.breaks = 'another session'
        assert (await call_tool(tools, 'plain')).startswith('plain ')
        assert (server.called.count('plain'), server.sessions) == (2, 3)


async def test_a_missing_list_of_tools_fails_no_call() -> None:
    async with far() as (server, settings), connect_and_find(settings) as (servers, tools):
        waits = asyncio.create_task(call_tool(tools, 'wait', run='first'))
        await until(lambda: 'wait' in server.called)
        server.lists = False
        servers._known['odd'].server = replace(settings, start=0.2)  # Slow machines need longer to connect.
        assert 'it did not list its tools within 0.2 seconds' in (await servers.test('odd')).problem
        server.free.set()
        assert (await waits).startswith('wait ')


@pytest.mark.parametrize(
    ('polls', 'message'),
    [
        (['working', 'unknown'], f'its task is lost: there is no such task; {LOST}'),
        (['working', 'another session'], f'its task is lost: Session terminated; {LOST}'),
        (['working', 'an error'], f'its task is lost: it answered with HTTP 500 Oh no; {LOST}'),
        (['working', 'hangs up'], f'; {LOST}'),
        (['working', 'cancelled'], 'its task is cancelled: no reason given'),
        (['working', 'no JSON'], 'its task is lost: Failed to parse JSON response'),
    ],
)  # fmt: skip
async def test_a_lost_task_is_reported_and_its_call_not_repeated(
    polls: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, 'POLL_SECONDS', 0.01)
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.polls = polls
        result = await call_tool(tools, 'long')
        assert result.startswith('error: ') and message in result
        assert server.called.count('long') == 1
        server.polls = ['completed']
        assert (await call_tool(tools, 'long')).startswith('ended ')


async def test_an_interrupted_poll_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, 'POLL_SECONDS', 0.01)
    async with far() as (server, settings), connect_and_find(settings) as (_, tools):
        server.polls = ['working', 'hangs up', 'half of its JSON', 'working', 'hangs up', 'completed']
        assert (await call_tool(tools, 'long')).startswith('ended ')
        assert (server.called.count('long'), server.called.count('poll')) == (1, 6)
