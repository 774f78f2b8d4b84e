"""Archive: what can be read of runs, past and present."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.audit import audit
from engine.catalog import Catalog
from engine.chart import MOST_MOVES
from engine.comparing import Comparison, Tally, compare, tally
from engine.errors import InvalidInput, UnknownPattern, UnknownStep
from engine.grounds import Grounds
from engine.journal import Journal
from engine.prepare import workflow_of
from engine.records import Note, RunId, RunInfo, RunPage, RunQuery, Shape, Snapshot, Traffic, Transition, View
from engine.shape import draw
from engine.traffic.survey import Told, survey
from engine.view import Fold

FOLD_IN_PLACE = 1_000
"""Steps that are folded on the event loop; more go to a thread."""


class Archive:
    """Reads a journal. Runs no workflow."""

    def __init__(self, journal: Journal, catalog: Catalog) -> None:
        self.journal, self.catalog = journal, catalog

    async def runs(self, query: RunQuery | None = None) -> RunPage:
        """A page of the list of runs.

        Where an edge or a state is asked for, what runs went through is brought up to date before.
        """
        asked = query or RunQuery()
        if asked.edges or asked.state:
            await survey(self.journal, asked)
        return await self.journal.runs(asked)

    async def traffic(self, query: RunQuery | None = None, told: Told | None = None) -> Traffic:
        """What all runs that match went through together; the page of the query does not count.

        The first time every step of theirs is read, later only what is new. It may be cancelled at any time;
        what was read till then is not read again.

        Args:
            query: which runs.
            told: called now and then with the number of runs that have been read, and that have to be.
        """
        asked = query or RunQuery()
        unread = await survey(self.journal, asked, told)
        return replace(await self.journal.traffic(asked), unread=unread)

    async def info(self, run: RunId) -> RunInfo:
        """A run's summary. Raises `UnknownRun`."""
        return await self.journal.info(run)

    async def shape(self, run: RunId) -> Shape:
        """A run's chart. Raises `UnknownRun`."""
        return await self.journal.shape(run)

    async def view(self, run: RunId, at: int | None = None) -> View:
        """The run at step `at`, or now.

        Raises:
            UnknownRun, UnknownStep
        """
        return (await self.fold(run, at)).view

    async def fold(self, run: RunId, at: int | None = None) -> Fold:
        """A fold of the run up to step `at`, to go on from; from the nearest snapshot."""
        info = await self.journal.info(run)
        last = info.seq if at is None else at
        if not 0 <= last <= info.seq:
            raise UnknownStep(run, last, info.seq)
        shape, snapshot = await self.journal.shape(run), await self.journal.snapshot(run, last)
        fold = Fold.load(snapshot, shape) if snapshot else Fold(run, shape)
        rest = await self.journal.transitions(run, after=fold.ledger.seq, until=last)
        return (
            fold.take_all(rest) if len(rest) < FOLD_IN_PLACE else await asyncio.to_thread(fold.take_all, rest)
        )

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """The latest snapshot at or before `at`: a fold up to it may begin there. Raises `UnknownRun`."""
        return await self.journal.snapshot(run, at)

    async def turn_end(self, info: RunInfo, at: int) -> int:
        """The last step of the turn that step `at` belongs to: what it brought about by itself included."""
        if not 1 <= at <= info.seq:
            raise UnknownStep(info.id, at, info.seq)
        following = await self.journal.transitions(info.id, after=at, limit=MOST_MOVES)
        return at + next((n for n, step in enumerate(following) if not step.raised), len(following))

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """Steps of a run, in order. Raises `UnknownRun`."""
        return await self.journal.transitions(run, after=after, until=until, limit=limit)

    async def notes(self, run: RunId) -> list[Note]:
        """The notes on the run's steps, in their order. Raises `UnknownRun`."""
        return await self.journal.notes(run)

    async def audit(self, run: RunId) -> int:
        """Re-fire the run's events through a fresh chart.

        Returns:
            The number of steps, all as recorded.

        Raises:
            Diverged, UnknownPattern, UnknownRun
        """
        info = await self.journal.info(run)
        workflow = workflow_of(self.catalog, info)
        transitions = await self.journal.transitions(run)
        return await asyncio.to_thread(audit, run, workflow, transitions)

    async def compare(self, a: RunId, b: RunId) -> Comparison:
        """Two runs beside each other, as far as they have got. Raises `UnknownRun`."""
        one, other = await self._counted(a), await self._counted(b)
        return await asyncio.to_thread(compare, one[0], other[0], one[1], other[1])

    async def _counted(self, run: RunId) -> tuple[Tally, list[Transition]]:
        fold = await self.fold(run)
        steps = await self.journal.transitions(run, until=fold.ledger.seq)
        info = await self.journal.info(run)
        return await asyncio.to_thread(tally, info, fold.shape, fold.view, steps), steps

    async def grounds(self, run: RunId) -> Grounds:
        """What guards say of themselves and look at; none are known of a pattern that is gone.

        Raises:
            UnknownRun: there is no such run.
        """
        info = await self.journal.info(run)
        try:
            pattern = workflow_of(self.catalog, info)
        except (UnknownPattern, InvalidInput):
            return Grounds(None, info.parameters)
        return await asyncio.to_thread(Grounds, pattern, info.parameters)

    def draw(self, pattern: str, parameters: Mapping[str, Any] | None = None) -> Shape:
        """The chart a run of the pattern would have; parameters that are left out are at their defaults.

        Raises:
            UnknownPattern, InvalidInput
        """
        return draw(self.catalog.pattern(pattern).sample(parameters))
