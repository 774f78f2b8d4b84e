"""The scripted model: deterministic, streamed, paced, and interrupted where a scenario says so."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine import Catalog, LocalConductor, SimulatedClock
from engine.agents.message_accumulator import MessageAccumulator
from engine.errors import ModelError
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    Hints,
    ModelEvent,
    ModelRequest,
    Started,
    TextPiece,
    ToolSpec,
    UsageReport,
)
from engine.models.scripted.model import PACE, SETTING, Scripted
from engine.records.message import Message
from tests.support.harness import until

SCENARIO = """
name: sample
title: A sample
about: For the tests.
pattern: pipeline
task: Weigh the apples
match: [APPLES]
roles:
  researcher:
    - - reasoning: First I think about it for a while.
        text: Then I speak.
        calls:
          - {tool: notes, arguments: {action: write, title: Plan, text: 'one "two" three – ünïcode'}}
          - {tool: calculator, arguments: {expression: 1 + 1}}
      - answer: {findings: [Apples are heavy.]}
    - - text: The second visit.
  analyzer:
    - - text: one two three four five six
        fail: {kind: overloaded, message: too many requests, attempts: 2, retry_after: 3, after: 4}
  team.left:
    - - text: I am the left one.
  member:
    - - text: I am any member.
expect: {status: done}
"""


@pytest.fixture
def model(tmp_path: Path) -> Scripted:
    (tmp_path / 'sample.yaml').write_text(SCENARIO, 'utf-8')
    return Scripted(pace=1_000_000, folder=tmp_path)


def make_request(
    role: str = 'researcher', *, task: str = 'Weigh the apples', **hints: int | str
) -> ModelRequest:
    base_hints = Hints(pattern='pipeline', role=role, state=role, task=task)
    return ModelRequest(
        model='scripted',
        messages=(Message.of('user', task),),
        hints=replace(base_hints, **hints),  # type: ignore[arg-type]
    )


async def events(model: Scripted, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def reply(model: Scripted, request: ModelRequest) -> Message:
    gathered = MessageAccumulator()
    async for event in model.stream(request):
        gathered.add(event)
    return gathered.message('call-1')


async def test_another_seed_splits_the_same_reply_elsewhere(model: Scripted) -> None:
    assert await events(model, make_request()) != await events(model, make_request(seed=1))
    assert await reply(model, make_request()) == await reply(model, make_request(seed=1))


async def test_chunks_form_the_full_reply(model: Scripted) -> None:
    message = await reply(model, make_request())
    assert [part.kind for part in message.parts] == ['reasoning', 'text', 'call', 'call']
    assert message.text == 'Then I speak.'
    first, second = (json.loads(call.arguments) for call in message.calls)
    assert first == {'action': 'write', 'title': 'Plan', 'text': 'one "two" three – ünïcode'}
    assert second == {'expression': '1 + 1'}


async def test_without_a_pace_there_are_fewer_pieces(model: Scripted) -> None:
    for task in ('Weigh the apples', 'Something that no scenario knows'):
        model.pace = 1_000_000
        pieces, message = (
            await events(model, make_request(task=task)),
            await reply(model, make_request(task=task)),
        )
        model.pace = 0
        assert await reply(model, make_request(task=task)) == message
        assert len(await events(model, make_request(task=task))) < len(pieces)


async def test_calls_come_in_fragments(model: Scripted) -> None:
    streamed = await events(model, make_request())
    assert sum(isinstance(event, CallStarted) for event in streamed) == 2
    assert sum(isinstance(event, ArgumentPiece) and event.index == 0 for event in streamed) > 3
    end = streamed[-1]
    assert isinstance(end, Completed) and end.reason == 'tools'


async def test_a_structured_answer_is_json_text(model: Scripted) -> None:
    assert json.loads((await reply(model, make_request(turn=1))).text) == {'findings': ['Apples are heavy.']}


async def test_usage_is_about_a_token_for_four_characters(model: Scripted) -> None:
    streamed = await events(model, make_request(visit=2))
    end = streamed[-1]
    assert isinstance(end, Completed) and end.reason == 'stop'
    assert (end.usage.input, end.usage.output, end.usage.calls) == (4, 5, 1)
    tool = ToolSpec(name='notes', description='Keep notes', schema={'type': 'object'})
    with_tool = (await events(model, replace(make_request(visit=2), tools=(tool,))))[-1]
    assert isinstance(with_tool, Completed) and with_tool.usage.input > end.usage.input


@pytest.mark.parametrize(('visit', 'turn'), [(2, 0), (2, 7), (3, 0), (9, 2)])
async def test_the_last_visit_and_turn_are_repeated(model: Scripted, visit: int, turn: int) -> None:
    assert (await reply(model, make_request(visit=visit, turn=turn))).text == 'The second visit.'


async def test_a_states_lines_override_those_of_its_role(model: Scripted) -> None:
    assert (await reply(model, make_request('member', state='team.left'))).text == 'I am the left one.'
    assert (await reply(model, make_request('member', state='team.right'))).text == 'I am any member.'


async def test_attempts_fail_after_some_text_and_then_succeed(model: Scripted) -> None:
    for attempt in (1, 2):
        streamed = []
        with pytest.raises(ModelError, match='too many requests') as caught:
            async for event in model.stream(make_request('analyzer', attempt=attempt)):
                streamed.append(event)
        assert (
            ''.join(piece.text for piece in streamed if isinstance(piece, TextPiece)) == 'one two three four'
        )
        assert caught.value.kind == 'overloaded'
        assert caught.value.retryable
        assert caught.value.retry_after == 3
    assert (await reply(model, make_request('analyzer', attempt=3))).text == 'one two three four five six'


@pytest.mark.parametrize('change', [{'task': 'Weigh the pears'}, {'pattern': 'debate'}, {'role': 'guest'}])
async def test_unknown_requests_are_improvised(model: Scripted, change: dict[str, str]) -> None:
    request = make_request()
    message = await reply(model, replace(request, hints=replace(request.hints, **change, state='')))  # type: ignore[arg-type]
    assert message.text
    assert message.text != 'Then I speak.'


async def test_without_a_pace_other_tasks_get_a_turn_but_nothing_waits(
    model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = record_waits(monkeypatch)
    await events(
        Scripted(pace=0), make_request(task='Should a small team adopt event sourcing for its order system?')
    )
    assert len(waits) > 3
    assert not any(waits)


async def test_the_pace_is_kept_in_pieces_per_second(
    model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = sum(not isinstance(event, Started | UsageReport) for event in await events(model, make_request()))
    waits = record_waits(monkeypatch)
    for pace in (10.0, 1000.0):
        waits.clear()
        model.pace = pace
        assert await events(model, make_request())
        assert sum(waits) == pytest.approx(count / pace, abs=0.02)
    assert 0 < len([wait for wait in waits if wait]) < count / 4, 'short waits are combined'


async def test_cancelling_the_reader_stops_it(model: Scripted) -> None:
    model.pace = 0.001
    reader = asyncio.create_task(reply(model, make_request()))
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


@pytest.mark.parametrize(('value', 'pace'), [('', PACE), ('0', 0.0), ('120', 120.0), ('2.5', 2.5)])
def test_the_environment_sets_the_pace(monkeypatch: pytest.MonkeyPatch, value: str, pace: float) -> None:
    monkeypatch.setenv(SETTING, value)
    assert Scripted().pace == pace
    assert Scripted(pace=7).pace == 7


@pytest.mark.parametrize('value', ['fast', '-1', 'nan', 'inf', '1e9'])
def test_an_invalid_pace_is_a_fault(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(SETTING, value)
    model = Scripted()
    assert model.pace == PACE
    assert [fault.path for fault in model.faults] == [SETTING]
    assert value in model.faults[0].problem


def record_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record requested waits instead of sleeping."""
    waits: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr('engine.models.scripted.model.asyncio.sleep', note)
    return waits


async def test_a_turn_can_take_simulated_time(tmp_path: Path) -> None:
    text = (
        'name: slow\ntitle: Slow\nabout: It thinks.\npattern: pipeline\ntask: Weigh\nmatch: [weigh]\n'
        'roles:\n  researcher:\n    - - {seconds: 30, text: Done.}\nexpect: {status: done}\n'
    )
    (tmp_path / 'slow.yaml').write_text(text, 'utf-8')
    clock = SimulatedClock()
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0, folder=tmp_path)
    async with LocalConductor(catalog=catalog, clock=clock) as conductor:
        run = (await conductor.start('pipeline', {'task': 'Weigh it'})).id
        await clock.advance(29)
        seq = (await conductor.info(run)).seq
        assert (await conductor.view(run)).active == ('researching.thinking',)
        await clock.advance(2)
        await until(lambda: conductor._live.runs[run].projection.seq > seq)
