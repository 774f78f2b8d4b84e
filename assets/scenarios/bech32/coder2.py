"""Bech32 and bech32m as objects: a codec for each checksum, and addresses on top of them."""

from dataclasses import dataclass

CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
REVERSE = {letter: value for value, letter in enumerate(CHARSET)}
TOP = [0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3]


def _table():
    """Return the combined effect of the top five bits, for each of their 32 values."""
    table = []
    for top in range(32):
        effect = 0
        for bit, word in enumerate(TOP):
            if top & 1 << bit:
                effect ^= word
        table.append(effect)
    return table


TABLE = _table()


class Bech32Error(ValueError):
    """Invalid text, or an invalid program or part of one."""


@dataclass(frozen=True)
class Codec:
    """One of the two checksums."""

    name: str
    constant: int

    def checksum(self, hrp, values):
        state = _run(_spread(hrp) + list(values) + [0] * 6) ^ self.constant
        return [(state >> shift) & 31 for shift in (25, 20, 15, 10, 5, 0)]

    def verifies(self, hrp, values):
        return _run(_spread(hrp) + list(values)) == self.constant


CODECS = {codec.name: codec for codec in (Codec('bech32', 1), Codec('bech32m', 0x2BC830A3))}


def _run(values):
    state = 1
    for value in values:
        state = ((state & 0x1FFFFFF) << 5) ^ value ^ TABLE[state >> 25]
    return state


def _spread(hrp):
    codes = hrp.encode('ascii')
    return [code >> 5 for code in codes] + [0] + [code & 31 for code in codes]


def _check_letters(text):
    if not all('!' <= letter <= '~' for letter in text):
        raise Bech32Error(f'{text!r} contains a character that is not allowed')


def encode(hrp, data, spec='bech32'):
    """Encode a human-readable part and 5-bit values."""
    if spec not in CODECS:
        raise Bech32Error(f'unknown checksum {spec!r}')
    _check_letters(hrp)
    if not hrp or hrp != hrp.lower():
        raise Bech32Error('the human-readable part must be lower case and not empty')
    if not all(value in range(32) for value in data):
        raise Bech32Error('values must be between 0 and 31')
    text = hrp + '1' + ''.join(CHARSET[value] for value in [*data, *CODECS[spec].checksum(hrp, data)])
    if len(text) > 90:
        raise Bech32Error('more than 90 characters')
    return text


def decode(text):
    """Return the human-readable part, the 5-bit values and the name of the checksum."""
    _check_letters(text)
    if len(text) > 90:
        raise Bech32Error('more than 90 characters')
    if text.lower() != text and text.upper() != text:
        raise Bech32Error('upper and lower case are mixed')
    text = text.lower()
    place = text.find('1')
    if place < 1 or place + 7 > len(text):
        raise Bech32Error('the separator is missing or in the wrong place')
    hrp, tail = text[:place], text[place + 1 :]
    try:
        values = [REVERSE[letter] for letter in tail]
    except KeyError as error:
        raise Bech32Error(f'{error} is not in the alphabet') from None
    for codec in CODECS.values():
        if codec.verifies(hrp, values):
            return hrp, values[:-6], codec.name
    raise Bech32Error('the checksum is wrong')


def _to_five(program):
    bits = ''.join(f'{byte:08b}' for byte in program)
    bits += '0' * (-len(bits) % 5)
    return [int(bits[start : start + 5], 2) for start in range(0, len(bits), 5)]


def _to_eight(values):
    bits = ''.join(f'{value:05b}' for value in values)
    whole = len(bits) - len(bits) % 8
    rest = bits[whole:]
    if len(rest) > 4 or '1' in rest:
        raise Bech32Error('the padding must be fewer than five bits, all zero')
    return bytes(int(bits[start : start + 8], 2) for start in range(0, whole, 8))


def _check_program(version, program):
    if version not in range(17):
        raise Bech32Error('the witness version must be between 0 and 16')
    if not 2 <= len(program) <= 40:
        raise Bech32Error('a program has 2 to 40 bytes')
    if version == 0 and len(program) not in (20, 32):
        raise Bech32Error('a program of version 0 has 20 or 32 bytes')


def encode_address(hrp, version, program):
    """Return the address of a witness program."""
    _check_program(version, program)
    return encode(hrp, [version, *_to_five(program)], 'bech32m' if version else 'bech32')


def decode_address(hrp, address):
    """Return the witness version and program of an address."""
    network, values, spec = decode(address)
    if network != hrp:
        raise Bech32Error(f'the address is for {network!r}')
    if not values:
        raise Bech32Error('the address has no witness version')
    version, program = values[0], _to_eight(values[1:])
    _check_program(version, program)
    if (spec == 'bech32m') != (version > 0):
        raise Bech32Error(f'version {version} requires the other checksum')
    return version, program
