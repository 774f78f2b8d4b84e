"""Two runs side by side: aligned rows of steps, the first divergence, and statistics of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Literal

from engine.history.comparison.alignment import align
from engine.history.comparison.region_path import RegionPath, edge_name, region_paths
from engine.history.comparison.step_diff import (
    Facet,
    GuardDifference,
    facets_of,
    guard_differences,
)
from engine.records import RunInfo, Shape, Transition, View
from engine.records.payloads import reply_of, results_of

ERROR_EVENTS = ('failed', 'expired', 'abort')


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStats:
    """A run's current state and statistics."""

    info: RunInfo
    shape: Shape
    view: View
    visits: Mapping[str, int] = field(default_factory=dict)
    """Number of entries per state."""
    walked: Mapping[str, int] = field(default_factory=dict)
    """Number of times each edge (`source>dest`) was taken."""
    tools: Mapping[str, int] = field(default_factory=dict)
    """Number of calls per tool."""
    errors: int = 0
    """Failures and timeouts of states, and failed tool calls."""
    retries: int = 0
    people: int = 0
    """Number of actions by people: approvals, pauses, edits and the like."""

    @property
    def answer(self) -> Any:
        """The run's result, if its pattern names a field for it."""
        return self.view.memory.get(self.shape.answer) if self.shape.answer else None

    @property
    def loops(self) -> int:
        """Number of times workflow states were re-entered."""
        tops = {state.path for state in self.shape.states if not state.parent}
        return sum(count - 1 for path, count in self.visits.items() if path in tops)

    @property
    def models(self) -> dict[str, str]:
        """The models that answered, by agent."""
        return {path: ', '.join(spent.models) for path, spent in self.view.spending.items() if spent.models}

    @property
    def prompts(self) -> dict[str, str]:
        """The instructions of each agent."""
        return {path: str(agent.get('instructions', '')) for path, agent in self.view.agents.items()}


PERSON_EVENTS = frozenset(
    {'pause', 'resume', 'step', 'cancel', 'edit', 'approve', 'deny', 'answer', 'extend'}
)


def count_run(info: RunInfo, shape: Shape, view: View, steps: Iterable[Transition]) -> RunStats:
    """Compute the statistics of a run."""
    visits: Counter[str] = Counter()
    walked: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    errors = retries = people = 0
    for step in steps:
        visits.update(step.entered)
        walked.update(edge_name(edge.source, edge.dest) for edge in step.edges)
        if step.raised:
            continue
        results = results_of(step.event)
        tools.update(result['name'] for result in results)
        errors += sum(not result['ok'] for result in results) + (step.event.name in ERROR_EVENTS)
        retries += step.event.name == 'retry'
        # Pauses that name breakpoints are made by the engine.
        people += step.event.name in PERSON_EVENTS and 'breakpoints' not in step.event.data
    return RunStats(
        info=info,
        shape=shape,
        view=view,
        visits=visits,
        walked=walked,
        tools=tools,
        errors=errors,
        retries=retries,
        people=people,
    )


MAX_STEPS = 20_000
"""Maximum number of steps aligned per run: more would take too much time and memory."""

