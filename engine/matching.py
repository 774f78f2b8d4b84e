"""Which runs match a query, where no database says it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.records import RunInfo, RunQuery


def matches(info: RunInfo, query: RunQuery, notes: Sequence[str]) -> bool:
    """Whether it does, as far as its summary and the notes on its steps say."""
    texts = (info.title, info.note, info.pattern, *info.tags, *map(str, info.parameters.values()), *notes)
    words = _words(' '.join(texts))
    return (
        query.place == place_of(info)
        and (not query.pattern or info.pattern == query.pattern)
        and (not query.status or info.status in query.status)
        and (not query.tag or query.tag in info.tags)
        and (query.since is None or info.created >= query.since)
        and (query.until is None or info.created < query.until)
        and (not query.starred or info.starred)
        and (not query.pinned or info.pinned)
        and all(any(word.startswith(start) for word in words) for start in _words(query.text))
    )


def rank(info: RunInfo, query: RunQuery) -> tuple[bool, float, float, str]:
    """What a list is sorted by, the highest first."""
    deleted = info.deleted if query.place == 'trash' else 0.0
    return query.pins_first and info.pinned, deleted, info.created, info.id


def place_of(info: RunInfo) -> str:
    """Where a run is: the `place` of a query."""
    return 'trash' if info.deleted > 0 else 'purging' if info.deleted else 'list'


def _words(text: str) -> list[str]:
    return re.findall(r'[^\W_]+', text.lower())
