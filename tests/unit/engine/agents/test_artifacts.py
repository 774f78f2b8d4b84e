"""Artifacts: stored, read by other tools, merged in order, bounded; and tools that ask models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from engine import Conductor, LocalConductor, Status, ToolContext
from engine.agents.chart import agent
from engine.errors import ModelError, ToolError
from engine.models.protocol import ModelRequest
from engine.tools import ToolOutput
from engine.tools.artifacts import MAX_JOURNALED
from engine.tools.protocol import tool
from tests.support.harness import ENDS, FakeModel, HastyClock, Lone, calls, catalog, in_turn


class Thing(BaseModel):
    number: int


@tool(produces=('parts', 'text'))
async def part(context: ToolContext, name: str, size: int = 1) -> ToolOutput:
    """Make a part."""
    return ToolOutput(text=f'made {name}', adds={'parts': {name: 'x' * size}})


@tool(produces=('text',))
async def long(context: ToolContext, size: int) -> ToolOutput:
    """Make a long text."""
    return ToolOutput(text='made', artifacts={'text': 'y' * size})


@tool(consumes=('parts', 'text'))
async def look(context: ToolContext) -> str:
    """List the artifacts."""
    parts = context.artifacts.get('parts', {})
    return f'{",".join(parts)} {len(context.artifacts.get("text", ""))}'


@tool()
async def drop(context: ToolContext) -> ToolOutput:
    """Invalidate the text."""
    return ToolOutput(text='dropped', drops=('text', 'nothing'))


@tool()
async def smuggle(context: ToolContext) -> ToolOutput:
    """Make an undeclared artifact."""
    return ToolOutput(text='x', artifacts={'text': 'x'})


@tool(needs=('model',))
async def think_up(context: ToolContext, about: str, structured: bool = False) -> str:
    """Ask the model."""
    answer = await context.ask(f'Think of {about}', output=Thing if structured else None)
    return f'number {answer.number}' if structured else str(answer)


TOOLS = (part, long, look, drop, smuggle, think_up)


class Maker(Lone):
    """One agent with tools that make artifacts."""

    states = [agent('working', 'maker', prompt='ask', tools=tuple(item.name for item in TOOLS)), *ENDS]


async def run(reply: Any) -> tuple[Any, list[str], FakeModel, Conductor]:
    model = FakeModel(reply)
    async with LocalConductor(catalog=catalog(model, Maker, tools=TOOLS), clock=HastyClock()) as conductor:
        run_id = (await conductor.start('maker')).id
        outcome = await conductor.result(run_id)
        assert outcome.status is Status.DONE, outcome.error
        view = await conductor.view(run_id)
        assert await conductor.audit(run_id)
        state = view.agents['working']
        texts = [
            item['text'] for message in state['messages'] for item in message['parts']
            if item['kind'] == 'result'
        ]  # fmt: skip
        return view, texts, model, conductor


async def test_parts_made_in_parallel_are_joined_in_call_order() -> None:
    view, texts, _, _ = await run(
        in_turn(
            calls(('part', {'name': 'a'}), ('part', {'name': 'b'})),
            calls(('part', {'name': 'a', 'size': 3}), ('look', {})),
            calls(('look', {})),
            'end',
        )
    )
    artifact = view.agents['working']['artifacts']['parts']
    assert artifact['value'] == {'a': 'xxx', 'b': 'x'} and artifact['by'] == 'part'
    assert texts[-1] == 'a,b 0'


async def test_a_long_artifact_is_cut_in_the_journal_and_whole_for_tools() -> None:
    size = MAX_JOURNALED + 5_000
    view, texts, _, _ = await run(in_turn(calls(('long', {'size': size})), calls(('look', {})), 'end'))
    artifact = view.agents['working']['artifacts']['text']
    assert (
        artifact['size'] == size and len(artifact['value']) == MAX_JOURNALED and len(artifact['kept']) == 64
    )
    assert texts[-1] == f' {size}'


async def test_outdated_artifacts_are_dropped() -> None:
    view, texts, _, _ = await run(
        in_turn(calls(('long', {'size': 5})), calls(('drop', {})), calls(('look', {})), 'end')
    )
    assert 'text' not in view.agents['working']['artifacts'] and texts[-1] == ' 0'


async def test_a_tool_may_make_only_declared_artifacts() -> None:
    _, texts, _, _ = await run(in_turn(calls(('smuggle', {})), 'end'))
    assert "smuggle failed unexpectedly: TypeError: it does not declare that it produces 'text'" in texts[0]


async def test_a_tools_model_calls_use_the_agents_model_and_are_counted() -> None:
    def reply(request: ModelRequest) -> Any:
        if request.hints.role == 'maker.think_up':
            assert not request.tools
            return {'number': 7} if request.schema else f'thought {request.hints.turn}'
        tool_calls = [('think_up', {'about': 'one'}), ('think_up', {'about': 'two', 'structured': True})]
        return calls(*tool_calls) if request.hints.turn == 0 else 'end'

    view, texts, model, _ = await run(reply)
    assert texts == ['thought 0', 'number 7']
    requests = [request for request in model.requests if request.hints.role == 'maker.think_up']
    assert [request.hints.turn for request in requests] == [0, 1]
    assert view.usage.calls == 4 and view.agents['working']['input_tokens'] == 40
    assert view.spending['working'].total.calls == 4


async def test_an_invalid_answer_is_repaired_once() -> None:
    answers = in_turn('no', {'number': 3}, 'no', 'no')

    def reply(request: ModelRequest) -> Any:
        if request.hints.role != 'maker':
            return answers(request)
        return calls(('think_up', {'about': 'x', 'structured': True})) if request.hints.turn < 2 else 'end'

    _, texts, model, _ = await run(reply)
    assert texts[0] == 'number 3'
    assert texts[1].startswith('the model gave think_up no valid answer: it is not JSON')
    requests = [request for request in model.requests if len(request.messages) == 4]
    assert 'Your answer does not fit: it is not JSON' in requests[0].messages[-1].text


async def test_a_failing_model_is_retried_and_then_reported_to_the_agent() -> None:
    passing = ModelError('busy', kind='overloaded', retryable=True)
    answers = in_turn(passing, 'thought', ModelError('no', kind='auth'))

    def reply(request: ModelRequest) -> Any:
        if request.hints.role != 'maker':
            return answers(request)
        return calls(('think_up', {'about': 'x'})) if request.hints.turn < 2 else 'end'

    view, texts, _, _ = await run(reply)
    assert texts == ['thought', 'the model failed: no']
    assert view.usage.calls == 6, 'attempts that failed are counted too'


async def test_a_tool_without_a_model_or_folder_reports_it() -> None:
    with pytest.raises(ToolError, match='there is no model to ask here'):
        await think_up.run(json.dumps({'about': 'x'}), ToolContext(key='x'))
