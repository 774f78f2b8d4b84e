"""MemoryJournal: an in-memory journal, for tests and throwaway runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from operator import add
from typing import Any, Unpack

from typing_extensions import override

from engine.errors import JournalConflict, StaleOwner, UnknownNote, UnknownRun
from engine.journal.documents import Entry, MemoryDocuments
from engine.journal.memory_queries import aggregate, in_order, matches, matches_path, rank
from engine.journal.protocol import Journal, WholeRun
from engine.records import (
    RULES,
    Annotation,
    Note,
    PathStats,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    Traffic,
    Transition,
    Usage,
)
from engine.records.document import PartialSnapshot, join_tails, long_lists

PRESERVED_FIELDS = ('title', 'tags', 'note', 'owner', 'starred', 'pinned', 'author', 'private', 'deleted')
"""Summary fields that `append` leaves as stored."""


class MemoryJournal(Journal):
    """Stores everything in dictionaries, for tests and throwaway runs."""

    def __init__(self) -> None:
        self._infos: dict[RunId, RunInfo] = {}
        self._shapes: dict[RunId, Shape] = {}
        self._transitions: dict[RunId, list[Transition]] = {}
        self._snapshots: dict[RunId, list[Snapshot]] = {}
        self._notes: dict[int, Note] = {}
        self._last_note = 0
        self._path_stats: dict[RunId, PathStats] = {}
        self._documents = MemoryDocuments(self._infos.values)

    @property
    @override
    def documents(self) -> MemoryDocuments:
        return self._documents

    @override
    async def create(self, info: RunInfo, shape: Shape) -> None:
        if info.id in self._infos:
            raise JournalConflict(info.id, 0)
        self._infos[info.id], self._shapes[info.id] = info, shape
        self._transitions[info.id], self._snapshots[info.id] = [], []

    @override
    async def fork(self, info: RunInfo, shape: Shape) -> None:
        parent = self._check_run(info.parent or RunId(''))
        history = [replace(item, run=info.id) for item in self._transitions[parent][: info.parent_at]]
        snapshots = [
            replace(item, run=info.id) for item in self._snapshots[parent] if item.seq <= info.parent_at
        ]
        weight = estimate_size(history, snapshots)
        await self.create(replace(info, seq=len(history), bytes=weight), shape)
        self._transitions[info.id], self._snapshots[info.id] = history, snapshots

    @override
    async def import_runs(self, runs: Sequence[WholeRun], documents: Iterable[Entry] = ()) -> None:
        histories = [
            (run, *await asyncio.to_thread(_split_history, run.info.id, run.history)) for run in runs
        ]
        ids = [run.info.id for run in runs]
        if taken := [run for n, run in enumerate(ids) if run in self._infos or run in ids[:n]]:
            raise JournalConflict(taken[0], 0)
        await self.documents.write(await asyncio.to_thread(list, documents))
        for run, steps, snapshots in histories:
            weight = estimate_size(steps, snapshots)
            await self.create(replace(run.info, seq=len(steps), bytes=weight), run.shape)
            self._transitions[run.info.id], self._snapshots[run.info.id] = steps, snapshots
            for note in run.notes:
                await self.write_note(replace(note, id=0, run=run.info.id))

    @override
    async def claim(self, run: RunId, owner: str) -> RunInfo:
        info = self._infos[self._check_run(run)]
        self._infos[run] = replace(info, owner=owner, epoch=info.epoch + 1)
        return self._infos[run]

    @override
    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        stored = self._infos[self._check_run(info.id)]
        if stored.epoch != info.epoch:
            raise StaleOwner(info.id, info.epoch)
        history = self._transitions[info.id]
        for offset, transition in enumerate(transitions, start=1):
            if transition.seq != len(history) + offset:
                raise JournalConflict(info.id, transition.seq)
        history.extend(transitions)
        weight = estimate_size(transitions, [snapshot] if snapshot else [])
        if snapshot:
            self._snapshots[info.id].append(snapshot)
        preserved = {name: getattr(stored, name) for name in PRESERVED_FIELDS}
        self._infos[info.id] = replace(info, **preserved, bytes=stored.bytes + weight)
        return weight

    @override
    async def info(self, run: RunId) -> RunInfo:
        return self._infos[self._check_run(run)]

    @override
    async def shape(self, run: RunId) -> Shape:
        return self._shapes[self._check_run(run)]

    @override
    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        steps = self._transitions[self._check_run(run)][after:until]
        return steps if limit is None else steps[:limit]

    @override
    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        snapshots = [item for item in reversed(self._snapshots[self._check_run(run)]) if item.seq <= at]
        if not snapshots:
            return None
        lists = {name: cache(partial(join_tails, name, snapshots)) for name in long_lists(snapshots[0])}
        return (
            PartialSnapshot(run=run, seq=snapshots[0].seq, state=snapshots[0].state, lists=lists)
            if lists
            else snapshots[0]
        )

    @override
    async def runs(self, query: RunQuery) -> RunPage:
        matches = self._matches(query)
        total, place = len(matches), query.beyond
        if place is not None:
            mark = (False, place[0] if query.place == 'trash' else 0.0, *place[1:])
            matches = [info for info in matches if rank(info, query) < mark]
        usage = reduce(add, (info.usage for info in self._matches(query)), Usage()) if query.totals else None
        return RunPage(
            runs=tuple(matches[query.offset : query.offset + query.limit]),
            total=total,
            usage=usage and replace(usage, source='provider'),
        )

    @override
    async def family(self, run: RunId) -> list[RunInfo]:
        root = self._infos[self._check_run(run)]
        while root.parent in self._infos:
            root = self._infos[root.parent]
        forks: dict[RunId | None, list[RunInfo]] = {}
        for info in self._infos.values():
            forks.setdefault(info.parent, []).append(info)
        members = [root]
        for info in members:  # grows during the loop
            members.extend(forks.get(info.id, ()))
        ids = {info.id for info in members}
        return sorted(
            (info for info in self._infos.values() if info.id in ids), key=lambda info: info.created
        )

    @override
    async def unfinished(self) -> list[RunInfo]:
        infos = [info for info in self._infos.values() if not info.status.ended and not info.deleted]
        return sorted(infos, key=lambda info: (info.created, info.id))

    @override
    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        fields: dict[str, Any] = dict(changes)
        if 'tags' in changes:
            fields['tags'] = tuple(changes['tags'])
        self._infos[run] = replace(self._infos[self._check_run(run)], **fields)
        return self._infos[run]

    @override
    async def notes(self, run: RunId) -> list[Note]:
        notes = [note for note in self._notes.values() if note.run == self._check_run(run)]
        return sorted(notes, key=lambda note: (note.seq, note.id))

    @override
    async def write_note(self, note: Note) -> Note:
        self._check_run(note.run)
        if note.id:
            old = self._note(note.run, note.id)
            note = replace(old, text=note.text, edited=note.edited)
        else:
            self._last_note += 1
            note = replace(note, id=self._last_note)
        self._notes[note.id] = note
        return note

    @override
    async def delete_note(self, run: RunId, note: int) -> None:
        del self._notes[self._note(self._check_run(run), note).id]

    @override
    async def delete(self, run: RunId) -> None:
        del self._infos[self._check_run(run)], self._shapes[run], self._transitions[run], self._snapshots[run]
        self._notes = {id: note for id, note in self._notes.items() if note.run != run}
        self._path_stats.pop(run, None)

    @override
    async def outdated_runs(self, query: RunQuery) -> list[RunId]:
        unrestricted = replace(query, edges=(), state='')
        return [info.id for info in self._matches(unrestricted) if self._stats_step(info.id) < info.seq]

    @override
    async def path_stats(self, run: RunId) -> PathStats | None:
        return self._path_stats[run] if self._stats_step(self._check_run(run)) else None

    @override
    async def store_path_stats(self, stats_by_run: Mapping[RunId, PathStats]) -> None:
        for run, stats in stats_by_run.items():
            if run in self._infos and self._stats_step(run) <= stats.seq:
                self._path_stats[run] = stats

    @override
    async def traffic(self, query: RunQuery) -> Traffic:
        infos = list(self._matches(query))
        return aggregate(
            ((info, self._shapes[info.id], self._path_stats.get(info.id)) for info in infos),
            [info.parent_at for info in infos if info.parent],
        )

    @override
    async def close(self) -> None:
        """Nothing to flush."""

    def _matches(self, query: RunQuery) -> list[RunInfo]:
        """Return all matches, in list order."""
        texts: dict[RunId, list[str]] = {}
        for note in self._notes.values():
            texts.setdefault(note.run, []).append(note.text)
        infos = [
            info
            for info in self._infos.values()
            if matches(info, query, texts.get(info.id, []))
            and matches_path(self._path_stats.get(info.id), query.edges, query.state, trouble=query.trouble)
        ]
        return in_order(infos, query)

    def _stats_step(self, run: RunId) -> int:
        """Return the step up to which a run's path statistics are stored."""
        stats = self._path_stats.get(run)
        return stats.seq if stats and stats.rules == RULES else 0

    def _check_run(self, run: RunId) -> RunId:
        if run not in self._infos:
            raise UnknownRun(run)
        return run

    def _note(self, run: RunId, note: int) -> Note:
        if note not in self._notes or self._notes[note].run != run:
            raise UnknownNote(run, note)
        return self._notes[note]


def _split_history(
    run: RunId, history: Iterable[Transition | Snapshot]
) -> tuple[list[Transition], list[Snapshot]]:
    """Separate steps from snapshots. Raises `JournalConflict` if a step is missing or duplicated."""
    steps: list[Transition] = []
    snapshots: list[Snapshot] = []
    for item in history:
        if isinstance(item, Snapshot):
            snapshots.append(item)
            continue
        steps.append(item)
        if item.seq != len(steps):
            raise JournalConflict(run, item.seq)
    return steps, snapshots


def estimate_size(steps: Iterable[Transition], snapshots: Iterable[Snapshot]) -> int:
    """Return the approximate size in bytes; serializing for the exact one would cost more than all else."""
    return sum(map(_step, steps)) + sum(_size(snapshot.state) for snapshot in snapshots)


def _step(transition: Transition) -> int:
    return 100 + _size(transition.event.data) + sum(_size(change.value) for change in transition.changes)


def _size(value: Any) -> int:
    """Return the approximate size of a JSON value in bytes."""
    if isinstance(value, Mapping):
        return sum(len(key) + _size(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 5
