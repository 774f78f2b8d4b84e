"""Calls that an MCP server turns into tasks: polled until they end, cancelled when abandoned."""

from __future__ import annotations

import asyncio

import pytest

from engine.tools.mcp import tasks
from engine.tools.protocol import AnswerNeeded, ToolContext
from tests.processes.mcp.test_tools import call_tool, over_stdio
from tests.support.mcp.pattern import connect


async def test_a_task_is_polled_to_its_end() -> None:
    # The call itself may take a second; the task may take longer.
    async with connect(over_stdio('tasks', seconds=1.0)) as (servers, tools):
        await servers.refresh('small')
        for how, result in (
            ('done', 'exported'),
            ('wrong', 'error: no disk'),
            ('broken', 'error: its task has failed: out of memory'),
            ('gone', 'error: its task is cancelled: by its owner'),
        ):
            assert await call_tool(tools, 'small_export', f'{{"how": "{how}"}}') == result
            assert await call_tool(tools, 'small_polls') == 'get get get'


async def test_a_task_that_asks_gets_the_answer() -> None:
    async with connect(over_stdio('tasks')) as (servers, tools):
        await servers.refresh('small')
        context = ToolContext(key='run:call-1', questions=[])
        with pytest.raises(AnswerNeeded) as needed:
            await tools['small_export'].invoke('{"how": "asks"}', context)
        assert needed.value.question.message == 'Which format?'
        context.questions = [needed.value.question.with_answer({'content': {'format': 'csv'}})]
        result = await tools['small_export'].invoke('{"how": "asks"}', context)
        assert result.text == '{"format": "csv"}'
        assert await call_tool(tools, 'small_polls') == 'get get get accepted get'


async def test_an_abandoned_task_is_cancelled() -> None:
    async with connect(over_stdio('tasks', task_seconds=0.5, seconds=0.4)) as (servers, tools):
        await servers.refresh('small')
        result = await call_tool(tools, 'small_export', '{"how": "forever"}')
        assert 'small_export was stopped: it took longer than 0.5 seconds' in result
        assert (await call_tool(tools, 'small_polls')).endswith('get cancel')


async def test_stopping_an_agent_cancels_its_task() -> None:
    async with connect(over_stdio('tasks')) as (servers, tools):
        await servers.refresh('small')
        call = asyncio.create_task(call_tool(tools, 'small_export', '{"how": "forever"}'))
        results: list[str] = []

        async def poll() -> bool:
            results.append(await call_tool(tools, 'small_polls'))
            return 'get' in results[-1]

        while not await poll():
            pass
        call.cancel()
        await asyncio.wait({call})
        assert (await call_tool(tools, 'small_polls')).endswith('cancel')


async def test_polling_has_a_minimum_interval() -> None:
    async with connect(over_stdio('tasks', task_seconds=0.6, seconds=0.4)) as (servers, tools):
        await servers.refresh('small')
        assert 'took longer than 0.6 seconds' in await call_tool(tools, 'small_export', '{"how": "flood"}')
        assert (await call_tool(tools, 'small_polls')).split().count('get') <= 12


async def test_a_task_that_keeps_asking_without_a_person_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, 'CANCEL_SECONDS', 0.1)
    async with connect(over_stdio('tasks', task_seconds=0.6, seconds=0.4)) as (servers, tools):
        await servers.refresh('small')
        async with asyncio.timeout(20):
            result = await call_tool(tools, 'small_export', '{"how": "asks for ever"}')
        assert 'took longer than 0.6 seconds' in result
        assert await call_tool(tools, 'small_export', '{"how": "done"}') == 'exported'


async def test_a_question_without_a_person_a_foreign_result_and_a_long_message() -> None:
    async with connect(over_stdio('tasks')) as (servers, tools):
        await servers.refresh('small')
        assert await call_tool(tools, 'small_export', '{"how": "asks"}') == 'null'
        assert await call_tool(tools, 'small_polls') == 'get get get canceled get'
        result = await call_tool(tools, 'small_export', '{"how": "foreign"}')
        assert result == "error: it answered for the task 'another', not 'foreign'"
        assert (await call_tool(tools, 'small_polls')).endswith('get cancel')
        assert len(await call_tool(tools, 'small_export', '{"how": "wordy"}')) < 5_000
