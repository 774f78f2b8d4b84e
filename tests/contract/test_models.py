"""The contract of every model in the catalog: a stream of known events, one end, calls in JSON."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from engine import Catalog
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    Hints,
    ModelEvent,
    ModelRequest,
    TextPiece,
    ToolSpec,
)
from engine.records.message import Message

MODELS = Catalog.load().models
every_model = pytest.mark.parametrize('name', MODELS)
ASKED = ModelRequest(
    model='',
    messages=(Message.of('user', 'Should a village build a footbridge?'),),
    hints=Hints(
        pattern='pipeline', role='analyzer', state='analyzing', task='Should a village build a footbridge?'
    ),
)
SCHEMA = {
    'type': 'object',
    'properties': {
        'approved': {'type': 'boolean'},
        'score': {'type': 'integer', 'minimum': 0, 'maximum': 100},
    },
    'required': ['approved', 'score'],
    'additionalProperties': False,
}
LOOK_UP = ToolSpec(
    name='look_up',
    description='Looks a word up.',
    schema={'type': 'object', 'properties': {'word': {'type': 'string'}}, 'required': ['word']},
)


async def events(name: str, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in MODELS[name].stream(replace(request, model=name))]


def text(events: list[ModelEvent]) -> str:
    return ''.join(event.text for event in events if isinstance(event, TextPiece))


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make scripted models stream without delay."""
    for model in MODELS.values():
        if hasattr(model, 'pace'):
            monkeypatch.setattr(model, 'pace', 0)


@every_model
async def test_a_stream_has_content_and_one_end(name: str) -> None:
    model_events = await events(name, ASKED)
    assert [isinstance(event, Completed) for event in model_events] == [False] * (len(model_events) - 1) + [
        True
    ]
    assert text(model_events).strip()
    assert isinstance(model_events[-1], Completed) and model_events[-1].reason == 'stop'
    assert model_events[-1].usage.input > 0 and model_events[-1].usage.output > 0


@every_model
async def test_an_answer_matches_the_requested_schema(name: str) -> None:
    answer = json.loads(text(await events(name, replace(ASKED, schema=SCHEMA))))
    assert set(answer) == {'approved', 'score'}
    assert isinstance(answer['approved'], bool) and 0 <= answer['score'] <= 100


@every_model
async def test_calls_use_offered_tools_with_json_arguments(name: str) -> None:
    model_events = await events(name, replace(ASKED, tools=(LOOK_UP,), choice='required'))
    started = [event for event in model_events if isinstance(event, CallStarted)]
    assert {event.name for event in started} <= {'look_up'}
    for call in started:
        pieces = [
            event for event in model_events if isinstance(event, ArgumentPiece) and event.index == call.index
        ]
        assert isinstance(json.loads(''.join(piece.text for piece in pieces) or '{}'), dict)


@every_model
async def test_closing_the_stream_stops_the_call(name: str) -> None:
    async with asyncio.timeout(5):
        stream = MODELS[name].stream(replace(ASKED, model=name))
        async for _ in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]


@every_model
async def test_a_scripted_model_is_deterministic(name: str) -> None:
    if MODELS[name].simulated:
        assert await events(name, ASKED) == await events(name, ASKED)
