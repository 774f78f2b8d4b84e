"""Keeper: notes on runs and steps, and which runs are kept: trash, purge, retention."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Literal, Unpack

from engine.catalog import Catalog
from engine.clock import Clock
from engine.errors import EventRefused, InvalidInput, UnknownRun, UnknownStep
from engine.files.workspaces import Workspaces
from engine.journal import Journal
from engine.keeping.retention import DAY, Retention, Taken, taken
from engine.keeping.weight import Scales, Weight
from engine.records import PURGING, Annotation, Note, RunId, RunInfo, RunQuery
from engine.steering import Steering

LONGEST_NOTE = 10_000
PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """What `Keeper.tidy` did."""

    taken: tuple[Taken, ...] = ()
    """Put into the trash by the policy."""
    purged: tuple[RunId, ...] = ()
    """Removed for good: their time in the trash was over."""


class Keeper(Steering):
    """Keeps runs, and lets go of them: into the trash first, and only from there for good."""

    def __init__(self, journal: Journal, catalog: Catalog, clock: Clock, workspaces: Workspaces) -> None:
        super().__init__(journal, catalog)
        self.clock, self.workspaces = clock, workspaces
        self._scales = Scales(workspaces, clock)

    @property
    def retention(self) -> Retention:
        """The policy, as it is configured."""
        return self.catalog.configured.retention

    async def annotate(self, run: RunId, **said: Unpack[Annotation]) -> RunInfo:
        """Change title, tags, note, star or pin; what is not given stays. Raises `UnknownRun`."""
        return await self.journal.annotate(run, **said)

    async def write_note(self, run: RunId, text: str, *, at: int = 0, note: int = 0) -> Note:
        """Keep a new note on step `at`, or change the text of the note of the number `note`.

        Notes are beside the history: no transition of the run is changed, and none added.

        Raises:
            UnknownRun, UnknownStep, UnknownNote
            InvalidInput: the text is empty or too long.
        """
        text, info = text.strip(), await self.journal.info(run)
        if not 0 < len(text) <= LONGEST_NOTE:
            raise InvalidInput({'note': f'it needs 1 to {LONGEST_NOTE:,} characters, and has {len(text):,}'})
        if not note and not 1 <= at <= info.seq:
            raise UnknownStep(run, at, info.seq)
        now = self.clock.now()
        if note:
            return await self.journal.write_note(Note(id=note, run=run, seq=at, text=text, edited=now))
        return await self.journal.write_note(Note(run=run, seq=at, text=text, created=now))

    async def delete_note(self, run: RunId, note: int) -> None:
        """Forget a note. Raises `UnknownRun`, `UnknownNote`."""
        await self.journal.delete_note(run, note)

    async def weigh(self, infos: Iterable[RunInfo]) -> dict[RunId, Weight]:
        """What runs take on the disk."""
        return await self._scales.weigh(infos)

    async def delete(self, run: RunId, *, cancel: bool = False) -> None:
        """Put a run into the trash, from where it can be restored until it is purged.

        Args:
            run: which. Its forks stay as they are: each has a copy of the history that they share.
            cancel: whether a run that has not ended is cancelled first.

        Raises:
            UnknownRun
            EventRefused: it has not ended, and is not stranded either.
        """
        info = await self.journal.info(run)
        if cancel and run in self._live and not info.status.ended:
            await self.cancel(run, 'it was deleted')
        elif not info.status.ended and run not in self.stranded:
            raise EventRefused(run, 'delete', 'it has not ended; cancel it first')
        if not info.deleted:
            await self.journal.annotate(run, deleted=self.clock.now())

    async def restore(self, run: RunId) -> RunInfo:
        """Take a run out of the trash. One that had not ended goes on at the next `recover`.

        Raises:
            UnknownRun: also where it was purged.
            EventRefused: it was not deleted.
        """
        info = await self.journal.info(run)
        if info.deleted == PURGING:
            raise UnknownRun(run)
        if not info.deleted:
            raise EventRefused(run, 'restore', 'it was not deleted')
        return await self.journal.annotate(run, deleted=0.0)

    async def purge(self, run: RunId) -> None:
        """Remove a run of the trash for good, with its files.

        Marked first: cut off at any point, it is either still in the trash with all that it has, or out of
        everybody's sight until `tidy` removes the rest.

        Raises:
            UnknownRun
            EventRefused: it is not in the trash.
        """
        if not (await self.journal.info(run)).deleted:
            raise EventRefused(run, 'purge', 'it is not deleted; delete it first')
        await self.journal.annotate(run, deleted=PURGING)
        await self.workspaces.delete(run)
        await self.journal.delete(run)
        self.stranded.pop(run, None)
        self._scales.forget(run)

    async def would_take(self, policy: Retention | None = None) -> list[Taken]:
        """What the policy takes now, the oldest first; nothing is changed."""
        chosen = policy or self.retention
        if chosen.idle:
            return []
        runs = [info async for info in self.every('list')]
        weights = await self.weigh(runs) if chosen.size is not None else {}
        sizes = [(info, weights[info.id].total if weights else info.bytes) for info in runs]
        return taken(chosen, sizes, self.clock.now())

    async def tidy(self, policy: Retention | None = None) -> Tidied:
        """Let the policy take what it takes, into the trash, and purge what has been there long enough."""
        chosen = policy or self.retention
        found = await self.would_take(chosen)
        now = self.clock.now()
        for item in found:
            await self.journal.annotate(item.info.id, deleted=now)
        overdue = [
            info.id
            async for info in self.every('trash')
            if now - info.deleted >= chosen.trash_days * DAY and info.deleted < now
        ]
        overdue += [info.id async for info in self.every('purging')]  # those that a crash cut off
        for run in overdue:
            await self.purge(run)
        return Tidied(taken=tuple(found), purged=tuple(overdue))

    async def every(self, place: Literal['list', 'trash', 'purging'] = 'list') -> AsyncIterator[RunInfo]:
        """All runs of the list, of the trash, or those that are being purged, the newest first."""
        offset = 0
        while page := (await self.journal.runs(RunQuery(place=place, offset=offset, limit=PAGE))).runs:
            for info in page:
                yield info
            offset += len(page)
