"""Assembling a model's stream: order, calls, opaque parts, refusals, and the total usage."""

import pytest

from engine.agents.message_accumulator import MessageAccumulator
from engine.errors import ModelError
from engine.journal.usage_records import usage_to_dict
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    OpaquePiece,
    ReasoningPiece,
    Started,
    TextPiece,
    UsageReport,
)
from engine.records import Usage
from engine.records.message import Opaque, Reasoning, Text, ToolCall


def accumulate(*events: ModelEvent) -> MessageAccumulator:
    accumulator = MessageAccumulator()
    for event in events:
        accumulator.add(event)
    return accumulator


def test_parts_are_ordered_by_their_start() -> None:
    accumulated = accumulate(
        Started(model='m', id='r'),
        ReasoningPiece(text='hm'),
        ReasoningPiece(text='m'),
        OpaquePiece(provider='p', data={'signature': 's'}),
        TextPiece(text=''),
        CallStarted(index=0, name='one', id='0'),
        CallStarted(index=1, name='two', id='0'),
        ArgumentPiece(index=1, text='{"a":'),
        ArgumentPiece(index=1, text='1'),
        TextPiece(text='so'),
        Completed(reason='tools'),
    )
    assert accumulated.started.id == 'r'
    assert accumulated.message('c').parts == (
        Reasoning(text='hmm'),
        Opaque(provider='p', data={'signature': 's'}),
        ToolCall(id='c-1', name='one', arguments='{}'),
        ToolCall(id='c-2', name='two', arguments='{"a":1'),
        Text(text='so'),
    )


def test_an_unfinished_stream_is_an_error_with_its_usage() -> None:
    accumulated = accumulate(TextPiece(text='half'), UsageReport(usage=Usage(input=3)))
    with pytest.raises(ModelError) as caught:
        accumulated.message('c')
    assert (caught.value.kind, caught.value.retryable) == ('truncated', True)
    assert caught.value.usage == Usage(input=3)


def test_a_filtered_answer_is_an_error_that_names_the_model() -> None:
    accumulated = MessageAccumulator('here/m')
    accumulated.add(TextPiece(text='I cannot'))
    with pytest.raises(ModelError, match='here/m: the answer was cut short'):
        accumulated.message('c')
    accumulated.add(Completed(reason='filter', finish='refusal'))
    with pytest.raises(
        ModelError, match=r'here/m: the provider withheld the answer \(refusal\): I cannot'
    ) as caught:
        accumulated.message('c')
    assert (caught.value.kind, caught.value.retryable) == ('content filter', False)


def test_a_sum_with_an_estimate_is_an_estimate() -> None:
    one = Usage(input=1, output=2, calls=1, cached=1, written=4, reasoning=2)
    total = one + Usage(input=10, calls=1, source='missing') + Usage(source='estimated')
    assert total == Usage(input=11, output=2, calls=2, cached=1, written=4, reasoning=2, source='missing')


def test_a_cost_with_an_unknown_part_keeps_the_known_part() -> None:
    usage, unknown = Usage(calls=2, dollars=0.5), Usage(calls=1, unpriced=1)
    assert (usage.cost, Usage().cost) == (0.5, 0.0)
    assert ((usage + unknown).cost, (usage + unknown).dollars) == (None, 0.5)


def test_journaled_usage_omits_defaults() -> None:
    assert usage_to_dict(Usage(input=1, output=2, calls=1)) == {'input': 1, 'output': 2, 'calls': 1}
    assert usage_to_dict(Usage(cached=3, source='estimated', unpriced=1)) == {
        'input': 0, 'output': 0, 'calls': 0, 'cached': 3, 'unpriced': 1, 'source': 'estimated',
    }  # fmt: skip
