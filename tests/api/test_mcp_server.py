"""The MCP server: patterns as tools with their schemas, polling long runs, control, resources."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from starlette.applications import Starlette
from starlette.routing import Route

from engine import Conductor, LocalConductor
from engine.agents.chart import agent
from engine.charts.library import ChartLibrary
from engine.tools.builtin.project.read_file import read_file
from tests.api.conftest import asking, serve_mcp
from tests.support.charts.files import chart_text
from tests.support.harness import FakeModel, Lone, catalog, turns
from tests.tree import ROOT
from ui.api.mcp.over_http import McpOverHttp
from ui.api.mcp.server import build_mcp


@pytest.fixture
async def client(conductor: Conductor) -> AsyncIterator[Client]:
    async with Client(build_mcp(lambda: conductor)) as client:
        yield client


async def test_each_pattern_is_a_tool_with_its_schema(client: Client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {'pipeline', 'lone', 'get_run', 'approve_run', 'cancel_run', 'fork_run'} <= set(tools)
    assert tools['pipeline'].input_schema['properties']['task']['type'] == 'string'
    assert tools['pipeline'].input_schema['required'] == ['task']


async def test_a_pattern_runs_with_progress_and_answers(client: Client, conductor: Conductor):
    heard: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    answer = await client.call_tool(
        'pipeline', {'task': 'Compare tea and coffee'}, progress_callback=progress
    )
    content = answer.structured_content
    assert (content['status'], content['answer']) == ('done', 'draft 2 ')
    assert content['notes'] == ['Simulated: the scripted model wrote this, and no provider was called.']
    assert heard == sorted(heard)
    result = await client.call_tool('get_run', {'run': content['run']})
    assert result.structured_content == content
    listed = await client.call_tool('list_runs', {})
    assert listed.structured_content['total'] == 1


async def test_bad_input_is_reported(client: Client):
    for name, arguments in (('pipeline', {'task': 'x'}), ('get_run', {}), ('nothing', {})):
        result = await client.call_tool(name, arguments)
        assert result.is_error, name
        assert result.content[0].text


async def test_a_chat_agent_compares_variants(client: Client, conductor: Conductor):
    given = {
        'name': 'Revisions',
        'dataset': 'tea',
        'cases': [{'id': 'tea', 'parameters': {'task': 'Compare tea and coffee'}}],
        'pattern': 'pipeline',
        'variants': [{'name': 'as it is'}, {'name': 'none', 'change': {'parameters': {'max_iterations': 0}}}],
        'scorers': [{'name': 'clean', 'kind': 'status', 'settings': {'caveat': False}}],
    }
    planned = (await client.call_tool('start_experiment', {**given, 'dry_run': True})).structured_content
    assert planned['runs'] == 2
    started = (await client.call_tool('start_experiment', given)).structured_content
    async for _ in turns():
        found = (await client.call_tool('get_experiment', {'experiment': started['id']})).structured_content
        if found['state'] == 'done':
            break
    assert [item['scores'][0]['mean'] for item in found['answer']['variants']] == [1, 0]
    limits = {'budget': {'tokens': 1}, 'at_once': 1, 'private': True}
    started = (await client.call_tool('start_experiment', {**given, **limits})).structured_content
    paused = await client.call_tool('pause_experiment', {'experiment': started['id']})
    assert paused.structured_content['state'] == 'paused'
    await client.call_tool('resume_experiment', {'experiment': started['id']})
    async for _ in turns():
        found = (await client.call_tool('get_experiment', {'experiment': started['id']})).structured_content
        if found['state'] == 'done':
            break
    assert (found['reason'], found['runs']['scored']) == ('its budget of tokens is used up', 1)
    assert (await conductor.experiments.get(started['id'])).private
    wrong = await client.call_tool('start_experiment', {**given, 'variants': [{'nam': 'a'}]})
    assert wrong.is_error and 'variants.0' in wrong.content[0].text


async def test_a_chat_agent_writes_a_chart(tmp_path: Path):
    own_catalog = catalog(FakeModel())
    ChartLibrary(own_catalog, tmp_path)
    async with (
        LocalConductor(catalog=own_catalog) as conductor,
        Client(build_mcp(lambda: conductor)) as client,
    ):
        wrong = await client.call_tool('check_chart', {'text': chart_text('first', start='nowhere')})
        assert wrong.structured_content['problems'][0]['line'] == 7
        saved = await client.call_tool('save_chart', {'name': 'ask', 'text': chart_text('first')})
        assert saved.structured_content['number'] == 1
        again = await client.call_tool('save_chart', {'name': 'ask', 'text': chart_text('second')})
        assert again.is_error and 'changed by somebody else' in again.content[0].text
        listed = (await client.call_tool('list_charts', {})).structured_content['items']
        assert [chart['name'] for chart in listed] == ['ask']
        assert 'ask' in [tool.name for tool in (await client.list_tools()).tools]


async def test_runs_and_transcripts_are_resources(client: Client):
    content = (await client.call_tool('pipeline', {'task': 'Compare tea and coffee'})).structured_content
    uri = f'hemicycle://runs/{content["run"]}'
    assert uri in [str(resource.uri) for resource in (await client.list_resources()).resources]
    read = await client.read_resource(uri)
    assert json.loads(read.contents[0].text)['answer'] == 'draft 2 '
    assert 'draft 1' in (await client.read_resource(f'{uri}/transcript')).contents[0].text
    assert len((await client.list_resource_templates()).resource_templates) == 3


async def test_a_run_that_waits_is_answered_and_forked():
    async with asking() as conductor:
        run = (await conductor.start('asks', approvals='all')).id
        async with Client(build_mcp(lambda: conductor)) as client:
            content = (await client.call_tool('get_run', {'run': run})).structured_content
            assert content['status'] == 'waiting'
            assert {event['event'] for event in content['accepts']} == {'approve', 'deny'}
            await client.call_tool('approve_run', {'run': run})
            done = (await client.call_tool('get_run', {'run': run})).structured_content
            assert done['status'] == 'done'
            fork = (await client.call_tool('fork_run', {'run': run, 'at': 0})).structured_content
            assert (await conductor.info(fork['run'])).parent == run


async def test_a_run_is_started_with_files():
    class Reader(Lone):
        """One agent that reads files."""

        states = (agent('working', prompt='ask', tools=('read_file',)), *Lone.states[1:])

    patterns = catalog(FakeModel('over'), Reader, tools=(read_file,))
    async with LocalConductor(catalog=patterns) as conductor, Client(build_mcp(lambda: conductor)) as client:
        content = (await client.call_tool('reader', {'given_files': {'a.txt': 'text'}})).structured_content
        assert dict((await conductor.info(content['run'])).given_files['sizes']) == {'a.txt': 4}
        [tool] = [tool for tool in (await client.list_tools()).tools if tool.name == 'reader']
        assert {'wait_seconds', 'given_files'} <= set(tool.input_schema['properties'])


async def test_a_long_run_can_be_polled():
    go_on = asyncio.Event()
    conductor = LocalConductor(catalog=catalog(FakeModel(lambda request: go_on), Lone))
    async with conductor, Client(build_mcp(lambda: conductor)) as client:
        content = (await client.call_tool('lone', {'wait_seconds': 0.01})).structured_content
        assert content['status'] == 'running'
        go_on.set()
        content = (await client.call_tool('get_run', {'run': content['run']})).structured_content
        assert content['status'] == 'done'


async def test_it_is_served_over_http(conductor: Conductor):
    app = McpOverHttp(lambda: conductor)
    served = Starlette(routes=[Route('/mcp', app)])
    async with serve_mcp(app, served) as url, Client(url) as client:
        result = await client.call_tool('lone', {})
        assert result.structured_content['status'] == 'done'


@pytest.mark.slow
async def test_a_real_client_runs_a_pattern_over_stdio(tmp_path: Path):
    command = StdioServerParameters(
        command=sys.executable,
        args=['-m', 'ui', 'mcp-server', 'serve'],
        cwd=ROOT,
        env={'HEMICYCLE_HOME': str(tmp_path), 'HEMICYCLE_PACE': '0'},
    )
    async with Client(command) as client:
        result = await client.call_tool('pipeline', {'task': 'Compare tea and coffee'})
        assert result.structured_content['status'] == 'done'
