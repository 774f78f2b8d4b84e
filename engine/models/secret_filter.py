"""Removes known secrets from text, in any encoding in which a server may echo them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from itertools import takewhile
from typing import Any
from urllib.parse import quote, quote_plus

from engine.records.jsonable import map_texts

HIDDEN = '[hidden]'
MIN_LENGTH = 6
"""Minimum length of a secret in characters; shorter ones occur by chance."""
FRAGMENT_LENGTH = 8
"""Characters of a key's beginning or end that identify it in truncated text."""
CODED_PART = 16
"""The same for the beginning of a key in hex, escapes or base64; base64 cannot be decoded without it."""
CODED_REST = r'[\w+/=\\&#;%-]*'
AROUND_MASK = r'[\w-]{0,24}'
"""The part of a key that is visible next to the mask."""
ENDS = 4
"""Characters left visible at each end of a masked key: `sk-a****6789`."""


class SecretFilter:
    """Removes secrets from text: plain, URL-encoded or in base64, alone or inside longer text.

    Args:
        keys: secrets also recognized by their beginning or end, since text may be truncated.
        values: secrets recognized only as a whole, such as header values.
    """

    def __init__(self, keys: Iterable[str] = (), values: Iterable[str] = ()) -> None:
        values = list(values)
        passwords = [password for value in values if (password := _password(value))]
        plain = [key for key in dict.fromkeys((*keys, *passwords)) if len(key) >= MIN_LENGTH]
        forms = {form for secret in (*plain, *values) if len(secret) >= MIN_LENGTH for form in _forms(secret)}
        forms |= {form.replace('\\', r'\\') for form in forms}  # As in JSON inside JSON.
        self._forms = sorted(forms, key=len, reverse=True)
        self._keys = [_Key(key) for key in plain]
        coded = dict.fromkeys(form[:CODED_PART] for key in plain for form in _encode(key))
        self._coded = [start for start in coded if len(start) == CODED_PART]

    def __bool__(self) -> bool:
        return bool(self._forms)

    def redact_text(self, text: str) -> str:
        """Replace every form of every secret in a text by `HIDDEN`."""
        if len(text) < MIN_LENGTH:
            return text
        for form in self._forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        for key in self._keys:
            text = key.without_parts(text)
        for start in self._coded if len(text) >= CODED_PART else ():
            if start in text:
                text = re.sub(re.escape(start) + CODED_REST, HIDDEN, text)
        return text

    def redact_value(self, value: Any) -> Any:
        """Return a JSON value without secrets, in names as well."""
        return map_texts(value, self.redact_text)


@lru_cache(maxsize=64)
def secret_filter(keys: tuple[str, ...], values: tuple[str, ...]) -> SecretFilter:
    """Return the filter for these secrets, cached."""
    return SecretFilter(keys, values)


class _Key:
    def __init__(self, text: str) -> None:
        self.text = text
        start, end = re.escape(text[:ENDS]), re.escape(text[-ENDS:])
        # Matches only from the start of a mask, with bounded text around it: otherwise matching a crafted
        # long text could take forever.
        mask = r'(?:(?<![*•●…])[*•●…]{2,}|(?<![xX])[xX]{4,}|[\[(<]?(?<!\.)\.{3,}[\])>]?)'
        self._masked = re.compile(rf'(?:{start}{AROUND_MASK})?{mask}{AROUND_MASK}{end}')

    def without_parts(self, text: str) -> str:
        """Return the text without the key's beginning, end or masked form."""
        if self.text[:FRAGMENT_LENGTH] in text:
            text = _without_starts(text, self.text)
        if self.text[-FRAGMENT_LENGTH:] in text:
            text = _without_starts(text[::-1], self.text[::-1], HIDDEN[::-1])[::-1]
        return self._masked.sub(HIDDEN, text) if self.text[-ENDS:] in text else text


def _without_starts(text: str, key: str, hidden: str = HIDDEN) -> str:
    head, *rest = text.split(key[:FRAGMENT_LENGTH])
    for part in rest:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(part, key[FRAGMENT_LENGTH:], strict=False))
        head += f'{hidden}{part[len(list(same)) :]}'
    return head


def _forms(secret: str) -> Iterator[str]:
    in_urls = (quote(secret, safe=''), quote(secret), quote_plus(secret))
    yield from (secret, *in_urls, *(PERCENT.sub(lambda match: match[0].lower(), form) for form in in_urls))
    # As JSON and web pages escape characters.
    yield from (secret.replace('/', r'\/'), escape(secret))
    yield from (_escape(secret, form) for form in (r'\u{:04x}', r'\u{:04X}', '&#{};'))
    if len(secret) < FRAGMENT_LENGTH:
        return
    yield from _encode(secret)


def _encode(secret: str) -> Iterator[str]:
    """Yield a secret in hex, in character escapes and in base64."""
    figures = secret.encode().hex()
    yield from (figures, figures.upper())
    for form in (r'\u{:04x}', r'\u{:04X}', '&#{};', '&#x{:x};', '%{:02x}', '%{:02X}'):
        yield ''.join(form.format(ord(char)) for char in secret)
    for offset in range(3):  # The secret may be encoded inside something longer, such as `user:secret`.
        coded = base64.b64encode(b'\0' * offset + secret.encode()).decode().rstrip('=')
        # Drop first and last characters that depend on the neighbouring bytes.
        coded = coded[-(-offset * 8 // 6) : len(coded) - bool((offset + len(secret.encode())) % 3)]
        yield from (coded, coded.translate(URL_SAFE))


def _password(header: str) -> str:
    """Return the password in the value of a `Basic` header, or ''."""
    match = BASIC.fullmatch(header)
    try:
        return base64.b64decode(match[1], validate=True).decode().partition(':')[2] if match else ''
    except ValueError:
        return ''


def _escape(secret: str, form: str) -> str:
    return ESCAPED.sub(lambda match: form.format(ord(match[0])), secret)


BASIC = re.compile(r'basic\s+(\S+)', re.IGNORECASE)
URL_SAFE = str.maketrans('+/', '-_')
PERCENT = re.compile('%[0-9A-F]{2}')
ESCAPED = re.compile(r'[^\w\s./:=-]')
