"""The test vectors of BIP 173 and BIP 350, for a module `bech32` in the same folder."""

import bech32
import pytest

VALID = {
    'bech32': [
        'A12UEL5L',
        'a12uel5l',
        'an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs',
        'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw',
        '11' + 'q' * 82 + 'c8247j',
        'split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w',
        '?1ezyfcl',
    ],
    'bech32m': [
        'A1LQFN3A',
        'a1lqfn3a',
        'an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11sg7hg6',
        'abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx',
        '11' + 'l' * 82 + 'ludsr8',
        'split1checkupstagehandshakeupstreamerranterredcaperredlc445v',
        '?1v759aa',
    ],
}
INVALID = {
    'a space before the separator': ' 1nwldj5',
    'a delete character': '\x7f1axkwrx',
    'a character beyond ASCII': '\x801eym55h',
    'longer than 90': (
        'an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx'
    ),
    'no separator': 'pzry9x0s0muk',
    'nothing before the separator': '1pzry9x0s0muk',
    'a letter that is not in the alphabet': 'x1b4n0q5v',
    'a checksum that is too short': 'li1dgmt3',
    'a foreign character in the checksum': 'de1lg7wt\xff',
    'a checksum of the upper case': 'A1G7SGD8',
    'nothing before the separator, short': '10a06t8',
    'nothing before the separator, no data': '1qzzfhee',
    'm: a space before the separator': ' 1xj0phk',
    'm: a delete character': '\x7f1g6xzxy',
    'm: a character beyond ASCII': '\x801vctc34',
    'm: longer than 90': (
        'an84characterslonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11d6pts4'
    ),
    'm: no separator': 'qyrz8wqd2c9m',
    'm: nothing before the separator': '1qyrz8wqd2c9m',
    'm: b in the data': 'y1b0jsk6g',
    'm: i in the data': 'lt1igcx5c0',
    'm: a checksum that is too short': 'in1muywd',
    'm: i in the checksum': 'mm1crxm3i',
    'm: o in the checksum': 'au1s5cgom',
    'm: a checksum of the upper case': 'M1VUXWEZ',
    'm: nothing before the separator, short': '16plkw9',
    'm: nothing before the separator, no data': '1p2gdwpf',
}
ADDRESSES = [
    ('BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', 0, '751e76e8199196d454941c45d1b3a323f1433bd6'),
    (
        'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7',
        0,
        '1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262',
    ),
    (
        'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y',
        1,
        '751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6',
    ),
    ('BC1SW50QGDZ25J', 16, '751e'),
    ('bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs', 2, '751e76e8199196d454941c45d1b3a323'),
    (
        'tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy',
        0,
        '000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
    ),
    (
        'tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c',
        1,
        '000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
    ),
    (
        'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
        1,
        '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    ),
]
NO_ADDRESSES = {
    'another network': 'tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut',
    'version 1 with bech32': 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
    'version 2 with bech32': 'tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf',
    'version 16 with bech32': 'BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL',
    'version 0 with bech32m': 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh',
    'version 0 with bech32m, long': 'tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47',
    'o in the checksum': 'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    'version 17': 'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    'a program of 1 byte': 'bc1pw5dgrnzv',
    'a program of 41 bytes': 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav',
    'version 0 with 16 bytes': 'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P',
    'both cases': 'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq',
    'more than 4 bits of padding': 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf',
    'padding that is not zero': 'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j',
    'no data': 'bc1gmk9yu',
}
CASES = [(spec, text) for spec, texts in VALID.items() for text in texts]


@pytest.mark.parametrize(('spec', 'text'), CASES, ids=[f'{spec}-{text[:12]}' for spec, text in CASES])
def test_valid(spec, text):
    hrp, data, found = bech32.decode(text)
    assert found == spec
    assert hrp == text[: text.rindex('1')].lower()
    assert bech32.encode(hrp, data, spec) == text.lower()


@pytest.mark.parametrize('text', INVALID.values(), ids=list(INVALID))
def test_invalid(text):
    with pytest.raises(ValueError):
        bech32.decode(text)


@pytest.mark.parametrize(('address', 'version', 'program'), ADDRESSES, ids=[a[:12] for a, _, _ in ADDRESSES])
def test_address(address, version, program):
    hrp = address[:2].lower()
    assert bech32.decode_address(hrp, address) == (version, bytes.fromhex(program))
    assert bech32.encode_address(hrp, version, bytes.fromhex(program)) == address.lower()


@pytest.mark.parametrize('address', NO_ADDRESSES.values(), ids=list(NO_ADDRESSES))
def test_no_address(address):
    for hrp in ('bc', 'tb'):
        with pytest.raises(ValueError):
            bech32.decode_address(hrp, address)
