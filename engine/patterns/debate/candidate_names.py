"""Candidate names: what a position calls a candidate, as the name of one in play if it is one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from engine.patterns.debate.records import Position

MAX_NAME = 80
"""Characters that are kept of a name that nobody has."""


def resolve_name(text: str, names: Mapping[str, str]) -> str:
    """Return the own name of the candidate that a text calls.

    A name that no candidate in play has stays as it was given: an approval of it is an approval of nobody
    else.

    Args:
        text: what a model or a person calls it.
        names: the candidates in play, by everything that they may be called.
    """
    by_key = {_key(called): name for called, name in names.items()}
    return by_key.get(_key(text), text.strip()[:MAX_NAME])


def resolve_names(position: Position, names: Mapping[str, str]) -> Position:
    """Return the position with candidates under their own names, without repetitions; see `resolve_name`."""
    ranked = [resolve_name(name, names) for name in position.ranking if name.strip()]
    comments = tuple(
        comment.model_copy(update={'candidate': resolve_name(comment.candidate, names)})
        for comment in position.comments
    )
    best = resolve_name(position.best, names)
    return position.model_copy(
        update={'ranking': tuple(dict.fromkeys(ranked)), 'best': best, 'comments': comments}
    )


def find_name(text: str, names: Collection[str]) -> str:
    """Return what a text first calls a candidate, be it one in play or not; '' if it calls none.

    Names that end in a number stand for their kind: where `coder1` is in play, `coder 7` is a name too.
    """
    if not names:
        return ''
    kinds = {re.sub(r'(?<=\D)\d+$', '', name) for name in names}
    words = '|'.join(
        [rf'{re.escape(kind)}[ _-]?\d+' for kind in sorted(kinds - {*names})]
        + [re.escape(name) for name in sorted(names, key=len, reverse=True)]
    )
    place = re.search(rf'\b(?:{words})\b(?:(?:,? (?:version |v)|@)\d+)?', text, re.IGNORECASE)
    return place.group() if place else ''


def _key(text: str) -> str:
    """Return what names have in common that differ in case, spaces and punctuation other than `@`."""
    return re.sub(r'[^\w@]+|_', '', text).casefold()
