"""Queries without a database: filters and sorts runs, and turns path statistics into traffic."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.records import RunInfo, RunOrder, RunQuery
from engine.records.path_stats import Dwell, EdgeTraffic, Ends, PathStats, StateTraffic, Traffic
from engine.records.shape import Shape, StatePath


def matches(info: RunInfo, query: RunQuery, notes: Sequence[str]) -> bool:
    """Whether a run matches, by its summary and the notes on its steps."""
    texts = (info.title, info.note, info.pattern, *info.tags, *map(str, info.parameters.values()), *notes)
    words = _words(' '.join(texts))
    return (
        query.place == place_of(info)
        and (not query.pattern or info.pattern == query.pattern)
        and (not query.version or info.version == query.version)
        and (not query.status or info.status in query.status)
        and (not query.tag or query.tag in info.tags)
        and not (query.without_tag and any(tag.startswith(query.without_tag) for tag in info.tags))
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
    return sorted(newest, key=SORT_KEYS[query.sort], reverse=not query.ascending)


SORT_KEYS: Mapping[RunOrder, Callable[[RunInfo], Any]] = {
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
    return re.findall(r'[^\W_]+', unicodedata.normalize('NFC', text.lower()))


def aggregate(
    runs: Iterable[tuple[RunInfo, Shape, PathStats | None]], inherited: Sequence[int] = ()
) -> Traffic:
    """Return the traffic of runs.

    Args:
        runs: newest first, each with chart and, if stored, path statistics.
        inherited: for each fork among them, the steps it inherited.
    """
    statuses: Counter[str] = Counter()
    versions: Counter[str] = Counter()
    shapes: Counter[Shape] = Counter()
    edges: defaultdict[Ends, list[int]] = defaultdict(list)
    stays: defaultdict[StatePath, list[Dwell]] = defaultdict(list)
    for info, shape, stats in runs:
        statuses[info.status] += 1
        versions[info.version] += 1
        shapes[shape] += 1
        for ends, times in stats.edges.items() if stats else ():
            edges[ends].append(times)
        for path, stay in stats.stays.items() if stats else ():
            stays[path].append(stay)
    return Traffic(
        runs=statuses.total(),
        statuses=dict(statuses),
        versions=dict(versions.most_common()),
        forks=len(inherited),
        inherited=sum(inherited),
        shapes=tuple(shapes.most_common()),
        edges=tuple(
            EdgeTraffic(source=ends[0], dest=ends[1], times=sum(times), runs=len(times))
            for ends, times in sorted(edges.items())
        ),
        states=tuple(_aggregate_state(path, some) for path, some in sorted(stays.items())),
    )


def _aggregate_state(path: StatePath, stays: Sequence[Dwell]) -> StateTraffic:
    times = sorted(stay.seconds for stay in stays)
    return StateTraffic(
        path=path,
        runs=len(stays),
        visits=sum(stay.visits for stay in stays),
        repeated=sum(stay.visits > 1 for stay in stays),
        most=max(stay.visits for stay in stays),
        seconds=sum(times),
        median=times[-(-len(times) // 2) - 1],
        p90=times[-(-len(times) * 9 // 10) - 1],
        failed=sum(stay.failed for stay in stays),
        expired=sum(stay.expired for stay in stays),
        fell=sum(stay.fell for stay in stays),
        troubled=sum(has_trouble(stay) for stay in stays),
    )


def has_trouble(stay: Dwell) -> bool:
    """Return whether something failed in the state."""
    return bool(stay.failed or stay.expired or stay.fell)


def matches_path(stats: PathStats | None, edges: Sequence[str], state: str, *, trouble: bool) -> bool:
    """Return whether a run took any of `edges` (`source>dest`), entered `state`, and had trouble there."""
    if not (edges or state):
        return True
    if stats is None:
        return False
    named = [edge.partition('>')[::2] for edge in edges]
    took = not named or any((StatePath(source), dest) in stats.edges for source, dest in named)
    stay = stats.stays.get(StatePath(state))
    return took and (not state or (stay is not None and (not trouble or has_trouble(stay))))
