import bech32


def test_round_trip():
    assert bech32.decode(bech32.encode('a', [1, 2, 3])) == ('a', [1, 2, 3], 'bech32')
