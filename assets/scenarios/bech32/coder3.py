"""Bech32 (BIP 173) as polynomials over GF(32), following the proposal's derivation."""

LETTERS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
FIELD = 0b101001  # x^5 + x^3 + 1
DIVISOR = (29, 22, 20, 21, 29, 18)
"""The generator: x^6 + 29x^5 + 22x^4 + 20x^3 + 21x^2 + 29x + 18."""


def times(a, b):
    """Multiply two elements of GF(32)."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a & 32:
            a ^= FIELD
        b >>= 1
    return product


def remainder(values):
    """Return the remainder of a polynomial, highest coefficient first, divided by the generator."""
    left = [0] * 6
    for value in values:
        lead, left = left[0], [*left[1:], value]
        left = [rest ^ times(lead, factor) for rest, factor in zip(left, DIVISOR)]
    return left


def message(hrp, values):
    """Return the polynomial to compute the checksum of."""
    return [1, *(ord(c) >> 5 for c in hrp), 0, *(ord(c) & 31 for c in hrp), *values]


def encode(hrp, data, spec='bech32'):
    """Encode a human-readable part and 5-bit values."""
    if spec != 'bech32':
        raise NotImplementedError('bech32m is not implemented yet')
    if not hrp or any(not 33 <= ord(c) <= 126 or c.isupper() for c in hrp):
        raise ValueError('bad human-readable part')
    if any(value not in range(32) for value in data) or len(hrp) + len(data) > 83:
        raise ValueError('bad data')
    tail = remainder(message(hrp, [*data, 0, 0, 0, 0, 0, 0]))
    tail[-1] ^= 1
    return f'{hrp}1' + ''.join(LETTERS[value] for value in [*data, *tail])


def decode(text):
    """Return the human-readable part, the 5-bit values and 'bech32'."""
    if len(text) > 90 or any(not 33 <= ord(c) <= 126 for c in text):
        raise ValueError('bad text')
    if text not in (text.lower(), text.upper()):
        raise ValueError('mixed case')
    hrp, _, tail = text.lower().rpartition('1')
    if not hrp or len(tail) < 6 or set(tail) - set(LETTERS):
        raise ValueError('bad text')
    values = [LETTERS.index(c) for c in tail]
    if remainder(message(hrp, values)) != [0, 0, 0, 0, 0, 1]:
        raise ValueError('bad checksum')
    return hrp, values[:-6], 'bech32'


def encode_address(hrp, version, program):
    """Return the address of a witness program."""
    number, bits = int.from_bytes(program, 'big'), 8 * len(program)
    number <<= -bits % 5
    count = -(-bits // 5)
    data = [number >> 5 * place & 31 for place in reversed(range(count))]
    address = encode(hrp, [version, *data])
    decode_address(hrp, address)
    return address


def decode_address(hrp, address):
    """Return the witness version and program of an address."""
    found, data, _ = decode(address)
    if found != hrp or not data or data[0] > 16:
        raise ValueError('bad address')
    number = 0
    for value in data[1:]:
        number = number << 5 | value
    spare = 5 * (len(data) - 1) % 8
    if spare > 4 or number & (1 << spare) - 1:
        raise ValueError('bad padding')
    program = (number >> spare).to_bytes(5 * (len(data) - 1) // 8, 'big')
    if not 2 <= len(program) <= 40 or (data[0] == 0 and len(program) not in (20, 32)):
        raise ValueError('bad length')
    return data[0], program
