"""Trying tools by hand, outside any run; and listing a pattern's agents."""

from __future__ import annotations

import asyncio
import os

import pytest
from pydantic import BaseModel

from engine import Conductor, LocalConductor, Pattern, Role, ToolContext
from engine.agents import ToolPlayground, agents_of
from engine.agents.chart import agent
from engine.agents.tool_trial import SCRATCH_RUN, WAS_FULL
from engine.tools.builtin.writing.generate_outline import generate_outline
from engine.tools.protocol import tool
from engine.workspace.directories import folder_limits
from tests.support.harness import FakeModel, Lone, catalog, until


@pytest.fixture
async def conductor():
    async with LocalConductor() as conductor:
        yield conductor


@pytest.fixture
async def playground(conductor: Conductor):
    playground = ToolPlayground(conductor.services)
    yield playground
    await playground.reset()


async def test_calls_share_one_folder_until_it_is_emptied(playground: ToolPlayground) -> None:
    trial = await playground.call('write_file', {'path': 'a/b.txt', 'text': 'one\ntwo\n'})
    assert trial.ok and trial.seconds >= 0 and '2 lines' in trial.text
    assert (await playground.call('read_file', {'path': 'a/b.txt'})).text == 'one\ntwo\n'
    assert [entry.path for entry in await playground.files()] == ['a', 'a/b.txt']
    await playground.reset()
    assert await playground.files() == []
    assert not (await playground.call('read_file', {'path': 'a/b.txt'})).ok


async def test_a_folder_that_a_tool_filled_is_emptied_before_the_next_call(
    playground: ToolPlayground,
) -> None:
    await playground.call('write_file', {'path': 'big', 'text': 'x'})
    os.truncate(playground._workspaces.of(SCRATCH_RUN, 'you').folder / 'big', 2 * folder_limits()[1])
    trial = await playground.call('write_file', {'path': 'small', 'text': 'x'})
    assert trial.ok and trial.text.startswith(WAS_FULL)
    assert [entry.path for entry in await playground.files()] == ['small']


async def test_notes_persist_between_calls(playground: ToolPlayground) -> None:
    await playground.call('notes', {'action': 'write', 'title': 'a', 'text': 'b'})
    assert (await playground.call('notes', {'action': 'read', 'title': 'a'})).text == 'b'
    await playground.reset()
    assert not (await playground.call('notes', {'action': 'read', 'title': 'a'})).ok


async def test_errors_are_results(playground: ToolPlayground) -> None:
    refused = await playground.call('calculator', {'expression': 'import os'})
    assert not refused.ok and 'not an arithmetic expression' in refused.text
    assert 'there is no tool' in (await playground.call('nothing', {})).text
    assert 'are invalid' in (await playground.call('calculator', {'expression': 3})).text


async def test_no_run_is_touched(conductor: Conductor, playground: ToolPlayground) -> None:
    await playground.call('write_file', {'path': 'mine.txt', 'text': 'x'})
    assert not list(conductor.workspaces.root.rglob('mine.txt'))


async def test_a_cancelled_call_ends() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool()
    async def endless(context: ToolContext) -> str:
        """Run until cancelled."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ''

    async with LocalConductor(catalog=catalog(FakeModel(), tools=(endless,))) as conductor:
        call = asyncio.create_task(ToolPlayground(conductor.services).call('endless', {}))
        await begun.wait()
        call.cancel()
        await until(call.done)
        assert call.cancelled() and ended.is_set()


class Answer(BaseModel):
    verdict: str


class Pair(Pattern):
    """Two agents of different kinds."""

    initial = 'asking'
    states = [
        agent(
            'asking', Role(name='asker', title='Asker', instructions='Ask.', tools=('notes',)), prompt='ask'
        ),
        {'name': 'outer', 'initial': 'judging', 'children': [agent('judging', output=Answer, prompt='ask')]},
    ]
    transitions = [['done', 'asking', 'outer']]

    def ask(self, memory) -> str:
        return 'go'


def test_the_agents_of_a_pattern_are_listed_with_their_tools() -> None:
    asker, judge = agents_of(Pair)
    assert (asker.path, asker.role, asker.instructions, asker.tools) == (
        'asking',
        'asker',
        'Ask.',
        ('notes',),
    )
    assert asker.answer == {}
    assert (judge.path, judge.role, judge.tools) == ('outer.judging', 'judging', ())
    assert list(judge.answer['properties']) == ['verdict']
    assert [item.role for item in agents_of(Lone)] == ['working']


async def test_a_tool_uses_the_named_model() -> None:
    section = {'title': 'One', 'points': ['p'], 'words': 100}
    model = FakeModel({'title': 'Bees', 'sections': [section]})
    async with LocalConductor(catalog=catalog(model, Lone, tools=(generate_outline,))) as conductor:
        playground = ToolPlayground(conductor.services)
        trial = await playground.call('generate_outline', {'topic': 'bees'}, model='scripted')
        without = await playground.call('generate_outline', {'topic': 'bees'})
        await playground.reset()
    assert trial.ok and '"title": "Bees"' in trial.text and trial.usage.total == 15
    assert not without.ok and 'no model to ask' in without.text


async def test_unusable_model_answers_are_reported() -> None:
    model = FakeModel('no outline')
    async with LocalConductor(catalog=catalog(model, Lone, tools=(generate_outline,))) as conductor:
        playground = ToolPlayground(conductor.services)
        trial = await playground.call('generate_outline', {'topic': 'bees'}, model='scripted')
        await playground.reset()
    assert not trial.ok and 'no valid answer' in trial.text and trial.usage.total == 30
