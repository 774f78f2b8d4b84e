"""Tools of a real MCP server, over stdio and over HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from engine import LocalConductor, PatternError, Status, ToolContext
from engine.errors import ToolError
from engine.tools.mcp import remote_tool
from engine.tools.mcp.config import McpServer
from engine.tools.mcp.remote_tool import RemoteTool
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool
from engine.workspace.workspaces import Workspaces
from tests.bench.servers.processes import free_port
from tests.models.server import listening
from tests.support.harness import FakeModel, calls, catalog, in_turn, turns
from tests.support.mcp.pattern import PROGRAM, SMALL, Remote, connect, remote

SECRET = 'tok-very-secret-1234'
CONTEXT = ToolContext(key='run:call-1')


def over_stdio(how: str = '', **more: Any) -> McpServer:
    arguments = (PROGRAM, 'stdio', *([how] if how else []))
    settings: dict[str, Any] = {'start': 60.0, 'env': {'SMALL_TOKEN': SECRET}, 'secrets': (SECRET,), **more}
    return McpServer(name='small', command=sys.executable, args=arguments, **settings)


@contextlib.contextmanager
def over_http() -> Iterator[McpServer]:
    port = free_port()
    with subprocess.Popen([sys.executable, PROGRAM, 'http', str(port)], stderr=subprocess.DEVNULL) as program:
        try:
            yield McpServer(name='small', url=f'http://127.0.0.1:{port}/mcp', start=60.0)
        finally:
            program.kill()


async def answering(servers: McpServers) -> None:
    """Wait until a new server listens."""
    for _ in range(600):
        if not (await servers.test('small')).problem:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(await servers.test('small'))


async def call_tool(tools: dict[str, Tool], name: str, arguments: str = '') -> str:
    try:
        return await tools[name].run(arguments, CONTEXT)
    except ToolError as error:
        return f'error: {error}'


@pytest.mark.parametrize('kind', ['stdio', 'http'])
async def test_tools_of_a_server_are_ordinary_tools(kind: str, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        server = over_stdio() if kind == 'stdio' else stack.enter_context(over_http())
        async with connect(server) as (servers, tools):
            assert servers.last_health()[0].connected is False and tools == {}
            await answering(servers)
            servers_tools = await servers.find(['mcp:small'])
            assert list(servers_tools) == list(tools)
            add = servers_tools['small_add']
            assert (add.category, add.side_effects, add.approval) == ('small', False, False)
            assert add.spec.description == 'Add two numbers.'
            assert add.spec.schema['properties']['a']['type'] == 'integer'
            assert add.arguments.model_json_schema()['required'] == ['a']
            assert (
                servers_tools['small_remember'].side_effects,
                servers_tools['small_remember'].approval,
            ) == (True, False)
            (wipe,) = (tool for name, tool in servers_tools.items() if name.startswith('small_wipe_all_now_'))
            assert isinstance(wipe, RemoteTool) and wipe.origin == 'wipe.all/now'
            assert (wipe.side_effects, wipe.approval) == (True, True)

            assert await call_tool(tools, 'small_add', '{"a": 3}') == '4'
            assert await call_tool(tools, 'small_remember', '{"text": "x"}') == 'add, x'
            assert await call_tool(tools, wipe.name) == 'wiped'
            assert 'valid integer' in await call_tool(tools, 'small_add', '{"a": "q"}')
            assert 'not valid JSON' in await call_tool(tools, 'small_add', '{"a": ')
            assert (await call_tool(tools, 'small_fail', '{"text": "x"}')).startswith(
                'error: Error executing'
            )

            context = ToolContext(key='k', workspace=Workspaces(tmp_path).of('run', 'agent'))  # type: ignore[arg-type]
            picture = await tools['small_picture'].run('', context)
            assert picture.startswith('[image/png, 8 bytes, kept as artifact ')
            long = await tools['small_long'].run('{"megabytes": 3}', context)
            assert len(long) < 21_000 and 'more characters; the whole is kept as artifact' in long

            assert set(await servers.find(['mcp:small/add', 'small_hang', 'other'])) == {
                'small_add',
                'small_hang',
            }
            hang = asyncio.ensure_future(tools['small_hang'].run('', CONTEXT))
            await asyncio.sleep(0.05)
            hang.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hang
            assert await call_tool(tools, 'small_add', '{"a": 1}') == '2', 'the connection lives on'

            await call_tool(tools, 'small_grow')
            async for _ in turns():
                if 'small_grown' in await servers.find(['mcp:small']):
                    break
            assert await call_tool(tools, 'small_grown') == 'grown'


async def test_a_crashed_server_is_restarted() -> None:
    async with connect(over_stdio('noisy')) as (servers, tools):
        await servers.find(['mcp:small'])
        first = await call_tool(tools, 'small_process')
        died = await call_tool(tools, 'small_die')
        assert died == (
            'error: MCP server small: the connection was lost; whether the call was carried out is not known'
        )
        second = await call_tool(tools, 'small_process')
        assert first.isdigit() and second.isdigit() and first != second
        named = await call_tool(tools, 'small_environment')
        assert 'SMALL_TOKEN' in named and 'PYTEST' not in named and 'HEMICYCLE' not in named
        await servers.close()
        assert await call_tool(tools, 'small_add', '{"a": 1}') == '2', (
            'a connection is opened again when needed'
        )


async def test_a_call_that_takes_too_long_is_ended() -> None:
    async with connect(over_stdio(seconds=0.2)) as (servers, tools):
        await servers.find(['mcp:small'])
        assert 'took longer than 0.2 seconds' in await call_tool(tools, 'small_hang')
        assert (await servers.test('small')).problem == ''


@pytest.mark.parametrize(
    ('how', 'start', 'message'),
    [
        ('garbage', 0.5, 'MCP server small: it did not list its tools within 0.5 seconds'),
        (
            'broken',
            60.0,
            'it cannot be reached: Connection closed; it wrote: cannot find module x [hidden]',
        ),
    ],
)
async def test_a_server_that_does_not_start_is_reported(how: str, start: float, message: str) -> None:
    async with connect(over_stdio(how, start=start)) as (servers, _):
        with pytest.raises(ToolError, match='MCP server small') as caught:
            await servers.find(['mcp:small'])
        assert message in str(caught.value) and SECRET not in str(caught.value)
        health = await servers.test('small')
        assert message in health.problem and (health.tools, health.connected) == ((), False)


@pytest.mark.parametrize(
    ('server', 'message'),
    [
        (McpServer(name='small', command='/no/such/program', start=60), 'there is no program'),
        (McpServer(name='small', url='http://127.0.0.1:9/mcp', start=60), 'cannot be reached: '),
    ],
)
async def test_missing_servers_and_tools_are_reported(server: McpServer, message: str) -> None:
    async with connect(server) as (servers, _):
        assert message in (await servers.test('small')).problem


@pytest.mark.parametrize(
    'schema',
    [
        {'required': 5, 'properties': {'a': {}}},
        {'properties': 5},
        {'properties': {'a': 5, 'class': {}, '1': {}}},
    ],
    ids=str,
)
def test_an_invalid_schema_does_not_disable_its_server(schema: dict[str, Any]) -> None:
    tool = remote_tool.make_remote_tool(
        over_stdio(), 'odd', types.Tool(name='odd', input_schema=schema), None
    )
    assert tool.spec.schema['type'] == 'object'


async def test_hundreds_of_tools_are_listed_but_not_given_to_an_agent_at_once() -> None:
    async with connect(over_stdio('many')) as (servers, tools):
        with pytest.raises(ToolError, match='312 tools are too many for an agent'):
            await servers.find(['mcp:small'])
        assert len(tools) == 312
        assert set(await servers.find(['small_tool_7'])) == {'small_tool_7'}
    async with connect(over_stdio('many', tools=('tool_1?', 'add'))) as (servers, tools):
        assert len(await servers.find(['mcp:small'])) == 11


async def test_a_run_uses_them(tmp_path: Path) -> None:
    file = tmp_path / 'endpoints.toml'
    file.write_text(
        f'{SMALL}env = {{SMALL_TOKEN = "env:TOKEN"}}\n[mcp.other]\nurl = "http://127.0.0.1:9/"\n'
        'headers = {Authorization = "env:MISSING"}\n'
    )
    model = FakeModel(in_turn(calls(('small_add', {'a': 2}), ('small_fail', {'text': 'x'})), 'the end'))
    own_catalog = remote(model, file, TOKEN=SECRET)
    async with LocalConductor(catalog=own_catalog) as conductor:
        run = (await conductor.start('remote')).id
        outcome = await conductor.result(run)
        assert (outcome.status, outcome.answer) == (Status.DONE, 'the end'), outcome.error
        steps = await conductor.transitions(run)
        (results,) = (step.event.data['results'] for step in steps if 'results' in step.event.data)
        assert [item['ok'] for item in results] == [True, False] and results[0]['text'] == '3'
        assert 'small_add' in {tool.name for tool in model.requests[0].tools}
        assert SECRET not in repr(steps)
        health = {item.server: item for item in own_catalog.mcp.last_health()}
        assert health['other'].problem == 'the environment variable MISSING is not set'
        assert health['small'].connected and 'small_add' in own_catalog.tools
    assert not own_catalog.mcp.last_health()[0].connected


async def test_an_unconfigured_server_is_a_pattern_error() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(), Remote)) as conductor:
        with pytest.raises(PatternError, match="there is no tool 'mcp:small'"):
            await conductor.start('remote')


@pytest.mark.parametrize(
    ('status', 'message'),
    [('401 Unauthorized', 'HTTP 401 Unauthorized: it needs a key'), ('500 Oh no', 'HTTP 500 Oh no')],
)
async def test_a_servers_refusal_is_reported(status: str, message: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'\r\n\r\n')
        writer.write(f'HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nno'.encode())
        await writer.drain()

    async with listening(answer) as port:
        servers = McpServers({'far': McpServer(name='far', url=f'http://127.0.0.1:{port}/mcp', start=60)}, {})
        problem = (await servers.test('far')).problem
        await servers.close()
    assert problem.startswith('MCP server far: ') and message in problem
    assert 'ExceptionGroup' not in problem
