"""Beyond the vectors: each rule on its own, every single error, and what the encoder rejects."""

import random

import bech32
import pytest

CHANCE = random.Random(173)


@pytest.mark.parametrize('spec', ['bech32', 'bech32m'])
@pytest.mark.parametrize('length', [0, 1, 20, 52, 82])
def test_round_trip(spec, length):
    data = [CHANCE.randrange(32) for _ in range(length)]
    assert bech32.decode(bech32.encode('a', data, spec)) == ('a', data, spec)


def test_the_last_1_is_the_separator():
    assert bech32.decode(bech32.encode('a1b1', [0, 31])) == ('a1b1', [0, 31], 'bech32')


@pytest.mark.parametrize('spec', ['bech32', 'bech32m'])
def test_every_single_wrong_character_is_detected(spec):
    text = bech32.encode('bc', list(range(32)), spec)
    for place in range(3, len(text)):
        for letter in bech32.ALPHABET:
            if letter != text[place]:
                with pytest.raises(ValueError):
                    bech32.decode(text[:place] + letter + text[place + 1 :])


def test_swapped_letters_are_detected():
    text = bech32.encode('bc', list(range(32)))
    for place in range(3, len(text) - 1):
        if text[place] != text[place + 1]:
            with pytest.raises(ValueError):
                bech32.decode(text[:place] + text[place + 1] + text[place] + text[place + 2 :])


@pytest.mark.parametrize(
    ('hrp', 'data'), [('', []), ('A', []), ('a b', []), ('a', [32]), ('a', [-1]), ('a', [0] * 83)]
)
def test_the_encoder_rejects(hrp, data):
    with pytest.raises(ValueError):
        bech32.encode(hrp, data)


def test_an_unknown_checksum_is_rejected():
    with pytest.raises(ValueError):
        bech32.encode('a', [], 'bech33')


@pytest.mark.parametrize(
    ('version', 'length'), [(0, 21), (0, 40), (1, 1), (1, 41), (17, 20), (-1, 20)]
)
def test_no_address_for_invalid_programs(version, length):
    with pytest.raises(ValueError):
        bech32.encode_address('bc', version, bytes(length))


@pytest.mark.parametrize(('version', 'length'), [(0, 20), (0, 32), (1, 2), (1, 32), (16, 40)])
def test_address_round_trip(version, length):
    program = CHANCE.randbytes(length)
    address = bech32.encode_address('tb', version, program)
    assert bech32.decode_address('tb', address) == (version, program)
    with pytest.raises(ValueError):
        bech32.decode_address('bc', address)
