"""Text encodings: which one a file is in, and whether it is text at all."""

from __future__ import annotations

import codecs
import unicodedata

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, 'utf-8-sig'),
    (codecs.BOM_UTF32_LE, 'utf-32'),
    (codecs.BOM_UTF32_BE, 'utf-32'),
    (codecs.BOM_UTF16_LE, 'utf-16'),
    (codecs.BOM_UTF16_BE, 'utf-16'),
)
ENCODINGS = [
    'cp1252', 'cp1250', 'cp1251', 'koi8_r', 'cp1253', 'cp1254',
    'shift_jis', 'euc_jp', 'gb18030', 'big5', 'euc_kr',
]  # fmt: skip
"""Common encodings other than Unicode, the most common first."""
MAX_BINARY_SHARE = 0.01
"""Maximum share of non-text characters in a file that counts as text."""


def find_encoding(data: bytes) -> str:
    """Return the encoding of a text, or of its beginning. Raises `ValueError` if it is not text."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    is_stray = data[:4_000].count(0) <= max(1, len(data[:4_000]) // 20)
    if b'\0' in data[:4_000] and not (is_stray and is_utf8(data)):  # Cyrillic in UTF-16 can be valid UTF-8.
        return 'utf-16-le' if data[1::2].count(0) > data[::2].count(0) else 'utf-16-be'
    if is_utf8(data):
        return 'utf-8'
    text = data.decode('utf-8', 'replace')
    if sum(ord(character) > 127 for character in text) > 10 * text.count('\ufffd'):
        return 'utf-8'  # with some damage
    import charset_normalizer  # Imported here because it is slow, and every program loads all tools.

    matches = charset_normalizer.from_bytes(data, cp_isolation=ENCODINGS)
    if not matches:
        raise ValueError('it is not text')
    best = min(matches, key=lambda match: (match.chaos, -match.coherence, ENCODINGS.index(match.encoding)))
    return best.encoding


def is_utf8(data: bytes) -> bool:
    """Whether it is UTF-8 or its beginning, which may end inside a character."""
    try:
        codecs.getincrementaldecoder('utf-8')().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def require_text(text: str) -> str:
    """Return the text unchanged. Raises `ValueError` for too many control or invalid characters."""
    odd = sum(
        unicodedata.category(character) in ('Cc', 'Cn', 'Co') or character == '\ufffd'
        for character in text
        if character not in '\t\n\r\f\v\x85'
    )
    if odd > MAX_BINARY_SHARE * len(text):
        raise ValueError('it is not text')
    return text
