"""Host: what experiments need of the conductor that runs their runs, and how they use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.configuration.catalog import Catalog
from engine.errors import JournalConflict
from engine.history.bundle.store import BundleStore
from engine.history.forks.replayer import unrecorded
from engine.history.merging import RunMerging
from engine.host.clock import Clock
from engine.journal.projection import Fold
from engine.journal.protocol import Journal
from engine.operations.charting import Charting
from engine.operations.experiments.planning import TAG
from engine.operations.experiments.records import Cell, Experiment, Mark
from engine.operations.experiments.running.answering import asked_otherwise, from_exchanges
from engine.operations.experiments.scorers import Evidence, Judged, Scorer
from engine.records import Launch, Outcome, RunId, RunInfo, Transition
from engine.runtime.feed import Item
from engine.runtime.run_factory import acting_as
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspaces import Workspaces


class Host(Protocol):
    """The conductor, as far as experiments need it."""

    journal: Journal
    catalog: Catalog
    charts: Charting
    clock: Clock
    owner: str
    workspaces: Workspaces
    sandbox: Sandbox
    merging: RunMerging
    bundles: BundleStore

    async def start(
        self,
        launch: Launch,
        parameters: Mapping[str, Any] | None = None,
        *,
        run: RunId | None = None,
        **values: Any,
    ) -> object:
        """Start a run with a given id."""

    async def replay(self, run: RunId, launch: Launch, *, new: RunId) -> RunId:
        """Start a run that is answered from the journal of another."""

    def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Follow the steps of a run until it ends."""

    async def info(self, run: RunId) -> RunInfo:
        """Summarize a run."""

    async def fold(self, run: RunId, at: int | None = None) -> Fold:
        """Fold a run up to a step."""

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """Return the steps of a run."""

    async def recover(self, *, where: Callable[[RunInfo], bool]) -> list[RunId]:
        """Continue the unfinished runs whose process has died, of those that `where` selects."""

    async def result(self, run: RunId) -> Outcome:
        """Wait for a run to end."""

    async def cancel(self, run: RunId, reason: str = '') -> None:
        """Cancel a run."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Starts the runs of an experiment, in the name of its author, and gathers evidence of them."""

    host: Host
    experiment: Experiment

    @property
    def workspaces(self) -> Workspaces:
        """The files of agents."""
        return self.host.workspaces

    @property
    def sandbox(self) -> Sandbox:
        """Runs commands."""
        return self.host.sandbox

    @property
    def merging(self) -> RunMerging:
        """Tests the work of agents."""
        return self.host.merging

    async def start(self, run: RunId, launch: Launch) -> None:
        """Start a run; one that has been started already goes on if its process has died.

        If it `replay`s another, it is answered from that one's journal. If it asks models otherwise, only the
        exchanges with them can tell whether there is an answer.
        """
        source = await self.host.info(RunId(launch.replay)) if launch.replay else None
        try:
            with acting_as(self.experiment.author):
                if source is None:
                    await self.host.start(launch, run=run)
                elif asked_otherwise(launch, source):
                    await self.host.start(from_exchanges(launch, source), run=run)
                else:
                    await self.host.replay(source.id, launch, new=run)
        except JournalConflict:
            await self.host.recover(where=lambda info: info.id == run)

    async def finish(self, run: RunId) -> str:
        """Wait for a run to end; return why it has stopped instead, if it goes where nothing is recorded."""
        if 'play' in (await self.host.info(run)).options:
            async for item in self.host.watch(run):
                if isinstance(item, Transition) and (reason := unrecorded(item)):
                    return reason
        await self.host.result(run)
        return ''

    async def judge(self, key: str, launch: Launch) -> Outcome:
        """Return the outcome of a run that judges another; the same key never starts a second one."""
        run = RunId(key)
        await self.start(run, replace(launch, tags=(f'{TAG}{self.experiment.id}', 'judge')))
        return await self.host.result(run)

    async def evidence(
        self,
        cell: Cell,
        case: Judged,
        scorers: Mapping[str, Scorer],
        *,
        other: Cell | None = None,
        marks: tuple[Mark, ...] = (),
    ) -> Evidence:
        """Return the evidence of a run that has ended; `other` is the cell it is compared with."""
        run = cell.run
        reads_steps = any(scorer.reads_steps for scorer in scorers.values())
        other_evidence = await self.evidence(other, case, {}) if other else None
        return Evidence(
            case=case,
            info=await self.host.info(run),
            fold=await self.host.fold(run),
            steps=await self.host.transitions(run) if reads_steps else (),
            bench=self,
            cell=cell.id,
            key=f'{cell.id}{self.experiment.digest}',
            private=self.experiment.base.private,
            other=other_evidence,
            is_first=cell.variant == self.experiment.variants[0].name,
            marks=marks,
        )
