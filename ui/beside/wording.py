"""Texts beside each other: which words are in one of them only."""

from __future__ import annotations

import asyncio
import re

from engine import aligned

MOST = 6_000
"""Words of a text that are compared: more is shown as it is."""
Piece = tuple[bool, str]
"""Whether the other text has it, too; and the words."""


def words(text: str) -> list[str]:
    """Words, signs and what stands between them."""
    return re.findall(r'\s+|\w+|[^\w\s]', text)


def pieces(a: str, b: str) -> tuple[list[Piece], list[Piece]] | None:
    """Both texts in pieces that both have, or one alone; None where they are too long to be compared."""
    one, other = words(a), words(b)
    if max(len(one), len(other)) > MOST:
        return None
    found: tuple[list[Piece], list[Piece]] = ([], [])
    for x, y in aligned(one, other):
        shared = x is not None and y is not None
        for side, texts, place in ((found[0], one, x), (found[1], other, y)):
            if place is not None:
                _add(side, shared, texts[place])
    return _smooth(found[0]), _smooth(found[1])


async def pieces_of(a: str, b: str) -> tuple[list[Piece], list[Piece]] | None:
    """The same, off the event loop where the texts are long."""
    if len(a) + len(b) < 4_000:
        return pieces(a, b)
    return await asyncio.to_thread(pieces, a, b)


def _add(side: list[Piece], shared: bool, text: str) -> None:
    if side and side[-1][0] == shared:
        side[-1] = (shared, side[-1][1] + text)
    else:
        side.append((shared, text))


def _smooth(side: list[Piece]) -> list[Piece]:
    """Without islands of a blank or a sign between words that differ."""
    found: list[Piece] = []
    for place, (shared, text) in enumerate(side):
        island = shared and not re.search(r'\w', text) and 0 < place < len(side) - 1
        _add(found, shared and not island, text)
    return found
