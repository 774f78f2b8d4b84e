"""Reasoning effort: the parameters in each dialect, and models that refuse it."""

from pathlib import Path
from typing import Any

import pytest

from engine.configuration import load_configuration
from engine.errors import EngineError, ModelError
from engine.models.http.client import DIALECTS
from engine.models.http.dialects.anthropic import MAX_TOKENS
from engine.models.http.dialects.reasoning import ROOM
from engine.models.http.dialects.structured_output import ANSWER
from engine.models.http.endpoint_client import EndpointClient
from engine.models.http.known_providers import KNOWN_PROVIDERS
from engine.records.effort import is_effort, role_effort
from tests.models.reading import endpoint, make_request

SCHEMA = {'type': 'object', 'properties': {'x': {'type': 'string'}}}


def body(requested: str, model: str, /, dialect: str = 'openai', **more: Any) -> dict[str, Any]:
    to = endpoint(dialect, **more)
    return DIALECTS[dialect].body(model, make_request(effort=requested), to)


@pytest.mark.parametrize(
    ('model', 'effort', 'settings', 'sent'),
    [
        ('gpt-5.2', 'xhigh', {}, {'reasoning_effort': 'xhigh'}),
        ('gpt-oss:20b', 'low', {}, {'reasoning_effort': 'low'}),
        ('any', 'high', {'reasoning': 'object'}, {'reasoning': {'effort': 'high'}}),
        ('any', '4000', {'reasoning': 'object'}, {'reasoning': {'max_tokens': 4000}}),
        ('gemini-3-pro', 'high', {'reasoning': 'google'}, {'reasoning_effort': 'high'}),
        (
            'gemini-2.5-flash',
            '4000',
            {'reasoning': 'google'},
            {
                'extra_body': {
                    'google': {'thinking_config': {'thinking_budget': 4000, 'include_thoughts': True}}
                }
            },
        ),
        ('any', 'high', {'body': {'reasoning_effort': 'low'}}, {'reasoning_effort': 'low'}),
        ('any', '', {'effort': 'medium'}, {'reasoning_effort': 'medium'}),
        ('any', 'high', {'effort': 'medium'}, {'reasoning_effort': 'high'}),
        # An endpoint's default effort is for models that accept one.
        ('gpt-4o', '', {'effort': 'medium'}, {}),
        ('any', '', {}, {}),
    ],
)
def test_openai_is_asked_for_an_effort(
    model: str, effort: str, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    plain = DIALECTS['openai'].body(model, make_request(), endpoint())
    assert body(effort, model, **settings) == plain | sent


@pytest.mark.parametrize(
    ('model', 'effort', 'sent'),
    [
        (
            'claude-opus-4-8',
            'xhigh',
            {
                'thinking': {'type': 'adaptive', 'display': 'summarized'},
                'output_config': {'effort': 'xhigh'},
                'max_tokens': ROOM,
            },
        ),
        (
            'claude-sonnet-4-6',
            '4000',
            {'thinking': {'type': 'enabled', 'budget_tokens': 4000}, 'max_tokens': MAX_TOKENS + 4000},
        ),
        (
            'claude-opus-4-5-20251101',
            'low',
            {
                'thinking': {'type': 'enabled', 'budget_tokens': 2048},
                'output_config': {'effort': 'low'},
                'max_tokens': MAX_TOKENS + 2048,
            },
        ),
        (
            'claude-haiku-4-5',
            'high',
            {'thinking': {'type': 'enabled', 'budget_tokens': 16384}, 'max_tokens': MAX_TOKENS + 16384},
        ),
        ('claude-opus-5', 'none', {'thinking': {'type': 'disabled'}}),
        ('claude-3-5-haiku-latest', 'none', {}),
        ('claude-opus-5', '', {}),
    ],
)
def test_anthropic_is_asked_to_think(model: str, effort: str, sent: dict[str, Any]) -> None:
    plain = DIALECTS['anthropic'].body(model, make_request(), endpoint('anthropic'))
    assert body(effort, model, 'anthropic') == plain | sent


def test_thinking_goes_with_a_schema_and_without_a_temperature_or_a_forced_tool() -> None:
    request = make_request(effort='high', schema=SCHEMA, temperature=0.2)
    payload = DIALECTS['anthropic'].body(
        'claude-opus-4-6', request, endpoint('anthropic', structure='schema')
    )
    assert payload['output_config']['effort'] == 'high' and 'format' in payload['output_config']
    assert 'temperature' not in payload
    payload = DIALECTS['anthropic'].body('claude-haiku-4-5', request, endpoint('anthropic', structure='tool'))
    assert payload['tools'][-1]['name'] == ANSWER and payload['tool_choice'] == {'type': 'auto'}


@pytest.mark.parametrize(
    ('dialect', 'model', 'effort', 'message'),
    [
        ('openai', 'gpt-4o', 'low', 'it does not reason'),
        ('openai', 'gpt-5.1', 'minimal', "it accepts none, low, medium, high, not 'minimal'"),
        ('openai', 'gpt-5-mini', 'none', "it accepts minimal, low, medium, high, not 'none'"),
        ('openai', 'o3', 'xhigh', "it accepts low, medium, high, not 'xhigh'"),
        ('openai', 'gpt-5.2', '4000', 'it accepts a level, not a number of tokens'),
        ('anthropic', 'claude-3-5-haiku-latest', 'low', 'it does not think'),
        (
            'anthropic',
            'claude-opus-4-7',
            '4000',
            "it accepts none, low, medium, high, xhigh, max, not '4000'",
        ),
        ('anthropic', 'claude-opus-4-6', 'xhigh', 'it accepts none, low, medium, high, max or a number of'),
        ('anthropic', 'claude-fable-5', 'none', 'it always thinks'),
        ('gemini', 'gemini-2.0-flash', 'low', 'it does not think, and accepts no effort'),
        (
            'gemini',
            'gemini-2.5-pro',
            'none',
            'it accepts minimal, low, medium, high or a number of tokens, not',
        ),
        ('gemini', 'gemini-2.5-flash', '30000', 'it accepts at most 24,576 tokens, not 30,000'),
        ('gemini', 'gemini-3-pro-preview', 'medium', 'it accepts low, high or a number of tokens'),
        ('gemini', 'gemini-3.5-flash', 'max', 'it accepts minimal, low, medium, high, xhigh or a number'),
    ],
)
def test_a_model_without_reasoning_refuses(dialect: str, model: str, effort: str, message: str) -> None:
    with pytest.raises(ModelError, match=f'reasoning effort: {message}') as caught:
        body(effort, model, dialect)
    assert caught.value.kind == 'bad request' and not caught.value.retryable
    assert message in EndpointClient(endpoint(dialect)).model(model).effort_problem(effort)


def test_an_endpoint_can_be_configured_without_efforts() -> None:
    assert 'reasoning = "off"' in EndpointClient(endpoint(reasoning='off')).model('m').effort_problem('low')


@pytest.mark.parametrize(
    ('model', 'effort', 'config'),
    [
        ('gemini-2.5-flash', 'none', {'thinkingConfig': {'thinkingBudget': 0}}),
        (
            'gemini-2.5-pro',
            'high',
            {
                'thinkingConfig': {'thinkingBudget': 16_384, 'includeThoughts': True},
                'maxOutputTokens': 16_434,
            },
        ),
        (
            'gemini-3-flash-preview',
            '4000',
            {'thinkingConfig': {'thinkingBudget': 4_000, 'includeThoughts': True}, 'maxOutputTokens': 4_050},
        ),
        (
            'gemini-3.1-pro-preview',
            'low',
            {'thinkingConfig': {'thinkingLevel': 'low', 'includeThoughts': True}, 'maxOutputTokens': 2_098},
        ),
        ('gemini-2.0-flash', 'none', {}),
        ('gemini-3-pro-preview', '', {}),
    ],
)
def test_gemini_is_asked_to_think(model: str, effort: str, config: dict[str, Any]) -> None:
    payload = DIALECTS['gemini'].body(model, make_request(effort=effort, most_tokens=50), endpoint('gemini'))
    assert payload['generationConfig'] == {'maxOutputTokens': 50} | config


def test_gemini_takes_numbers_and_not_every_level() -> None:
    gemini = EndpointClient(KNOWN_PROVIDERS['gemini'].endpoint).model('gemini-2.5-pro')
    assert (gemini.effort_problem('8000'), gemini.effort_problem('high')) == ('', '')
    assert 'or a number of tokens' in gemini.effort_problem('max')


def test_an_effort_is_a_level_or_enough_tokens() -> None:
    assert all(map(is_effort, ('none', 'max', '1024', '200000')))
    assert not any(map(is_effort, ('', 'much', '10', '-5', '1.5')))
    assert role_effort({'': 'low', 'judge': 'high'}, 'judge') == 'high'
    assert role_effort({'': 'low', 'judge': 'high'}, 'pro') == 'low'
    assert role_effort({'judge': 'high'}, 'pro') == ''


def test_an_endpoint_has_its_own_default_effort(tmp_path: Path) -> None:
    file = tmp_path / 'endpoints.toml'
    file.write_text('[endpoints.work]\nurl = "http://a.example/v1"\neffort = "high"\nreasoning = "object"')
    work = load_configuration(file, {}).endpoints['work']
    assert (work.effort, work.reasoning) == ('high', 'object')
    file.write_text('[endpoints.work]\nurl = "http://a.example/v1"\neffort = "much"')
    with pytest.raises(EngineError, match=r'endpoints\.work\.effort: .*must be one of none'):
        load_configuration(file, {})
