"""Run filter: filters and sorts runs by a query, for journals without a database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.records import RunInfo, RunOrder, RunQuery


def matches(info: RunInfo, query: RunQuery, notes: Sequence[str]) -> bool:
    """Whether a run matches, by its summary and the notes on its steps."""
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
        and (query.seen_by is None or not info.private or info.author == query.seen_by)
        and all(any(word.startswith(start) for word in words) for start in _words(query.text))
    )


def rank(info: RunInfo, query: RunQuery) -> tuple[bool, float, float, str]:
    """Return the sort key of a list by age, highest first."""
    deleted = info.deleted if query.place == 'trash' else 0.0
    return query.pins_first and info.pinned, deleted, info.created, info.id


def in_order(runs: Iterable[RunInfo], query: RunQuery) -> list[RunInfo]:
    """Return the runs in the query's order."""
    newest = sorted(runs, key=lambda info: rank(info, query), reverse=not query.ascending)
    if query.sort == 'created':
        return newest
    return sorted(newest, key=ORDERS[query.sort], reverse=not query.ascending)


ORDERS: Mapping[RunOrder, Callable[[RunInfo], Any]] = {
    'created': lambda info: info.created,
    'title': lambda info: info.title.lower(),
    'bytes': lambda info: info.bytes,
    'steps': lambda info: info.seq,
    'tokens': lambda info: info.usage.total,
    'duration': lambda info: info.updated - info.created,
}


def place_of(info: RunInfo) -> str:
    """Return the `place` of a query that a run belongs to."""
    return 'trash' if info.deleted > 0 else 'purging' if info.deleted else 'list'


def _words(text: str) -> list[str]:
    return re.findall(r'[^\W_]+', text.lower())
