"""External agents' own words on tokens, and which of their words belong together."""

from __future__ import annotations

import pytest
from acp import schema

from engine.acp.turn import Turn
from engine.acp.usage import TurnUsage, reported_usage
from engine.records import Usage


def test_an_agent_that_will_report_is_not_estimated_meanwhile() -> None:
    turn = TurnUsage(reports=True)
    assert turn.count(400, 40, None, ended=False) == Usage()
    report = Usage(input=90, output=30, calls=1)
    assert turn.count(0, 8, report, ended=True) == report


def test_where_the_report_fails_to_come_all_of_the_turn_is_estimated_at_its_end() -> None:
    turn = TurnUsage(reports=True)
    turn.count(400, 40, None, ended=False)
    assert turn.count(0, 8, None, ended=True) == Usage(input=100, output=12, calls=1, source='estimated')
    turn.begin()
    assert turn.count(4, 0, None, ended=True) == Usage(input=1, calls=1, source='estimated')


@pytest.mark.parametrize(('tokens', 'left'), [(90, 80), (4, 0)])
def test_what_was_estimated_is_not_counted_again(tokens: int, left: int) -> None:
    """An agent may report its last call only: what was estimated of the turn stays."""
    turn = TurnUsage()
    assert turn.count(40, 40, None, ended=False).total == 20
    assert turn.count(0, 8, Usage(input=tokens, output=tokens, calls=1), ended=True) == Usage(
        input=left, output=left, calls=1
    )


@pytest.mark.parametrize(('total', 'output'), [(27, 7), (29, 9)])
def test_thinking_is_counted_once(total: int, output: int) -> None:
    used = {
        'totalTokens': total,
        'inputTokens': 16,
        'cachedReadTokens': 4,
        'outputTokens': 7,
        'thoughtTokens': 2,
    }
    said = schema.PromptResponse.model_validate({'stopReason': 'end_turn', 'usage': used})
    assert reported_usage(said) == Usage(input=20, output=output, calls=1, cached=4, reasoning=2)


def test_geminis_report_has_a_place_of_its_own() -> None:
    quota = {'token_count': {'input_tokens': 40, 'output_tokens': 14}, 'model_usage': []}
    said = schema.PromptResponse.model_validate({'stopReason': 'end_turn', '_meta': {'quota': quota}})
    assert reported_usage(said) == Usage(input=40, output=14, calls=1)
    for odd in ({}, {'quota': 1}, {'quota': {'token_count': {'input_tokens': '4'}}}):
        said = schema.PromptResponse.model_validate({'stopReason': 'end_turn', '_meta': odd})
        assert reported_usage(said) is None


def test_another_message_begins_a_paragraph() -> None:
    turn = Turn()
    for text, message in (
        ('All', 'a'),
        (' done.', 'a'),
        ('And', 'b'),
        (' more.', 'b'),
        ('', 'c'),
        ('!', 'c'),
    ):
        turn.say('text', text, message)
    (piece,) = turn.take()
    assert piece.text == 'All done.\n\nAnd more.\n\n!'  # type: ignore[union-attr]
