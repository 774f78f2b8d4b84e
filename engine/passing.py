"""MemoryJournal: the journal that lives in memory, for tests and for runs nobody needs to keep."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from engine.errors import JournalConflict, StaleOwner, UnknownNote, UnknownRun
from engine.journal import WholeRun
from engine.matching import matches, rank
from engine.records import (
    RULES,
    Annotation,
    Note,
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

KEPT = ('title', 'tags', 'note', 'owner', 'starred', 'pinned', 'deleted')
"""Fields of a summary that `append` leaves as they are stored."""


class MemoryJournal:
    """Everything in dictionaries: for tests, and for runs nobody needs to keep."""

    def __init__(self) -> None:
        self._infos: dict[RunId, RunInfo] = {}
        self._shapes: dict[RunId, Shape] = {}
        self._transitions: dict[RunId, list[Transition]] = {}
        self._snapshots: dict[RunId, list[Snapshot]] = {}
        self._notes: dict[int, Note] = {}
        self._last_note = 0
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
            for note in run.notes:
                await self.write_note(replace(note, id=0, run=run.info.id))

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

    async def family(self, run: RunId) -> list[RunInfo]:
        """The run, its ancestors, and all forks of these."""
        root = self._infos[self._known(run)]
        while root.parent in self._infos:
            root = self._infos[root.parent]
        forks: dict[RunId | None, list[RunInfo]] = {}
        for info in self._infos.values():
            forks.setdefault(info.parent, []).append(info)
        found = [root]
        for info in found:  # which grows on the way
            found.extend(forks.get(info.id, ()))
        return sorted(found, key=lambda info: (info.created, info.id))

    async def unfinished(self) -> list[RunInfo]:
        """Every run that has not ended, oldest first."""
        found = [info for info in self._infos.values() if not info.status.ended and not info.deleted]
        return sorted(found, key=lambda info: (info.created, info.id))

    async def annotate(self, run: RunId, **said: Unpack[Annotation]) -> RunInfo:
        """Change what a person says of a run."""
        given: dict[str, Any] = dict(said)
        if 'tags' in said:
            given['tags'] = tuple(said['tags'])
        self._infos[run] = replace(self._infos[self._known(run)], **given)
        return self._infos[run]

    async def notes(self, run: RunId) -> list[Note]:
        """The notes on a run's steps."""
        found = [note for note in self._notes.values() if note.run == self._known(run)]
        return sorted(found, key=lambda note: (note.seq, note.id))

    async def write_note(self, note: Note) -> Note:
        """Keep a note, or change one."""
        self._known(note.run)
        if note.id:
            old = self._note(note.run, note.id)
            note = replace(old, text=note.text, edited=note.edited)
        else:
            self._last_note += 1
            note = replace(note, id=self._last_note)
        self._notes[note.id] = note
        return note

    async def delete_note(self, run: RunId, note: int) -> None:
        """Forget a note."""
        del self._notes[self._note(self._known(run), note).id]

    async def delete(self, run: RunId) -> None:
        """Forget a run."""
        del self._infos[self._known(run)], self._shapes[run], self._transitions[run], self._snapshots[run]
        self._notes = {id: note for id, note in self._notes.items() if note.run != run}
        self._trails.pop(run, None)

    async def due(self, query: RunQuery) -> list[RunId]:
        """Those that have gone on since their trail was kept."""
        asked = replace(query, edges=(), state='')
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
        """All that match, in the order of the list."""
        said: dict[RunId, list[str]] = {}
        for note in self._notes.values():
            said.setdefault(note.run, []).append(note.text)
        found = [
            info
            for info in self._infos.values()
            if matches(info, query, said.get(info.id, []))
            and passes(self._trails.get(info.id), query.edges, query.state, trouble=query.trouble)
        ]
        return sorted(found, key=lambda info: rank(info, query), reverse=True)

    def _kept(self, run: RunId) -> int:
        """The step up to which its trail is kept."""
        trail = self._trails.get(run)
        return trail.seq if trail and trail.rules == RULES else 0

    def _known(self, run: RunId) -> RunId:
        if run not in self._infos:
            raise UnknownRun(run)
        return run

    def _note(self, run: RunId, note: int) -> Note:
        if note not in self._notes or self._notes[note].run != run:
            raise UnknownNote(run, note)
        return self._notes[note]
