"""Tasks of the MCP server: runs as long calls, in the core protocol and in the extension."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitResult, Request, RequestParams, Result
from pydantic import ConfigDict

from engine import Conductor, LocalConductor, Status
from engine.records import RunId
from tests.api.conftest import asking
from tests.support.harness import FakeModel, Lone, catalog
from ui.api.mcp.server import build_mcp
from ui.api.mcp.tasks import EXTENSION, RELATED

TASK = {'task': 'Compare tea and coffee'}


class Anything(Result):
    model_config = ConfigDict(extra='allow')


class Params(RequestParams):
    model_config = ConfigDict(extra='allow')


async def ask(client: Any, method: str, **params: Any) -> dict[str, Any]:
    """Return the server's raw answer."""
    session = getattr(client, 'session', client)
    answer = await session.send_request(Request(method=method, params=Params(**params)), Anything)
    return answer.model_dump(by_alias=True, exclude_none=True)


async def begin(client: Client, name: str, **arguments: Any) -> str:
    """Call a tool as a task, which the package's own client cannot do; returns the task's id."""
    params = {'name': name, 'arguments': arguments, 'task': {'ttl': 1000}}
    answer = await client.session._dispatcher.send_raw_request('tools/call', params, {})
    assert answer['task']['status'] == 'working'
    return str(answer['task']['taskId'])


class TestCoreProtocol:
    @pytest.fixture
    async def client(self, conductor: Conductor) -> AsyncIterator[Client]:
        async with Client(build_mcp(lambda: conductor), mode='legacy') as client:
            yield client

    async def test_the_server_announces_tasks(self, client: Client):
        capabilities = client.session.server_capabilities
        assert capabilities is not None and capabilities.tasks is not None
        assert capabilities.tasks.requests is not None and capabilities.tasks.list is not None
        tools = {tool.name: tool.execution for tool in (await client.list_tools()).tools}
        assert tools['pipeline'] is not None and tools['pipeline'].task_support == 'optional'
        assert tools['get_run'] is None

    async def test_a_call_becomes_a_task_that_is_the_run(self, client: Client, conductor: Conductor):
        run = RunId(await begin(client, 'pipeline', **TASK))
        assert (await conductor.info(run)).pattern == 'pipeline'
        done = await ask(client, 'tasks/result', taskId=run)
        assert done['structuredContent']['answer'] == 'draft 2 '
        assert done['_meta'][RELATED] == {'taskId': run}
        task = await ask(client, 'tasks/get', taskId=run)
        assert (task['status'], task['pollInterval']) == ('completed', 1000)
        assert [item['taskId'] for item in (await ask(client, 'tasks/list'))['tasks']] == [run]

    async def test_invalid_calls_are_errors_and_start_nothing(self, client: Client, conductor: Conductor):
        for name, code in (('pipeline', -32602), ('nothing', -32601), ('list_runs', -32601)):
            with pytest.raises(MCPError) as caught:
                await begin(client, name)
            assert caught.value.code == code, name
        for method in ('tasks/get', 'tasks/result', 'tasks/cancel'):
            with pytest.raises(MCPError) as caught:
                await ask(client, method, taskId='nothing')
            assert caught.value.code == -32602, method
        with pytest.raises(MCPError):
            await ask(client, 'tasks/list', cursor='nonsense')
        assert (await conductor.runs()).total == 0

    async def test_a_task_is_cancelled_once(self):
        model = FakeModel(lambda request: asyncio.Event())
        conductor = LocalConductor(catalog=catalog(model, Lone))
        async with conductor, Client(build_mcp(lambda: conductor), mode='legacy') as client:
            run = await begin(client, 'lone')
            waiting = asyncio.ensure_future(ask(client, 'tasks/result', taskId=run))
            assert (await ask(client, 'tasks/cancel', taskId=run))['status'] == 'cancelled'
            assert (await waiting)['structuredContent']['status'] == 'cancelled'
            with pytest.raises(MCPError):
                await ask(client, 'tasks/cancel', taskId=run)

    async def test_a_waiting_run_asks_the_client(self):
        heard: list[ElicitRequestFormParams] = []

        async def answer(context: Any, params: Any) -> ElicitResult:
            heard.append(params)
            return ElicitResult(action='accept', content={'answer': 'deny', 'reason': 'too dear'})

        conductor = asking()
        server = build_mcp(lambda: conductor)
        async with conductor, Client(server, mode='legacy', elicitation_callback=answer) as client:
            run = (await conductor.start('asks', approvals='all')).id
            done = await ask(client, 'tasks/result', taskId=run)
            assert done['structuredContent']['status'] == 'done'
            assert 'calculator {"expression": "1+1"}' in heard[0].message
            denied = [step for step in await conductor.transitions(run) if step.event.name == 'deny']
            assert [step.event.data['reason'] for step in denied] == ['too dear']

    async def test_an_answer_given_elsewhere_ends_the_wait(self):
        async def answer(context: Any, params: Any) -> ElicitResult:
            await asyncio.Event().wait()
            raise AssertionError

        conductor = asking()
        server = build_mcp(lambda: conductor)
        async with conductor, Client(server, mode='legacy', elicitation_callback=answer) as client:
            run = (await conductor.start('asks', approvals='all')).id
            waiting = asyncio.ensure_future(ask(client, 'tasks/result', taskId=run))
            async for _ in conductor.watch(run):
                if (await conductor.info(run)).status is Status.WAITING:
                    break
            await conductor.send(run, 'approve')
            assert (await waiting)['structuredContent']['status'] == 'done'


