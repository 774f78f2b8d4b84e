"""Encoded bodies: decoded exactly, or the damage is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import JournalDamaged
from engine.records import Change, Event, RunId, Snapshot, Transition
from storage.codec import Codec, read_snapshot, read_transition

WORDS = 'the quick brown fox jumps over the lazy dog and thinks nothing of it; '


def step(text: str) -> Transition:
    change = Change(op='add', path='/memory/said/-', value={'text': text})
    return Transition(
        run=RunId('r'), seq=1, time=1.0, event=Event(name='done', data={'text': text}), changes=(change,)
    )


def read(body: bytes) -> Transition:
    return read_transition(RunId('r'), (1, 1.0, 'done', '', body))


def test_a_repeated_text_is_stored_once() -> None:
    codec, text = Codec(), ''.join(chr(0x4E00 + 7 * number % 9973) for number in range(2000))
    once = len(codec.snapshot(Snapshot(run=RunId('r'), seq=1, state={'text': text})))
    assert len(codec.transition(step(text))) < once * 1.1


def test_a_flipped_bit_never_goes_unnoticed() -> None:
    sent = step(WORDS * 12)
    body = Codec().transition(sent)
    assert read(body) == sent
    for at in range(len(body)):
        for bit in (0, 3, 7):
            broken = body[:at] + bytes((body[at] ^ 1 << bit,)) + body[at + 1 :]
            try:
                assert read(broken) == sent
            except JournalDamaged as error:
                assert 'step 1 of run r' in str(error)


@pytest.mark.parametrize('played', [0, 3])
@pytest.mark.parametrize('who', ['', 'ada'])
@pytest.mark.parametrize('key', ['', 'k'])
def test_rare_event_fields_are_stored(played: int, who: str, key: str) -> None:
    sent = replace(step('a'), event=Event(name='done', played=played, who=who, key=key))
    assert read(Codec().transition(sent)) == sent


CLAIMS_FOUR_EXABYTES = b'\1\x28\xb5\x2f\xfd\xe0' + (2**62).to_bytes(8, 'little') + b'abc'


@pytest.mark.parametrize(
    'body',
    [
        b'', b'\0', b'\1', b'\0[1,2', b'\2{', b'\3abc', b'\0[]', b'\0{}', b'\0' + b'[' * 9000,
        CLAIMS_FOUR_EXABYTES,
    ],
)  # fmt: skip
def test_an_unreadable_step_is_reported_as_damage(body: bytes) -> None:
    with pytest.raises(JournalDamaged, match='step 1 of run r'):
        read(body)


def test_a_damaged_snapshot_is_named() -> None:
    body = Codec().snapshot(Snapshot(run=RunId('r'), seq=4, state={'text': WORDS * 20}))
    assert read_snapshot(RunId('r'), 4, body).state == {'text': WORDS * 20}
    with pytest.raises(JournalDamaged, match='snapshot at step 4 of run r'):
        read_snapshot(RunId('r'), 4, body[:-1])
