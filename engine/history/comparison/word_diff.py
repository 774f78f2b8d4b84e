"""Word differences between two texts."""

from __future__ import annotations

import asyncio
import re

from engine.history.comparison.alignment import align

MAX_WORDS = 6_000
"""Maximum words of a text to compare; longer texts are shown unmarked."""
Piece = tuple[bool, str]
"""Whether the other text has it too, and the words."""


def tokenize(text: str) -> list[str]:
    """Split a text into words, punctuation and the spaces between them."""
    return re.findall(r'\s+|\w+|[^\w\s]', text)


def diff_words(a: str, b: str) -> tuple[list[Piece], list[Piece]] | None:
    """Split both texts into shared and own pieces; None if they are too long to compare."""
    tokens_a, tokens_b = tokenize(a), tokenize(b)
    if max(len(tokens_a), len(tokens_b)) > MAX_WORDS:
        return None
    pieces: tuple[list[Piece], list[Piece]] = ([], [])
    for x, y in align(tokens_a, tokens_b):
        shared = x is not None and y is not None
        for side, texts, place in ((pieces[0], tokens_a, x), (pieces[1], tokens_b, y)):
            if place is not None:
                _add(side, shared, texts[place])
    return _smooth(pieces[0]), _smooth(pieces[1])


async def diff_words_async(a: str, b: str) -> tuple[list[Piece], list[Piece]] | None:
    """Do the same, off the event loop if the texts are long."""
    if len(a) + len(b) < 4_000:
        return diff_words(a, b)
    return await asyncio.to_thread(diff_words, a, b)


def _add(side: list[Piece], shared: bool, text: str) -> None:
    if side and side[-1][0] == shared:
        side[-1] = (shared, side[-1][1] + text)
    else:
        side.append((shared, text))


def _smooth(side: list[Piece]) -> list[Piece]:
    """Remove isolated blanks or punctuation between words that differ."""
    pieces: list[Piece] = []
    for place, (shared, text) in enumerate(side):
        island = shared and not re.search(r'\w', text) and 0 < place < len(side) - 1
        _add(pieces, shared and not island, text)
    return pieces