class TaskHandle(Result):
    model_config = ConfigDict(extra='allow')

    result_type: Literal['task'] = 'task'
    task_id: str


class Polling(ClientExtension):
    """A client of the extension: polls a task, and answers what it asks."""

    identifier = EXTENSION

    def __init__(self, answer: str = '') -> None:
        self.answer, self.seen = answer, list[str]()

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type='task', model=TaskHandle, resolve=self.resolve)]

    async def resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        while True:
            task = await ask(context.session, 'tasks/get', taskId=handle.task_id)
            self.seen.append(task['status'])
            if task['status'] == 'completed':
                return CallToolResult.model_validate(task['result'])
            for key in task.get('inputRequests', {}):
                answer = {'action': 'accept', 'content': {'answer': self.answer}}
                await ask(
                    context.session, 'tasks/update', taskId=handle.task_id, inputResponses={key: answer}
                )
            await asyncio.sleep(0.01)


async def silent(context: Any, params: Any) -> ElicitResult:
    raise AssertionError('nothing is asked outside of the task')


class TestExtension:
    async def test_a_call_becomes_a_task_for_a_client_that_has_it(self, conductor: Conductor):
        async with Client(build_mcp(lambda: conductor), extensions=[Polling()]) as client:
            answer = await client.call_tool('pipeline', TASK)
            assert answer.structured_content['answer'] == 'draft 2 '
            result = await client.call_tool('pipeline', {'task': 'x'})
            assert result.is_error
            assert (await client.call_tool('list_runs', {})).structured_content['total'] == 1
            with pytest.raises(MCPError):
                await ask(client, 'tasks/get', taskId='nothing')

    async def test_clients_without_tasks_get_a_plain_result(self, conductor: Conductor):
        async with Client(build_mcp(lambda: conductor)) as client:
            result = await client.call_tool('pipeline', TASK)
            assert result.structured_content['status'] == 'done'

    async def test_a_question_is_answered_once_through_an_update(self):
        conductor, polling = asking(), Polling('approve')
        server = build_mcp(lambda: conductor)
        async with conductor, Client(server, extensions=[polling], elicitation_callback=silent) as client:
            run = (await conductor.start('asks', approvals='all')).id
            handle = TaskHandle(task_id=run)
            context = ClaimContext(session=client.session, tool_name='asks', read_timeout_seconds=None)
            result = await polling.resolve(handle, context)
            assert result.structured_content['status'] == 'done'
            assert 'input_required' in polling.seen
            late = {'step-3': {'action': 'accept', 'content': {'answer': 'deny'}}}
            assert 'error' not in await ask(client, 'tasks/update', taskId=run, inputResponses=late)
            assert (await ask(client, 'tasks/cancel', taskId=run)).get('status') is None
            steps = [step.event.name for step in await conductor.transitions(run)]
            assert (steps.count('approve'), steps.count('deny')) == (1, 0)
