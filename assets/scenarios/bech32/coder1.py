"""Bech32 and bech32m (BIP 173, BIP 350), and segregated witness addresses."""

ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
CONSTANTS = {'bech32': 1, 'bech32m': 0x2BC830A3}


def polymod(values):
    """The checksum of BIP 173: a BCH code over GF(32)."""
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit in range(5):
            if top >> bit & 1:
                check ^= GENERATOR[bit]
    return check


def expand(hrp):
    return [ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp]


def encode(hrp, data, spec='bech32'):
    """Encode a human-readable part and a list of 5-bit values. Raises ValueError."""
    if not hrp or any(not 33 <= ord(c) <= 126 for c in hrp) or hrp != hrp.lower():
        raise ValueError('the human-readable part has a character that is not allowed')
    if any(not 0 <= value < 32 for value in data):
        raise ValueError('a value has more than 5 bits')
    if len(hrp) + 7 + len(data) > 90:
        raise ValueError('longer than 90 characters')
    check = polymod(expand(hrp) + list(data) + [0] * 6) ^ CONSTANTS[spec]
    tail = [check >> 5 * (5 - place) & 31 for place in range(6)]
    return hrp + '1' + ''.join(ALPHABET[value] for value in [*data, *tail])


def decode(text):
    """Return the human-readable part, the 5-bit values, and 'bech32' or 'bech32m'. Raises ValueError."""
    if any(not 33 <= ord(c) <= 126 for c in text):
        raise ValueError('a character is not allowed')
    if text != text.lower() and text != text.upper():
        raise ValueError('upper and lower case are mixed')
    if len(text) > 90:
        raise ValueError('longer than 90 characters')
    text = text.lower()
    hrp, separator, rest = text.rpartition('1')
    if not separator or not hrp:
        raise ValueError('there is no human-readable part')
    if len(rest) < 6:
        raise ValueError('the checksum is too short')
    if any(c not in ALPHABET for c in rest):
        raise ValueError('a character is not in the alphabet')
    data = [ALPHABET.index(c) for c in rest]
    check = polymod(expand(hrp) + data)
    for spec, constant in CONSTANTS.items():
        if check == constant:
            return hrp, data[:-6], spec
    raise ValueError('the checksum is wrong')


def regroup(values, size, to, pad):
    """Convert values of `size` bits to values of `to` bits. Raises ValueError."""
    buffer = bits = 0
    result = []
    for value in values:
        buffer = (buffer << size | value) & 0xFFFFF
        bits += size
        while bits >= to:
            bits -= to
            result.append(buffer >> bits & (1 << to) - 1)
    if pad:
        if bits:
            result.append(buffer << to - bits & (1 << to) - 1)
    elif bits >= size or buffer & (1 << bits) - 1:
        raise ValueError('the padding is wrong')
    return result


def encode_address(hrp, version, program):
    """Return the address of a witness program. Raises ValueError."""
    spec = 'bech32' if version == 0 else 'bech32m'
    address = encode(hrp, [version, *regroup(program, 8, 5, pad=True)], spec)
    decode_address(hrp, address)
    return address


def decode_address(hrp, address):
    """Return the witness version and program of an address. Raises ValueError."""
    found, data, spec = decode(address)
    if found != hrp:
        raise ValueError('the address belongs to another network')
    if not data or data[0] > 16:
        raise ValueError('unknown witness version')
    version, program = data[0], bytes(regroup(data[1:], 5, 8, pad=False))
    if not 2 <= len(program) <= 40 or (version == 0 and len(program) not in (20, 32)):
        raise ValueError('the program has the wrong length')
    if spec != ('bech32' if version == 0 else 'bech32m'):
        raise ValueError('this version requires the other checksum')
    return version, program
