"""The Journal protocol, and the journal that lives in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.errors import JournalConflict, StaleOwner, UnknownRun
from engine.matching import matches
from engine.records import (
    RULES,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    Traffic,
    Trail,
    Transition,
)
from engine.traffic.gather import gathered, passes
from engine.weight import sorted_out, weight_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """A run with all of its history, from elsewhere."""

    info: RunInfo
    """Its `bytes` are counted by the journal."""
    shape: Shape
    history: Iterable[Transition | Snapshot]
    """Steps from the first to the last, and snapshots among them; gone through once, in a thread."""


class Journal(Protocol):
    """Where runs and their transitions are kept. Every method may raise `JournalError`."""

    async def create(self, info: RunInfo, shape: Shape) -> None:
        """Keep a new run. `info.id` must be new."""

    async def fork(self, info: RunInfo, shape: Shape) -> None:
        """Keep a new run whose history begins as a copy of `info.parent` up to step `info.parent_at`."""

    async def put(self, runs: Sequence[WholeRun]) -> None:
        """Keep whole runs, all of them or none: nobody sees one before all are kept.

        Raises:
            JournalConflict: an id is taken, or a step is missing or there twice; nothing was written.
        """

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        """Make `owner` the run's only writer: sets the owner and raises the epoch.

        Raises:
            UnknownRun: there is no such run.
        """

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """Keep transitions, the run's new summary and perhaps a snapshot, all or nothing.

        Of `info`, what moves is kept (status, updated, seq, usage, budget, error, waiting); bytes the journal
        counts itself; all else stays as it is stored. The transitions' values must not change until this
        returns.

        Returns:
            The bytes that the transitions and the snapshot take.

        Raises:
            StaleOwner: `info.epoch` is not the stored one; nothing was written.
            JournalConflict: a transition's (run, seq) exists; nothing was written.
            JournalUnavailable: nothing was written, and trying again may help.
        """

    async def info(self, run: RunId) -> RunInfo:
        """The run's summary. Raises `UnknownRun`."""

    async def shape(self, run: RunId) -> Shape:
        """The run's chart. Raises `UnknownRun`."""

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """The steps `after` < seq <= `until`, in order, at most `limit`."""

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """The latest snapshot at or before step `at`."""

    async def runs(self, query: RunQuery) -> RunPage:
        """Summaries of the runs that match, newest first, without reading histories.

        A text matches when each of its words begins a word of the title, note, tags, pattern or parameters;
        an edge and a state, when the trail that is kept has them.
        """

    async def unfinished(self) -> list[RunInfo]:
        """Every run that has not ended, oldest first."""

    async def annotate(
        self,
        run: RunId,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        note: str | None = None,
    ) -> RunInfo:
        """Change what a person says of a run; None leaves a field as it is."""

    async def delete(self, run: RunId) -> None:
        """Forget a run and its history. Raises `UnknownRun`."""

    async def due(self, query: RunQuery) -> list[RunId]:
        """All that match, newest first, and have gone on since their trail was kept, or have none.

        Of the query, its page and what trails are asked for do not count.
        """

    async def trail(self, run: RunId) -> Trail | None:
        """What is kept of what the run went through."""

    async def keep_trails(self, given: Mapping[RunId, Trail]) -> None:
        """Keep these, but for those of runs that are gone and those that a longer one is kept of."""

    async def traffic(self, query: RunQuery) -> Traffic:
        """What all runs that match went through together, by their trails; the page does not count."""

    async def close(self) -> None:
        """Write what is still queued, and let go."""


KEPT = ('title', 'tags', 'note', 'owner')
"""Fields of a summary that `append` leaves as they are stored."""


