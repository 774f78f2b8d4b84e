"""Two runs beside each other: rows of steps that answer each other, and where they first part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from engine.comparing.alignment import aligned
from engine.comparing.facets import Facet, GuardDifference, facets_of, guard_differences
from engine.comparing.tally import Tally
from engine.comparing.tracks import Track, edge_name, tracks
from engine.records import Transition

MOST = 20_000
"""Steps of each run that are aligned: past that it would take more time and memory than anybody waits for."""

Kind = Literal['same', 'apart', 'only-a', 'only-b']
Cause = Literal['guard', 'edge', 'event', 'end']


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A step of each run, side by side; 'apart' where they do not answer each other, and are both there."""

    kind: Kind
    a: int | None
    b: int | None
    """The steps' numbers."""
    region: str = ''
    event: str = ''
    edges: tuple[str, ...] = ()
    """What the step of `a` took, or where it has none that of `b`."""
    other: tuple[str, ...] = ()
    """Where they are apart: the event and the edges of `b`."""
    facets: tuple[Facet, ...] = ()
    """Where they are the same: in what they differ for all that."""
    pending: bool = False
    """Whether the other run may yet do the same: it goes on."""
    said: bool = False
    """Whether an agent replies in either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where two runs part for the first time."""

    row: int
    """The place of the row in the comparison."""
    region: str
    cause: Cause
    """Why: a guard answered otherwise, another edge was taken, another event came, or one was over."""
    a: Transition | None
    b: Transition | None
    """The next step of each in that place; None where there is none any more."""
    guards: tuple[GuardDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All that is to be said of two runs beside each other."""

    a: Tally
    b: Tally
    rows: tuple[Row, ...]
    divergence: Divergence | None
    """None where they went the same way, as far as both have got."""
    shared: int = 0
    """Steps that they have in common since one was forked from the other, or both from a third."""
    beyond: tuple[int, int] = (0, 0)
    """Steps of each at the end that were not aligned: there are too many."""

    @property
    def same_way(self) -> bool:
        """Whether they went the same way from beginning to end; a run goes the way that itself goes."""
        over = self.a.view.status.ended and self.b.view.status.ended
        if self.divergence is not None or any(self.beyond):
            return False
        return over or self.a.info.id == self.b.info.id

    @property
    def edges(self) -> dict[str, tuple[int, int]]:
        """Per edge that either took: how often each did."""
        return _both(self.a.walked, self.b.walked)

    @property
    def states(self) -> dict[str, tuple[int, int]]:
        """Per state that either entered: how often each did."""
        return _both(self.a.visits, self.b.visits)

    @property
    def tools(self) -> dict[str, tuple[int, int]]:
        """Per tool that either called: how often each did."""
        return _both(self.a.tools, self.b.tools)


def compare(a: Tally, b: Tally, steps_a: Sequence[Transition], steps_b: Sequence[Transition]) -> Comparison:
    """Align two runs by the states that they went through.

    Regions that run side by side are aligned each by itself: in which order they took turns is no difference.
    """
    kept = [list(steps)[:MOST] for steps in (steps_a, steps_b)]
    beyond = (max(0, len(steps_a) - MOST), max(0, len(steps_b) - MOST))
    first, second = (
        tracks(side.shape, steps, ended=side.view.status.ended and not cut)
        for side, steps, cut in zip((a, b), kept, beyond, strict=True)
    )
    found = list(_rows(first, second))
    place = next((n for n, row in enumerate(found) if row.row.kind != 'same' and not row.row.pending), None)
    return Comparison(
        a=a,
        b=b,
        rows=tuple(raw.row for raw in found),
        divergence=None if place is None else _divergence(place, found[place]),
        shared=shared_steps(a, b),
        beyond=beyond,
    )


def shared_steps(a: Tally, b: Tally) -> int:
    """How many steps two runs have in common by descent; 0 where they are not related, as far as is known."""
    one, other = a.info, b.info
    if one.parent == other.id:
        return one.parent_at
    if other.parent == one.id:
        return other.parent_at
    return min(one.parent_at, other.parent_at) if one.parent and one.parent == other.parent else 0


@dataclass(frozen=True, slots=True)
class _Raw:
    """A row, and the next step of each run in its place: one of another row, where only one run has it."""

    row: Row
    a: Transition | None
    b: Transition | None


def _rows(a: Track, b: Track) -> Iterator[_Raw]:
    """The rows of a track, those of regions right after the step that entered them."""
    gap_a: list[int] = []
    gap_b: list[int] = []
    for x, y in [*aligned(a.tokens, b.tokens), (len(a.steps), len(b.steps))]:
        if x is not None and y is not None:
            yield from _gap(a, b, gap_a, gap_b, (x, y))
            gap_a, gap_b = [], []
            if x < len(a.steps):
                yield from _row(a, b, x, y, (x, y))
        elif x is not None:
            gap_a.append(x)
        elif y is not None:
            gap_b.append(y)


def _gap(
    a: Track, b: Track, gap_a: Sequence[int], gap_b: Sequence[int], end: tuple[int, int]
) -> Iterator[_Raw]:
    for n in range(max(len(gap_a), len(gap_b))):
        x = gap_a[n] if n < len(gap_a) else None
        y = gap_b[n] if n < len(gap_b) else None
        nexts = (end[0] if x is None else x, end[1] if y is None else y)
        yield from _row(a, b, x, y, nexts, parted=bool(gap_a and gap_b))


def _row(  # noqa: PLR0913  (a place in two tracks)
    a: Track, b: Track, x: int | None, y: int | None, nexts: tuple[int, int], *, parted: bool = False
) -> Iterator[_Raw]:
    one = None if x is None else a.steps[x]
    other = None if y is None else b.steps[y]
    shown = one or other
    assert shown is not None
    same = x is not None and y is not None and a.tokens[x] == b.tokens[y]
    kind: Kind = 'same' if same else 'apart' if one and other else 'only-a' if one else 'only-b'
    row = Row(
        kind=kind,
        a=one.seq if one else None,
        b=other.seq if other else None,
        region=a.region or b.region,
        event=shown.event.name,
        edges=tuple(edge_name(edge.source, edge.dest) for edge in shown.edges),
        other=b.tokens[y] if kind == 'apart' and y is not None else (),
        facets=facets_of(one, other) if same and one and other else (),
        pending=not parted and not same and (b if one else a).going_on and _at_end(a, b, kind, nexts),
        said=any(step is not None and 'message' in step.event.data for step in (one, other)),
    )
    upcoming = [
        track.steps[place] if place < len(track.steps) else None
        for track, place in zip((a, b), nexts, strict=True)
    ]
    yield _Raw(row, upcoming[0], upcoming[1])
    inside_a = a.inside.get(x, {}) if x is not None else {}
    inside_b = b.inside.get(y, {}) if y is not None else {}
    since = (one.seq if one else 0, other.seq if other else 0)
    missing = Track('', going_on=row.pending)
    yield from _merged(
        [
            list(_rows(inside_a.get(region, missing), inside_b.get(region, missing)))
            for region in dict.fromkeys([*inside_a, *inside_b])
        ],
        since,
    )


def _at_end(a: Track, b: Track, kind: Kind, nexts: tuple[int, int]) -> bool:
    """Whether the run that has no step in a row has none after it either."""
    return nexts[1] == len(b.steps) if kind == 'only-a' else kind == 'only-b' and nexts[0] == len(a.steps)


def _merged(regions: Sequence[Sequence[_Raw]], since: tuple[int, int]) -> Iterator[_Raw]:
    """The rows of several regions in one order: about that in which either run took them."""
    heap: list[tuple[int, int, int, int]] = []

    def push(region: int, place: int) -> None:
        if place < len(regions[region]):
            row = regions[region][place].row
            ages = [seq - start for seq, start in zip((row.a, row.b), since, strict=True) if seq is not None]
            heappush(heap, (min(ages), max(ages), region, place))

    for region in range(len(regions)):
        push(region, 0)
    while heap:
        _, _, region, place = heappop(heap)
        yield regions[region][place]
        push(region, place + 1)


def _divergence(place: int, raw: _Raw) -> Divergence:
    guards = guard_differences(raw.a, raw.b)
    cause: Cause = 'end'
    if raw.a and raw.b:
        alike = (raw.a.event.name, raw.a.event.at) == (raw.b.event.name, raw.b.event.at)
        cause = 'event' if not alike else 'guard' if guards else 'edge'
    return Divergence(row=place, region=raw.row.region, cause=cause, a=raw.a, b=raw.b, guards=guards)


def _both(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    return {name: (a.get(name, 0), b.get(name, 0)) for name in dict.fromkeys([*a, *b])}
