"""Payloads: what is read from events, whatever a pattern's own activity or an imported run put there."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import Event, calls_of, reply_of, results_of, snapshots_of

RESULT = {'id': 'c1', 'name': 'look', 'text': 'a tree', 'ok': True}


def done(**data: Any) -> Event:
    return Event(name='done', data=data)


def test_replies_results_and_snapshots_are_found():
    call = {'kind': 'call', 'id': 'c1', 'name': 'look', 'arguments': '{}'}
    reply = done(message={'role': 'assistant', 'parts': [{'kind': 'text', 'text': 'hm'}, call]}, model='m')
    assert reply_of(reply) == reply.data and calls_of(reply) == [call] and results_of(reply) == []
    batch = done(results=[RESULT], snapshots={'a': 'b'})
    assert results_of(batch) == [RESULT] and snapshots_of(batch) == {'a': 'b'} and reply_of(batch) is None


@pytest.mark.parametrize(
    'odd',
    [
        done(message='sent', results='none', snapshots=['a']),
        done(message={'parts': ['words']}, results=['words', {'text': 'words'}, {**RESULT, 'ok': 'yes'}]),
        done(message={}, results={'look': 'a tree'}),
        Event(name='failed', data={'message': {'parts': []}, 'results': [RESULT], 'snapshots': {'a': 'b'}}),
    ],
)
def test_other_data_under_the_same_names_is_left_alone(odd):
    assert calls_of(odd) == [] and results_of(odd) == [] and not snapshots_of(odd)
