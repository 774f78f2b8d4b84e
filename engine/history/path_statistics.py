"""Path statistics: folded from the steps of each run, kept up to date, and merged over charts."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Self

from engine.errors import JournalDamaged, StepDamaged, UnknownRun
from engine.journal.projection import EMPTY_DOCUMENT, Fold, RunProjection, snapshot_of
from engine.journal.protocol import Journal
from engine.journal.usage_records import usage_from_dict
from engine.records import RunId, RunInfo, RunQuery, Shape, Snapshot, StatePath, Status, Transition, Usage
from engine.records.path_stats import Dwell, Ends, PathStats
from engine.records.shape import EdgeShape, StateShape, ancestry

RUNS_PER_WRITE = 20
"""Runs saved per transaction; an interruption repeats the work of at most this many."""
STEPS_PER_READ = 2_000
"""Steps read and folded at a time."""

Progress = Callable[[int, int], object]
"""Called with the number of runs read and the total."""


async def refresh_paths(
    journal: Journal, query: RunQuery, progress: Progress | None = None
) -> dict[str, str]:
    """Create or update the statistics of every run that matches. Can be cancelled at any time.

    Returns:
        The runs whose history is damaged, with the reason; their new steps are not counted.

    Raises:
        JournalError: the journal itself cannot be read or written.
    """
    due = await journal.outdated_runs(query)
    unread: dict[str, str] = {}
    for start in range(0, len(due), RUNS_PER_WRITE):
        if progress:
            progress(start, len(due))
        stats: dict[RunId, PathStats] = {}
        for run in due[start : start + RUNS_PER_WRITE]:
            try:
                stats[run] = await _continue_tally(journal, run)
            except UnknownRun:
                continue  # deleted meanwhile
            except JournalDamaged as error:
                unread[run] = str(error)
        await journal.store_path_stats(stats)
    if progress and due:
        progress(len(due), len(due))
    return unread


async def paths_of(journal: Journal, runs: Iterable[RunId]) -> dict[RunId, PathStats]:
    """Return the statistics of these runs, up to date. Those deleted or damaged are left out."""
    paths: dict[RunId, PathStats] = {}
    fresh: dict[RunId, PathStats] = {}
    for run in runs:
        try:
            stats = await journal.path_stats(run)
            if stats is None or stats.rest:
                stats = fresh[run] = await _continue_tally(journal, run)
            paths[run] = stats
        except (UnknownRun, JournalDamaged):
            continue
        if len(fresh) == RUNS_PER_WRITE:
            await journal.store_path_stats(fresh)
            fresh.clear()
    await journal.store_path_stats(fresh)
    return paths


async def _continue_tally(journal: Journal, run: RunId) -> PathStats:
    info = await journal.info(run)
    tally = PathTally(info, await journal.shape(run), await journal.path_stats(run))
    while tally.seq < info.seq:
        steps = await journal.transitions(run, after=tally.seq, until=info.seq, limit=STEPS_PER_READ)
        if not steps:
            raise StepDamaged(run, tally.seq + 1, 'is missing')
        await asyncio.to_thread(tally.apply_all, steps)
    return tally.stats


class PathTally:
    """The path statistics of one run, built step by step."""

    def __init__(self, info: RunInfo, shape: Shape, stats: PathStats | None = None) -> None:
        """Start at the run's first step, or continue from `stats`."""
        self._run: RunId = info.id
        self._own = info.parent_at if info.parent else 0
        """The last step inherited from its parent; inherited steps are counted only there."""
        self._projection = RunProjection(shape)
        self._edges: Counter[Ends] = Counter()
        self._dwells: defaultdict[StatePath, Dwell] = defaultdict(Dwell)
        self._turn: dict[StatePath, None] = {}
        """The states left in the current turn (a step and all steps it raised)."""
        if stats and stats.rest:
            state = {**stats.rest}
            self._turn = dict.fromkeys(state.pop('turn'))
            self._projection = Fold.load(Snapshot(run=info.id, seq=stats.seq, state=state), shape).projection
            self._edges.update(stats.edges)
            self._dwells.update(stats.stays)

    @property
    def seq(self) -> int:
        """The last step counted."""
        return self._projection.seq

    def apply_all(self, steps: Iterable[Transition]) -> Self:
        """Count these steps."""
        for step in steps:
            self._count_step(step)
        return self

    def _count_step(self, step: Transition) -> None:
        projection, inside = self._projection, tuple(self._projection.entered)
        before = projection.ran
        projection.apply(step)
        if step.seq <= self._own:
            return
        passed = projection.ran - before
        if passed:
            for path in inside:
                stay = self._dwells[StatePath(path)]
                self._dwells[StatePath(path)] = replace(stay, seconds=stay.seconds + passed)
        self._edges.update((edge.source, edge.dest) for edge in step.edges)
        for path in step.entered:
            self._dwells[path] = replace(self._dwells[path], visits=self._dwells[path].visits + 1)
        self._count_failures(step)
        self._count_usage(step)

    def _count_failures(self, step: Transition) -> None:
        at, name = step.event.at, step.event.name
        if name == 'failed' and at:
            self._dwells[at] = replace(self._dwells[at], failed=self._dwells[at].failed + 1)
        if name == 'expired' and at:
            self._dwells[at] = replace(self._dwells[at], expired=self._dwells[at].expired + 1)
        self._turn = {**(self._turn if step.raised else {}), **dict.fromkeys(step.left)}
        if self._projection.status is Status.FAILED:
            for path in self._turn:
                self._dwells[path] = replace(self._dwells[path], fell=1)

    def _count_usage(self, step: Transition) -> None:
        if step.raised or 'usage' not in step.event.data:
            return
        used = reduce(add, usage_from_dict(step.event.data).values(), Usage())
        for path in ancestry(step.event.at):
            stay = self._dwells[path]
            known = stay.dollars is not None and used.cost is not None
            self._dwells[path] = replace(
                stay,
                tokens=stay.tokens + used.total,
                dollars=(stay.dollars or 0.0) + used.dollars if known else None,
            )

    @property
    def stats(self) -> PathStats:
        """Everything counted so far."""
        projection = self._projection
        rest = (
            {} if projection.status.ended else dict(snapshot_of(self._run, projection, EMPTY_DOCUMENT).state)
        )
        return PathStats(
            seq=projection.seq,
            edges=dict(self._edges),
            stays=dict(self._dwells),
            rest={**rest, 'turn': list(self._turn)} if rest else {},
        )


def merge_shapes(shapes: Sequence[Shape]) -> Shape:
    """Merge charts: each state and edge appears once; for other differences, the first chart wins.

    Charts of one pattern differ because the number of parallel agents may depend on a run's parameters, and
    because a pattern may change between runs.

    Raises:
        ValueError: no chart was given.
    """
    if not shapes:
        raise ValueError('there is no chart to draw')
    states: dict[StatePath, StateShape] = {}
    edges: dict[EdgeShape, None] = {}
    for shape in shapes:
        for state in shape.states:
            merged = states.setdefault(state.path, state)
            if merged.kind == 'atomic' and state.kind in ('compound', 'parallel'):
                states[state.path] = replace(merged, kind=state.kind, initial=state.initial)
        edges.update(dict.fromkeys(shape.edges))
    return replace(shapes[0], states=tuple(states.values()), edges=tuple(edges))