class MemoryJournal:
    """Everything in dictionaries: for tests, and for runs nobody needs to keep."""

    def __init__(self) -> None:
        self._infos: dict[RunId, RunInfo] = {}
        self._shapes: dict[RunId, Shape] = {}
        self._transitions: dict[RunId, list[Transition]] = {}
        self._snapshots: dict[RunId, list[Snapshot]] = {}
        self._trails: dict[RunId, Trail] = {}

    async def create(self, info: RunInfo, shape: Shape) -> None:
        """Keep a new run."""
        if info.id in self._infos:
            raise JournalConflict(info.id, 0)
        self._infos[info.id], self._shapes[info.id] = info, shape
        self._transitions[info.id], self._snapshots[info.id] = [], []

    async def fork(self, info: RunInfo, shape: Shape) -> None:
        """Keep a new run that begins as a copy of its parent."""
        parent = self._known(info.parent or RunId(''))
        history = [replace(item, run=info.id) for item in self._transitions[parent][: info.parent_at]]
        snapshots = [
            replace(item, run=info.id) for item in self._snapshots[parent] if item.seq <= info.parent_at
        ]
        weight = weight_of(history, snapshots)
        await self.create(replace(info, seq=len(history), bytes=weight), shape)
        self._transitions[info.id], self._snapshots[info.id] = history, snapshots

    async def put(self, runs: Sequence[WholeRun]) -> None:
        """Keep whole runs, all of them or none."""
        found = [(run, *await asyncio.to_thread(sorted_out, run.info.id, run.history)) for run in runs]
        ids = [run.info.id for run in runs]
        if taken := [run for n, run in enumerate(ids) if run in self._infos or run in ids[:n]]:
            raise JournalConflict(taken[0], 0)
        for run, steps, snapshots in found:
            weight = weight_of(steps, snapshots)
            await self.create(replace(run.info, seq=len(steps), bytes=weight), run.shape)
            self._transitions[run.info.id], self._snapshots[run.info.id] = steps, snapshots

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        """Make `owner` the only writer."""
        info = self._infos[self._known(run)]
        self._infos[run] = replace(info, owner=owner, epoch=info.epoch + 1)
        return self._infos[run]

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """Keep transitions and the run's new summary."""
        stored = self._infos[self._known(info.id)]
        if stored.epoch != info.epoch:
            raise StaleOwner(info.id, info.epoch)
        history = self._transitions[info.id]
        for offset, transition in enumerate(transitions, start=1):
            if transition.seq != len(history) + offset:
                raise JournalConflict(info.id, transition.seq)
        history.extend(transitions)
        weight = weight_of(transitions, [snapshot] if snapshot else [])
        if snapshot:
            self._snapshots[info.id].append(snapshot)
        kept = {name: getattr(stored, name) for name in KEPT}
        self._infos[info.id] = replace(info, **kept, bytes=stored.bytes + weight)
        return weight

    async def info(self, run: RunId) -> RunInfo:
        """The run's summary."""
        return self._infos[self._known(run)]

    async def shape(self, run: RunId) -> Shape:
        """The run's chart."""
        return self._shapes[self._known(run)]

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """The steps in that range."""
        found = self._transitions[self._known(run)][after:until]
        return found if limit is None else found[:limit]

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """The latest snapshot at or before step `at`."""
        return next((item for item in reversed(self._snapshots[self._known(run)]) if item.seq <= at), None)

    async def runs(self, query: RunQuery) -> RunPage:
        """Summaries of the runs that match, newest first."""
        found = self._found(query)
        return RunPage(runs=tuple(found[query.offset : query.offset + query.limit]), total=len(found))

    async def unfinished(self) -> list[RunInfo]:
        """Every run that has not ended, oldest first."""
        found = [info for info in self._infos.values() if not info.status.ended]
        return sorted(found, key=lambda info: (info.created, info.id))

    async def annotate(
        self,
        run: RunId,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        note: str | None = None,
    ) -> RunInfo:
        """Change what a person says of a run."""
        info = self._infos[self._known(run)]
        self._infos[run] = replace(
            info,
            title=info.title if title is None else title,
            tags=info.tags if tags is None else tuple(tags),
            note=info.note if note is None else note,
        )
        return self._infos[run]

    async def delete(self, run: RunId) -> None:
        """Forget a run."""
        del self._infos[self._known(run)], self._shapes[run], self._transitions[run], self._snapshots[run]
        self._trails.pop(run, None)

    async def due(self, query: RunQuery) -> list[RunId]:
        """Those that have gone on since their trail was kept."""
        asked = replace(query, edge='', state='')
        return [info.id for info in self._found(asked) if self._kept(info.id) < info.seq]

    async def trail(self, run: RunId) -> Trail | None:
        """What is kept of what the run went through."""
        return self._trails[run] if self._kept(self._known(run)) else None

    async def keep_trails(self, given: Mapping[RunId, Trail]) -> None:
        """Keep these."""
        for run, trail in given.items():
            if run in self._infos and self._kept(run) <= trail.seq:
                self._trails[run] = trail

    async def traffic(self, query: RunQuery) -> Traffic:
        """What all runs that match went through together."""
        return gathered(
            (info.status, self._shapes[info.id], self._trails.get(info.id)) for info in self._found(query)
        )

    async def close(self) -> None:
        """Nothing to write."""

    def _found(self, query: RunQuery) -> list[RunInfo]:
        """All that match, newest first."""
        found = [
            info
            for info in self._infos.values()
            if matches(info, query)
            and passes(self._trails.get(info.id), query.edge, query.state, trouble=query.trouble)
        ]
        return sorted(found, key=lambda info: (info.created, info.id), reverse=True)

    def _kept(self, run: RunId) -> int:
        """The step up to which its trail is kept."""
        trail = self._trails.get(run)
        return trail.seq if trail and trail.rules == RULES else 0

    def _known(self, run: RunId) -> RunId:
        if run not in self._infos:
            raise UnknownRun(run)
        return run
