"""Which runs match a query, where no database says it."""

from __future__ import annotations

import re

from engine.records import RunInfo, RunQuery


def matches(info: RunInfo, query: RunQuery) -> bool:
    """Whether it does, as far as its summary says; what it went through is not looked at."""
    texts = (info.title, info.note, info.pattern, *info.tags, *map(str, info.parameters.values()))
    words = _words(' '.join(texts))
    return (
        (not query.pattern or info.pattern == query.pattern)
        and (not query.status or info.status in query.status)
        and (not query.tag or query.tag in info.tags)
        and (query.since is None or info.created >= query.since)
        and (query.until is None or info.created < query.until)
        and all(any(word.startswith(start) for word in words) for start in _words(query.text))
    )


def _words(text: str) -> list[str]:
    return re.findall(r'[^\W_]+', text.lower())
