import bech32
import pytest

VALID = [
    'A12UEL5L',
    'a12uel5l',
    'an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs',
    'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw',
    'split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w',
    '?1ezyfcl',
]


@pytest.mark.parametrize('text', VALID)
def test_valid(text):
    hrp, data, spec = bech32.decode(text)
    assert bech32.encode(hrp, data, spec) == text.lower()


@pytest.mark.parametrize('text', ['pzry9x0s0muk', '1pzry9x0s0muk', 'x1b4n0q5v', 'li1dgmt3', 'A1G7SGD8'])
def test_invalid(text):
    with pytest.raises(ValueError):
        bech32.decode(text)


def test_a_version_0_address():
    program = bytes.fromhex('751e76e8199196d454941c45d1b3a323f1433bd6')
    address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'
    assert bech32.encode_address('bc', 0, program) == address
    assert bech32.decode_address('bc', address) == (0, program)


def test_multiples_of_the_generator_have_no_remainder():
    assert bech32.times(2, 18) == 13
    assert bech32.remainder([1, *bech32.DIVISOR]) == [0] * 6
