"""Adds trails up to traffic, where no database does it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from engine.outline import Shape
from engine.path import StatePath
from engine.traffic.records import EdgeTraffic, Ends, StateTraffic, Stay, Traffic, Trail


def gathered(runs: Iterable[tuple[str, Shape, Trail | None]]) -> Traffic:
    """The traffic of runs, newest first: of each its status, its chart and its trail, where it has one."""
    statuses: Counter[str] = Counter()
    shapes: Counter[Shape] = Counter()
    edges: defaultdict[Ends, list[int]] = defaultdict(list)
    stays: defaultdict[StatePath, list[Stay]] = defaultdict(list)
    for status, shape, trail in runs:
        statuses[status] += 1
        shapes[shape] += 1
        for ends, times in trail.edges.items() if trail else ():
            edges[ends].append(times)
        for path, stay in trail.stays.items() if trail else ():
            stays[path].append(stay)
    return Traffic(
        runs=statuses.total(),
        statuses=dict(statuses),
        shapes=tuple(shapes.most_common()),
        edges=tuple(
            EdgeTraffic(source=ends[0], dest=ends[1], times=sum(times), runs=len(times))
            for ends, times in sorted(edges.items())
        ),
        states=tuple(_together(path, some) for path, some in sorted(stays.items())),
    )


def _together(path: StatePath, stays: Sequence[Stay]) -> StateTraffic:
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
        troubled=sum(troubled(stay) for stay in stays),
    )


def troubled(stay: Stay) -> bool:
    """Whether something failed there."""
    return bool(stay.failed or stay.expired or stay.fell)


def passes(trail: Trail | None, edges: Sequence[str], state: str, *, trouble: bool) -> bool:
    """Whether a run took any of `edges` (`source>dest`), was in `state`, and something failed there."""
    if not (edges or state):
        return True
    if trail is None:
        return False
    named = [edge.partition('>')[::2] for edge in edges]
    took = not named or any((StatePath(source), dest) in trail.edges for source, dest in named)
    stay = trail.stays.get(StatePath(state))
    return took and (not state or (stay is not None and (not trouble or troubled(stay))))
