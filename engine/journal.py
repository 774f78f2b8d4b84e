"""The Journal protocol: where runs, their transitions and what is said of them are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Unpack

from engine.records import (
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """A run with all of its history, from elsewhere."""

    info: RunInfo
    """Its `bytes` are counted by the journal."""
    shape: Shape
    history: Iterable[Transition | Snapshot]
    """Steps from the first to the last, and snapshots among them; gone through once, in a thread."""
    notes: Sequence[Note] = ()
    """On its steps; they get new ids."""


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

        A text matches when each of its words begins a word of the title, note, tags, pattern, parameters or a
        note on a step; edges and a state, when the trail that is kept has them.
        """

    async def family(self, run: RunId) -> list[RunInfo]:
        """The run, those it was forked from as far as they are kept, and all forks of these; oldest first.

        Raises:
            UnknownRun
        """

    async def unfinished(self) -> list[RunInfo]:
        """Every run of the list that has not ended, oldest first."""

    async def annotate(self, run: RunId, **said: Unpack[Annotation]) -> RunInfo:
        """Change what a person says of a run, or whether it is in the list or in the trash."""

    async def notes(self, run: RunId) -> list[Note]:
        """The notes on a run's steps, in the order of steps, then of writing. Raises `UnknownRun`."""

    async def write_note(self, note: Note) -> Note:
        """Keep a new note, or with an `id` change the text of that one.

        Raises:
            UnknownRun
            UnknownNote: the run has no such note.
        """

    async def delete_note(self, run: RunId, note: int) -> None:
        """Forget a note. Raises `UnknownRun`, `UnknownNote`."""

    async def delete(self, run: RunId) -> None:
        """Forget a run, its history and its notes. Raises `UnknownRun`."""

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
