import bech32
import pytest

PROGRAM = bytes.fromhex('751e76e8199196d454941c45d1b3a323f1433bd6')


@pytest.mark.parametrize('spec', ['bech32', 'bech32m'])
@pytest.mark.parametrize('hrp', ['a', 'bc', 'tb', 'split', '?'])
@pytest.mark.parametrize('length', [0, 1, 7, 40])
def test_round_trip(hrp, length, spec):
    data = [(7 * place) % 32 for place in range(length)]
    assert bech32.decode(bech32.encode(hrp, data, spec)) == (hrp, data, spec)


@pytest.mark.parametrize('text', ['', '1', 'abc', 'A1lqfn3a', 'a1lqfn3b', ' a1lqfn3a', 'a1lqfnb'])
def test_rejected(text):
    with pytest.raises(bech32.Bech32Error):
        bech32.decode(text)


@pytest.mark.parametrize(('version', 'program'), [(0, PROGRAM), (1, PROGRAM * 2), (16, b'\x75\x1e')])
def test_addresses(version, program):
    assert bech32.decode_address('bc', bech32.encode_address('bc', version, program)) == (version, program)


@pytest.mark.parametrize(('version', 'program'), [(0, b'\0' * 21), (1, b'\0'), (1, b'\0' * 41), (17, PROGRAM)])
def test_no_address(version, program):
    with pytest.raises(bech32.Bech32Error):
        bech32.encode_address('bc', version, program)


def test_every_single_error_is_detected():
    text = bech32.encode_address('bc', 0, PROGRAM)
    for place in range(3, len(text)):
        wrong = 'q' if text[place] != 'q' else 'p'
        with pytest.raises(bech32.Bech32Error):
            bech32.decode(text[:place] + wrong + text[place + 1 :])
