"""The Journal protocol: storage of runs, their transitions and people's annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Unpack

from engine.journal.documents import Documents, Entry
from engine.records import (
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
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """A run with its complete history, to be imported."""

    info: RunInfo
    """`bytes` is computed by the journal."""
    shape: Shape
    history: Iterable[Transition | Snapshot]
    """All steps in order, with snapshots among them; iterated once, in a thread."""
    notes: Sequence[Note] = ()
    """Notes on its steps; they get new ids."""


class Journal(Protocol):
    """Stores runs and their transitions. Every method may raise `JournalError`."""

    @property
    def documents(self) -> Documents:
        """What programs around the engine store with the runs."""

    async def create(self, info: RunInfo, shape: Shape) -> None:
        """Store a new run. `info.id` must be new."""

    async def fork(self, info: RunInfo, shape: Shape) -> None:
        """Store a new run whose history starts as a copy of `info.parent` up to step `info.parent_at`."""

    async def import_runs(self, runs: Sequence[WholeRun], documents: Iterable[Entry] = ()) -> None:
        """Store whole runs and entries that belong to them, all or none; none is visible before all are.

        Args:
            runs: the runs.
            documents: the entries; iterated once, in a thread.

        Raises:
            JournalConflict: an id is in use, or a step is missing or duplicated; nothing was written.
            EntryChanged: an entry's stored version is not the given one; nothing was written.
        """

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        """Make `owner` the run's only writer: sets the owner and increments the epoch.

        Raises:
            UnknownRun: no run with that id.
        """

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """Store transitions, the run's new summary and optionally a snapshot, atomically.

        Of `info`, only status, updated, seq, usage, budget, error and waiting are stored; the journal counts
        bytes itself, and all other fields keep their stored values. The transitions' values must not change
        until this returns.

        Returns:
            The bytes that the transitions and the snapshot take.

        Raises:
            StaleOwner: `info.epoch` is not the stored one; nothing was written.
            JournalConflict: a transition's (run, seq) exists; nothing was written.
            JournalUnavailable: nothing was written; a retry may help.
        """

    async def info(self, run: RunId) -> RunInfo:
        """Return the run's summary. Raises `UnknownRun`."""

    async def shape(self, run: RunId) -> Shape:
        """Return the run's chart. Raises `UnknownRun`."""

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """Return the steps `after` < seq <= `until`, in order, at most `limit`."""

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """Return the latest snapshot at or before step `at`."""

    async def runs(self, query: RunQuery) -> RunPage:
        """Return summaries of matching runs, newest first, without reading histories.

        A text matches if each of its words starts a word of the title, note, tags, pattern, parameters or a
        note on a step. Edges and a state match by stored path statistics.
        """

    async def family(self, run: RunId) -> list[RunInfo]:
        """Return the run, its stored ancestors, and all forks of these, in the order of their creation.

        Raises:
            UnknownRun
        """

    async def unfinished(self) -> list[RunInfo]:
        """Return every run outside the trash that has not ended, oldest first."""

    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        """Change a person's annotations of a run, or move it to or out of the trash."""

    async def notes(self, run: RunId) -> list[Note]:
        """Return the notes on a run's steps, by step, then by time of writing. Raises `UnknownRun`."""

    async def write_note(self, note: Note) -> Note:
        """Store a new note, or change the text of the one with the given `id`.

        Raises:
            UnknownRun
            UnknownNote: the run has no such note.
        """

    async def delete_note(self, run: RunId, note: int) -> None:
        """Delete a note. Raises `UnknownRun`, `UnknownNote`."""

    async def delete(self, run: RunId) -> None:
        """Delete a run, its history and its notes. Raises `UnknownRun`."""

    async def outdated_runs(self, query: RunQuery) -> list[RunId]:
        """Return all matching runs whose path statistics are missing or stale, newest first.

        The query's page and path criteria are ignored.
        """

    async def path_stats(self, run: RunId) -> PathStats | None:
        """Return the stored path statistics of a run."""

    async def store_path_stats(self, stats_by_run: Mapping[RunId, PathStats]) -> None:
        """Store path statistics, except of deleted runs and where later ones are already stored."""

    async def traffic(self, query: RunQuery) -> Traffic:
        """Return the traffic of all matching runs, from stored path statistics; the page is ignored."""

    async def close(self) -> None:
        """Flush queued writes, and close."""
