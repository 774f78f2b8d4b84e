"""RunReader: queries on past and present runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from engine.configuration.catalog import Catalog
from engine.errors import InvalidInput, UnknownPattern, UnknownStep
from engine.history.accepted_events import AcceptedEvent, accepted_events
from engine.history.audit import audit
from engine.history.chart_walk import audit_walk
from engine.history.comparison import Comparison, RunStats, compare, count_run
from engine.history.path_statistics import Progress, refresh_paths
from engine.journal.fold_reader import read_fold
from engine.journal.projection import Fold
from engine.journal.protocol import Journal
from engine.records import RunId, RunInfo, RunPage, RunQuery, Traffic, Transition, View
from engine.runtime.debugger.guard_explanations import GuardExplanations
from engine.runtime.run_factory import workflow_of


class RunReader:
    """Reads a journal; runs no workflow."""

    def __init__(self, journal: Journal, catalog: Catalog) -> None:
        self.journal, self.catalog = journal, catalog

    async def runs(self, query: RunQuery | None = None) -> RunPage:
        """Return a page of the list of runs.

        If the query names an edge or a state, path statistics are refreshed first.
        """
        effective_query = query or RunQuery()
        if effective_query.edges or effective_query.state:
            await refresh_paths(self.journal, effective_query)
        return await self.journal.runs(effective_query)

    async def traffic(self, query: RunQuery | None = None, progress: Progress | None = None) -> Traffic:
        """Return the combined path statistics of all matching runs; the query's page is ignored.

        The first call reads every step of these runs; later calls read only new steps. Can be cancelled at
        any time without losing the runs read so far.

        Args:
            query: selects the runs.
            progress: called periodically with the number of runs read and the total.
        """
        effective_query = query or RunQuery()
        unread = await refresh_paths(self.journal, effective_query, progress)
        return replace(await self.journal.traffic(effective_query), unread=unread)

    async def view(self, run: RunId, at: int | None = None) -> View:
        """Return the state of the run at step `at`, or now.

        Raises:
            UnknownRun, UnknownStep
        """
        return (await self.fold(run, at)).view

    async def fold(self, run: RunId, at: int | None = None) -> Fold:
        """Fold the run up to step `at`, starting from the nearest snapshot; the fold can be continued."""
        return await read_fold(self.journal, run, at)

    async def turn_end(self, info: RunInfo, at: int) -> int:
        """Return the last step of the turn that step `at` belongs to, including raised steps."""
        if not 1 <= at <= info.seq:
            raise UnknownStep(info.id, at, info.seq)
        # One step at a time, so that damage after this turn does not matter.
        while following := await self.journal.transitions(info.id, after=at, limit=1):
            if not following[0].raised:
                break
            at += 1
        return at

    async def audit(self, run: RunId) -> int:
        """Replay the run's events through a fresh chart; for an imported trace, its edges through its chart.

        Returns:
            The number of steps, all as recorded.

        Raises:
            Diverged, UnknownPattern, UnknownRun
        """
        info = await self.journal.info(run)
        if info.is_imported_trace:
            shape, steps = await self.journal.shape(run), await self.journal.transitions(run)
            return await asyncio.to_thread(audit_walk, run, shape, steps)
        await self.catalog.compile(info.pattern, info.version)
        workflow = workflow_of(self.catalog, info)
        transitions = await self.journal.transitions(run)
        return await asyncio.to_thread(audit, run, workflow, transitions)

    async def compare(self, a: RunId, b: RunId) -> Comparison:
        """Compare the steps two runs have taken so far. Raises `UnknownRun`."""
        first, second = await self._count(a), await self._count(b)
        comparison = await asyncio.to_thread(compare, first[0], second[0], first[1], second[1])
        if comparison.divergence is None or not comparison.divergence.guards:
            return comparison
        explanations = await self.explain_guards(a)
        guards = tuple(
            replace(guard, says=explanations.says(guard.source, guard.dest, guard.name))
            for guard in comparison.divergence.guards
        )
        return replace(comparison, divergence=replace(comparison.divergence, guards=guards))

    async def _count(self, run: RunId) -> tuple[RunStats, list[Transition]]:
        fold = await self.fold(run)
        steps = await self.journal.transitions(run, until=fold.projection.seq)
        info = await self.journal.info(run)
        return await asyncio.to_thread(count_run, info, fold.shape, fold.view, steps), steps

    async def accepts(self, run: RunId) -> list[AcceptedEvent]:
        """Return the events people can send to a run now; none once it has ended. Raises `UnknownRun`."""
        fold = await self.fold(run)
        if fold.view.status.ended:
            return []
        info = await self.journal.info(run)
        await self.catalog.compile(info.pattern, info.version)
        pattern = self.catalog.find_of(info)
        return accepted_events(fold.shape, fold.view, pattern)

    async def explain_guards(self, run: RunId) -> GuardExplanations:
        """Explain what guards mean and depend on; empty if the run's pattern no longer exists.

        Raises:
            UnknownRun: there is no such run.
        """
        info = await self.journal.info(run)
        await self.catalog.compile(info.pattern, info.version)
        try:
            pattern = workflow_of(self.catalog, info)
        except (UnknownPattern, InvalidInput):
            return GuardExplanations(None, info.parameters)
        return await asyncio.to_thread(GuardExplanations, pattern, info.parameters)
