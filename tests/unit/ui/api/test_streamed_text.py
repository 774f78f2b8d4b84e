"""The rest of a reply that was partly streamed."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import Delta, Message, RunId, StatePath
from engine.records.message import Reasoning, Text
from ui.api.streams.text import StreamedText

REPLY = Message(role='assistant', parts=(Reasoning(text='Which?'), Text(text='Tea, with milk.')))


def piece(text: str, kind: Any = 'text', path: StatePath = StatePath('pro')) -> Delta:
    return Delta(run=RunId('r'), path=path, text=text, kind=kind)


@pytest.mark.parametrize(
    ('pieces', 'rest'),
    [
        ([], ('Which?', 'Tea, with milk.')),
        ([piece('Which?', 'reasoning'), piece('Tea, '), piece('with')], ('', ' milk.')),
        ([piece('Tea, ', path=StatePath('con'))], ('Which?', 'Tea, with milk.')),
        ([piece('Te'), piece('', 'reset'), piece('Tea')], ('Which?', ', with milk.')),
        ([piece('Te'), piece('', 'reset', StatePath(''))], ('Which?', 'Tea, with milk.')),
        ([piece('Coffee')], ('Which?', '')),
        ([piece('notes\n', 'call'), piece('slow down', 'waiting')], ('Which?', 'Tea, with milk.')),
    ],
)
def test_only_the_unseen_part_of_a_reply_is_sent(pieces: list[Delta], rest: tuple[str, str]) -> None:
    streamed = StreamedText()
    for piece in pieces:
        streamed.add(piece)
    assert streamed.find_unstreamed(StatePath('pro'), REPLY) == rest


def test_the_next_reply_of_an_agent_starts_over() -> None:
    streamed = StreamedText()
    streamed.add(piece('Tea, with milk.'))
    streamed.add(piece('Tea', path=StatePath('con')))
    streamed.forget(StatePath('pro'))
    assert streamed.find_unstreamed(StatePath('pro'), REPLY)[1] == 'Tea, with milk.'
    assert streamed.find_unstreamed(StatePath('con'), REPLY)[1] == ', with milk.'
