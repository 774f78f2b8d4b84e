"""Usage reported by external agents, and the grouping of their messages."""

from __future__ import annotations

import pytest
from acp import schema

from engine.records import Usage
from engine.tools.acp.turn import Turn
from engine.tools.acp.usage import TurnUsage, reported_usage


def test_a_turn_is_estimated_until_its_usage_is_reported() -> None:
    turn = TurnUsage(reports=True)
    first, settles = turn.count(400, 40, None, ended=False)
    assert first == Usage(input=100, output=10, source='estimated') and not settles
    rest, settles = turn.count(0, 8, Usage(input=190, output=30, calls=1), ended=True)
    assert rest == Usage(input=90, output=20, calls=1) and settles


def test_estimates_hold_when_the_report_covers_less_than_the_turn() -> None:
    """OpenCode reports only its last call."""
    for turn, tokens in ((TurnUsage(), 90), (TurnUsage(reports=True), 4)):
        turn.count(40, 40, None, ended=False)
        rest, settles = turn.count(0, 8, Usage(input=tokens, output=tokens, calls=1), ended=True)
        assert rest == Usage(input=max(0, tokens - 10), output=max(0, tokens - 10), calls=1) and not settles


def test_a_lost_turn_stays_estimated() -> None:
    turn = TurnUsage(reports=True)
    turn.restart()
    turn.count(40, 40, None, ended=False)
    assert not turn.count(0, 8, Usage(input=90, output=90), ended=True)[1]
    turn.begin()
    assert turn.count(4, 0, None, ended=True)[0] == Usage(input=1, calls=1, source='estimated')


@pytest.mark.parametrize(('total', 'output'), [(27, 7), (29, 9)])
def test_thinking_is_counted_once(total: int, output: int) -> None:
    used = {
        'totalTokens': total,
        'inputTokens': 16,
        'cachedReadTokens': 4,
        'outputTokens': 7,
        'thoughtTokens': 2,
    }
    response = schema.PromptResponse.model_validate({'stopReason': 'end_turn', 'usage': used})
    assert reported_usage(response) == Usage(input=20, output=output, calls=1, cached=4, reasoning=2)


def test_geminis_usage_report_has_its_own_field() -> None:
    quota = {'token_count': {'input_tokens': 40, 'output_tokens': 14}, 'model_usage': []}
    response = schema.PromptResponse.model_validate({'stopReason': 'end_turn', '_meta': {'quota': quota}})
    assert reported_usage(response) == Usage(input=40, output=14, calls=1)
    for odd in ({}, {'quota': 1}, {'quota': {'token_count': {'input_tokens': '4'}}}):
        response = schema.PromptResponse.model_validate({'stopReason': 'end_turn', '_meta': odd})
        assert reported_usage(response) is None


def test_a_new_message_starts_a_paragraph() -> None:
    turn = Turn()
    for text, message in (
        ('All', 'a'),
        (' done.', 'a'),
        ('And', 'b'),
        (' more.', 'b'),
        ('', 'c'),
        ('!', 'c'),
    ):
        turn.add_text('text', text, message)
    (piece,) = turn.take_parts()
    assert piece.text == 'All done.\n\nAnd more.\n\n!'  # type: ignore[union-attr]
