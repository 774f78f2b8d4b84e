"""Fuzzy matching: how well a text answers the words that a person typed."""

from __future__ import annotations

import re

START, INSIDE, SCATTERED = 3.0, 2.0, 1.0
"""What a word scores at the start of another, inside one, and as letters of one in their order."""


def match(query: str, text: str) -> float:
    """Return how well `text` answers `query`, from 0 (not at all) to `START`; each word has to be in it."""
    words, folded = query.casefold().split(), text.casefold()
    scores = [_score(word, folded) for word in words]
    return sum(scores) / len(scores) if scores and all(scores) else 0.0


def _score(word: str, text: str) -> float:
    if re.search(rf'\b{re.escape(word)}', text):
        return START
    if word in text:
        return INSIDE
    gaps = r'\w*?'.join(map(re.escape, word))
    scattered = re.search(rf'\b{gaps}', text) if len(word) > 1 else None
    return SCATTERED * len(word) / len(scattered[0]) if scattered else 0.0