Kind = Literal['same', 'apart', 'only-a', 'only-b']
Cause = Literal['guard', 'edge', 'event', 'end']


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A step of each run, side by side; 'apart' if both exist but do not match."""

    kind: Kind
    a: int | None
    b: int | None
    """The step numbers."""
    region: str = ''
    event: str = ''
    edges: tuple[str, ...] = ()
    """The edges taken by `a`'s step, or by `b`'s where `a` has none."""
    other: tuple[str, ...] = ()
    """For rows that are 'apart': the event and the edges of `b`."""
    facets: tuple[Facet, ...] = ()
    """For matching rows: the aspects in which they still differ."""
    pending: bool = False
    """Whether the other run is unfinished and may still take the same step."""
    said: bool = False
    """Whether either step contains an agent's reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where two runs first diverge."""

    row: int
    """The index of the row in the comparison."""
    region: str
    cause: Cause
    """A guard gave a different answer, another edge was taken, another event occurred, or one run ended."""
    a: Transition | None
    b: Transition | None
    """The next step of each run at that point; None if there is none."""
    guards: tuple[GuardDifference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two runs."""

    a: RunStats
    b: RunStats
    rows: tuple[Row, ...]
    divergence: Divergence | None
    """None if the runs have not diverged so far."""
    shared: int = 0
    """Number of steps they share because one was forked from the other, or both from a third run."""
    beyond: tuple[int, int] = (0, 0)
    """Number of trailing steps of each run beyond `MAX_STEPS`, which were not aligned."""

    @property
    def same_path(self) -> bool:
        """Whether both took the same path from beginning to end."""
        over = self.a.view.status.ended and self.b.view.status.ended
        if self.divergence is not None or any(self.beyond):
            return False
        return over or self.a.info.id == self.b.info.id

    @property
    def edges(self) -> dict[str, tuple[int, int]]:
        """Times each run took each edge that either took."""
        return _pair_counts(self.a.walked, self.b.walked)

    @property
    def states(self) -> dict[str, tuple[int, int]]:
        """Times each run entered each state that either entered."""
        return _pair_counts(self.a.visits, self.b.visits)

    @property
    def tools(self) -> dict[str, tuple[int, int]]:
        """Times each run called each tool that either called."""
        return _pair_counts(self.a.tools, self.b.tools)


def compare(
    a: RunStats, b: RunStats, steps_a: Sequence[Transition], steps_b: Sequence[Transition]
) -> Comparison:
    """Align two runs by the states they visited.

    Parallel regions are aligned separately, so that different interleaving does not count as a difference.
    """
    step_lists = [list(steps)[:MAX_STEPS] for steps in (steps_a, steps_b)]
    beyond = (max(0, len(steps_a) - MAX_STEPS), max(0, len(steps_b) - MAX_STEPS))
    first, second = (
        region_paths(side.shape, steps, ended=side.view.status.ended and not cut)
        for side, steps, cut in zip((a, b), step_lists, beyond, strict=True)
    )
    placed_rows = list(_rows(first, second))
    place = next(
        (n for n, row in enumerate(placed_rows) if row.row.kind != 'same' and not row.row.pending), None
    )
    return Comparison(
        a=a,
        b=b,
        rows=tuple(placed.row for placed in placed_rows),
        divergence=None if place is None else _divergence(place, placed_rows[place]),
        shared=shared_steps(a, b),
        beyond=beyond,
    )


def shared_steps(a: RunStats, b: RunStats) -> int:
    """Return the number of steps two runs share by descent; 0 if they are not known to be related."""
    first, second = a.info, b.info
    if first.parent == second.id:
        return first.parent_at
    if second.parent == first.id:
        return second.parent_at
    return min(first.parent_at, second.parent_at) if first.parent and first.parent == second.parent else 0


@dataclass(frozen=True, slots=True)
class _PlacedRow:
    """A row, and each run's next step at that point, which may belong to a later row."""

    row: Row
    a: Transition | None
    b: Transition | None


def _rows(a: RegionPath, b: RegionPath) -> Iterator[_PlacedRow]:
    """Yield the rows of a path; those of regions follow the step that entered them."""
    gap_a: list[int] = []
    gap_b: list[int] = []
    for x, y in [*align(a.tokens, b.tokens), (len(a.steps), len(b.steps))]:
        if x is not None and y is not None:
            yield from _gap_rows(a, b, gap_a, gap_b, (x, y))
            gap_a, gap_b = [], []
            if x < len(a.steps):
                yield from _step_rows(a, b, (x, y), (x, y))
        elif x is not None:
            gap_a.append(x)
        elif y is not None:
            gap_b.append(y)


def _gap_rows(
    a: RegionPath, b: RegionPath, gap_a: Sequence[int], gap_b: Sequence[int], end: tuple[int, int]
) -> Iterator[_PlacedRow]:
    for n in range(max(len(gap_a), len(gap_b))):
        x = gap_a[n] if n < len(gap_a) else None
        y = gap_b[n] if n < len(gap_b) else None
        nexts = (end[0] if x is None else x, end[1] if y is None else y)
        yield from _step_rows(a, b, (x, y), nexts, both_differ=bool(gap_a and gap_b))


def _step_rows(
    a: RegionPath,
    b: RegionPath,
    place: tuple[int | None, int | None],
    nexts: tuple[int, int],
    *,
    both_differ: bool = False,
) -> Iterator[_PlacedRow]:
    x, y = place
    left = None if x is None else a.steps[x]
    right = None if y is None else b.steps[y]
    step_shown = left or right
    assert step_shown is not None
    same = x is not None and y is not None and a.tokens[x] == b.tokens[y]
    kind: Kind = 'same' if same else 'apart' if left and right else 'only-a' if left else 'only-b'
    row = Row(
        kind=kind,
        a=left.seq if left else None,
        b=right.seq if right else None,
        region=a.region or b.region,
        event=step_shown.event.name,
        edges=tuple(edge_name(edge.source, edge.dest) for edge in step_shown.edges),
        other=b.tokens[y] if kind == 'apart' and y is not None else (),
        facets=facets_of(left, right) if same and left and right else (),
        pending=not both_differ
        and not same
        and (b if left else a).may_continue
        and _at_end(a, b, kind, nexts),
        said=any(step is not None and reply_of(step.event) is not None for step in (left, right)),
    )
    upcoming = [
        track.steps[at] if at < len(track.steps) else None for track, at in zip((a, b), nexts, strict=True)
    ]
    yield _PlacedRow(row, upcoming[0], upcoming[1])
    inside_a = a.inside.get(x, {}) if x is not None else {}
    inside_b = b.inside.get(y, {}) if y is not None else {}
    since = (left.seq if left else 0, right.seq if right else 0)
    missing = RegionPath('', may_continue=row.pending)
    yield from _merge_rows(
        [
            list(_rows(inside_a.get(region, missing), inside_b.get(region, missing)))
            for region in dict.fromkeys([*inside_a, *inside_b])
        ],
        since,
    )


def _at_end(a: RegionPath, b: RegionPath, kind: Kind, nexts: tuple[int, int]) -> bool:
    """Return whether the run without a step in this row has no later step either."""
    return nexts[1] == len(b.steps) if kind == 'only-a' else kind == 'only-b' and nexts[0] == len(a.steps)


def _merge_rows(regions: Sequence[Sequence[_PlacedRow]], since: tuple[int, int]) -> Iterator[_PlacedRow]:
    """Merge the rows of several regions, roughly in the order in which either run took them."""
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


def _divergence(place: int, placed: _PlacedRow) -> Divergence:
    guards = guard_differences(placed.a, placed.b)
    cause: Cause = 'end'
    if placed.a and placed.b:
        alike = (placed.a.event.name, placed.a.event.at) == (placed.b.event.name, placed.b.event.at)
        cause = 'event' if not alike else 'guard' if guards else 'edge'
    return Divergence(row=place, region=placed.row.region, cause=cause, a=placed.a, b=placed.b, guards=guards)


def _pair_counts(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    return {name: (a.get(name, 0), b.get(name, 0)) for name in dict.fromkeys([*a, *b])}
