"""Prompt caching: where the repeated prefix of a request is marked, and what that saves."""

from typing import Any

import pytest

from engine.models.endpoint import Endpoint
from engine.models.http.client import DIALECTS
from engine.models.http.endpoint_settings import EndpointSettings
from engine.models.http.known_providers import KNOWN_PROVIDERS
from engine.models.http.prices import Price, Prices
from engine.models.protocol import ModelRequest, ToolSpec
from engine.models.registry import ModelRegistry
from engine.records import Usage
from engine.records.message import Message, ToolCall, ToolResult
from tests.models.reading import NOTES, endpoint
from ui.formatting.usage import cache_note

MARK = {'type': 'ephemeral'}


def turns(count: int, system: str = 'Be brief.') -> tuple[Message, ...]:
    """A conversation with this many tool calls."""
    messages = [*([Message.of('system', system)] if system else []), Message.of('user', 'Go')]
    for turn in range(count):
        call = ToolCall(id=f'{turn}', name='notes', arguments='{}')
        messages.append(Message(role='assistant', parts=(call,)))
        messages.append(Message(role='tool', parts=(ToolResult(id=f'{turn}', name='notes', text='ok'),)))
    return tuple(messages)


def body(
    messages: tuple[Message, ...], tools: tuple[ToolSpec, ...] = (NOTES,), **more: Any
) -> dict[str, Any]:
    request = ModelRequest(model='m', messages=messages, tools=tools)
    return DIALECTS['anthropic'].body('m', request, endpoint('anthropic', **{'cache': '5m', **more}))


def marks(value: Any, at: str = '') -> list[str]:
    """Return where a request is marked."""
    if isinstance(value, dict):
        own = [at] if 'cache_control' in value else []
        return own + [entry for name, item in value.items() for entry in marks(item, f'{at}/{name}')]
    if isinstance(value, list):
        return [entry for place, item in enumerate(value) for entry in marks(item, f'{at}/{place}')]
    return []


def test_instructions_and_the_last_two_turns_are_marked() -> None:
    assert marks(body(turns(0))) == ['/messages/0/content/0', '/system/0']
    assert sorted(marks(body(turns(3)))) == ['/messages/4/content/0', '/messages/6/content/0', '/system/0']
    assert body(turns(0))['system'] == [{'type': 'text', 'text': 'Be brief.', 'cache_control': MARK}]


def test_each_request_marks_where_the_one_before_it_ended() -> None:
    for count in range(4):
        before, after = (sorted(marks(body(turns(number)))) for number in (count, count + 1))
        ended = max(place for place in before if place.startswith('/messages'))
        assert ended in after


def test_without_instructions_the_tools_are_marked() -> None:
    assert '/tools/0' in marks(body(turns(0, system='')))


def test_unrepeated_parts_are_not_marked() -> None:
    assert marks(body(turns(0), tools=())) == [], 'one question: writing to the cache would only cost'
    assert marks(body(turns(2), cache='off')) == []
    assert body(turns(2), cache='off')['system'] == 'Be brief.'


def test_an_hour_of_caching_can_be_asked_for() -> None:
    assert body(turns(0), cache='1h')['system'][0]['cache_control'] == MARK | {'ttl': '1h'}


@pytest.mark.parametrize(('model', 'marked'), [('anthropic/claude-opus-5', True), ('openai/gpt-5.2', False)])
def test_a_proxy_is_asked_for_models_that_need_it(model: str, marked: bool) -> None:
    request = ModelRequest(model='m', messages=turns(0))
    payload = DIALECTS['openai'].body(model, request, KNOWN_PROVIDERS['openrouter'].endpoint)
    assert payload.get('cache_control') == (MARK | {'ttl': '5m'} if marked else None)
    assert 'cache_control' not in DIALECTS['openai'].body(model, request, endpoint())


def test_the_saving_is_the_price_without_a_cache_minus_the_actual_cost() -> None:
    own_endpoint = Endpoint(name='here', url='http://here.example/v1')
    prices = Prices(own={'here/m': Price(input=10, output=20, cached=1, written=12.5)})
    models = ModelRegistry({}, EndpointSettings(endpoints={'here': own_endpoint}, prices=prices))
    read = Usage(input=1_000_000, output=5, cached=800_000, written=100_000)
    assert models.cache_saving({'here/m': read}) == pytest.approx(0.8 * 9 - 0.1 * 2.5)
    assert models.cache_saving({'here/m': Usage(input=9, written=9)}) == pytest.approx(-9 * 2.5e-6)
    assert models.cache_saving({'here/m': Usage(input=9), 'gone/x': Usage(input=9)}) == 0
    assert models.cache_saving({'here/other': read}) is None


@pytest.mark.parametrize(
    ('usage', 'saving', 'note'),
    [
        (Usage(input=100), 0.0, ''),
        (
            Usage(input=4_000, cached=3_000),
            0.0271,
            'Prompt caching: 3,000 of 4,000 input tokens (75%) came from the cache, which saved about '
            '$0.0271.',
        ),
        (
            Usage(input=4_000, written=3_000),
            -0.2,
            'Prompt caching: 0 of 4,000 input tokens (0%) came from the cache; so far, writing to it has '
            'cost $0.20 more than it saved.',
        ),
        (
            Usage(input=4_000, cached=1),
            None,
            'Prompt caching: 1 of 4,000 input tokens (0%) came from the cache.',
        ),
    ],
)
def test_the_saving_is_shown(usage: Usage, saving: float | None, note: str) -> None:
    assert cache_note(usage, saving) == note
