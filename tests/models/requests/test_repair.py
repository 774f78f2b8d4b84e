"""A model that thinks but returns no valid record is asked again in the way its provider requires."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from engine import LocalConductor, Memory, Status
from engine.agents.chart import agent
from engine.models.http.dialects.structured_output import ANSWER
from engine.models.http.endpoint_client import EndpointClient
from tests.models.reading import endpoint
from tests.support.harness import Lone, catalog

THOUGHT = {'type': 'thinking', 'thinking': 'Hm.', 'signature': 'sig'}
REDACTED = {'type': 'redacted_thinking', 'data': 'abc'}
WORDS = {'type': 'text', 'text': 'It is four.'}
AGAIN = 'Your answer does not fit: '


class Number(BaseModel):
    number: int


class Kept(Memory):
    number: int = 0


class Asking(Lone):
    Memory = Kept
    states = [agent('working', prompt='ask', output=Number, then='keep'), *Lone.states[1:]]

    def keep(self, memory: Kept, event: Any) -> None:
        memory.number = event.data['output']['number']


def tool_use(number: Any) -> dict[str, Any]:
    return {'type': 'tool_use', 'id': 't', 'name': ANSWER, 'input': {'number': number}}


def message(*content: dict[str, Any], reason: str = 'end_turn') -> dict[str, Any]:
    return {'type': 'message', 'id': '1', 'model': 'm', 'content': content, 'stop_reason': reason}


def completion(finish: str = 'stop', **more: Any) -> dict[str, Any]:
    choice = {'index': 0, 'message': {'role': 'assistant', 'content': None, **more}, 'finish_reason': finish}
    return {'id': '1', 'model': 'm', 'choices': [choice]}


def call_answer(number: Any) -> list[dict[str, Any]]:
    function = {'name': ANSWER, 'arguments': json.dumps({'number': number})}
    return [{'index': 0, 'id': 'c', 'type': 'function', 'function': function}]


async def collect_requests(model: str, *answers: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Collect the requests of a run whose second answer is accepted."""
    requests: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(json.loads(request.content))
        return httpx.Response(200, json=answers[len(requests) - 1])

    client = EndpointClient(endpoint(effort='4000', **more), transport=httpx.MockTransport(answer))
    scripted: Any = client.model(model)
    async with LocalConductor(catalog=catalog(scripted, Asking)) as conductor:
        outcome = await conductor.result((await conductor.start('asking')).id)
    assert (outcome.status, outcome.memory.get('number')) == (Status.DONE, 4), outcome.error
    return requests


@pytest.mark.parametrize(
    ('first', 'back'),
    [
        ([THOUGHT, WORDS], [THOUGHT, WORDS]),
        ([REDACTED, THOUGHT, WORDS], [REDACTED, THOUGHT, WORDS]),
        ([THOUGHT, tool_use('x')], [THOUGHT, {'type': 'text', 'text': '{"number": "x"}'}]),
        ([WORDS, THOUGHT], [WORDS]),  # The provider refuses a turn that ends with thinking.
        ([THOUGHT, {**THOUGHT, 'signature': ''}], []),
        ([THOUGHT, REDACTED], []),
    ],
)  # fmt: skip
async def test_anthropic_gets_thinking_back_and_forces_no_tool(first: list[Any], back: list[Any]) -> None:
    second = message(THOUGHT, tool_use(4), reason='tool_use')
    one, two = await collect_requests(
        'claude-3-7-sonnet-latest', message(*first), second, dialect='anthropic', structure='by model'
    )
    for item in (one, two):
        assert item['thinking'] == {'type': 'enabled', 'budget_tokens': 4000}
        assert item['tools'][-1]['name'] == ANSWER and item['tool_choice'] == {'type': 'auto'}
    repeated = [turn['content'] for turn in two['messages'] if turn['role'] == 'assistant']
    assert repeated == ([back] if back else [])
    assert two['messages'][-1]['content'][-1]['text'].startswith(AGAIN)


DETAILS = [{'type': 'reasoning.text', 'index': 0, 'text': 'Hm.', 'signature': 'sig'}]


@pytest.mark.parametrize(
    ('first', 'back'),
    [
        ({'content': 'It is four.'}, {'content': 'It is four.', 'reasoning_details': DETAILS}),
        ({'tool_calls': call_answer('x')}, {'content': '{"number": "x"}', 'reasoning_details': DETAILS}),
        ({'content': ''}, None),  # Anthropic refuses thinking alone; Mistral refuses empty messages.
    ],
)
async def test_openrouter_gets_reasoning_back_and_forces_no_tool(
    first: dict[str, Any], back: dict[str, Any] | None
) -> None:
    second = completion('tool_calls', tool_calls=call_answer(4), reasoning_details=DETAILS)
    answers = (completion(**first, reasoning_details=DETAILS), second)
    one, two = await collect_requests(
        'anthropic/claude-haiku-4.5', *answers, structure='tool', reasoning='object'
    )
    for item in (one, two):
        assert item['reasoning'] == {'max_tokens': 4000}
        assert item['tools'][-1]['function']['name'] == ANSWER and item['tool_choice'] == 'auto'
    repeated = [item for item in two['messages'] if item['role'] == 'assistant']
    assert repeated == ([{'role': 'assistant', **back}] if back else [])
    assert two['messages'][-1]['content'].startswith(AGAIN)


async def test_reasoning_content_goes_back_with_calls_alone() -> None:
    first = completion(content='It is four.', reasoning_content='Hm.')
    second = completion(content='{"number": 4}', reasoning_content='Hm.')
    _, two = await collect_requests('deepseek-reasoner', first, second, structure='text', reasoning='object')
    assert 'tools' not in two
    assert two['messages'][-2] == {'role': 'assistant', 'content': 'It is four.'}
    assert two['messages'][-1]['content'].startswith(AGAIN)
