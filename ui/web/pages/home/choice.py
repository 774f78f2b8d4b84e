"""The pattern that suits a task, chosen by its words: the same for everyone, and no model is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from engine import Pattern

WORD = re.compile(r'[^\W_]+')
ENDINGS = re.compile(r'(?<=\w{3})(?:ings?|e[ds]?|s)$')
MAX_REASONS = 3
"""The most words given as reasons."""
MAX_OTHERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A pattern for a task, and the words of the task that speak for it."""

    pattern: str
    words: tuple[str, ...] = ()
    """As the task has them, the most telling first; none if no word speaks for any pattern."""
    others: tuple[str, ...] = ()
    """Other patterns that a word speaks for, the most suitable first."""


def choose(task: str, patterns: Mapping[str, type[Pattern]], default: str) -> Choice:
    """Choose by the words a pattern says it suits and those of its title; `default` if none is in the task.

    A word that fewer patterns claim counts for more; of equal patterns, the first one is taken.
    """
    words: dict[str, str] = {}
    for word in _words(task):
        words.setdefault(_stem(word), word)
    claims = {
        name: set(map(_stem, [*pattern.suits, *_words(pattern.title)])) for name, pattern in patterns.items()
    }
    claimed = Counter(stem for stems in claims.values() for stem in stems)
    reasons = {
        name: sorted(stems & words.keys(), key=lambda stem: (claimed[stem], list(words).index(stem)))
        for name, stems in claims.items()
    }
    scores = {name: sum(1 / claimed[stem] for stem in stems) for name, stems in reasons.items() if stems}
    ranked = sorted(scores, key=lambda name: -scores[name])
    if not ranked:
        return Choice(pattern=default)
    best, *others = ranked
    telling = tuple(words[stem] for stem in reasons[best][:MAX_REASONS])
    return Choice(pattern=best, words=telling, others=tuple(others[:MAX_OTHERS]))


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _stem(word: str) -> str:
    """Return a word without its English ending, so that `failing` and `fails` are the same."""
    return ENDINGS.sub('', word)
