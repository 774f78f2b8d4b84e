"""Text from outside, made harmless for a terminal and a log: models may write escape sequences."""

from __future__ import annotations

import re

HARMFUL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
"""Control characters but tab and line feed, signs that turn the direction of writing, half surrogates."""


def plain(text: str) -> str:
    """The text without what a terminal would obey."""
    return HARMFUL.sub('', text.replace('\r\n', '\n'))


def short(text: str, length: int = 80) -> str:
    """The text on one line, cut at `length`."""
    line = ' '.join(plain(text).split())
    return line if len(line) <= length else f'{line[: length - 1].rstrip()}…'
