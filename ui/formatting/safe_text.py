"""Makes outside text safe for a terminal and a log: models may write escape sequences."""

from __future__ import annotations

import re

from engine.records import clip

HARMFUL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
"""Control characters except tab and line feed, bidirectional controls, lone surrogates."""


def strip_control(text: str) -> str:
    """Return the text without anything that a terminal would interpret."""
    return HARMFUL.sub('', text.replace('\r\n', '\n'))


def one_line(text: str, length: int = 80) -> str:
    """Return the text on one line, cut at `length`."""
    return clip(' '.join(strip_control(text).split()), length)
