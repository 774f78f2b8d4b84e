"""Host: what experiments need of the conductor that runs their runs, and how they use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.configuration.catalog import Catalog
from engine.errors import (
    EngineError,
    EntryChanged,
    EventRefused,
    FilesUnavailable,
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalUnavailable,
    RunElsewhere,
    UnknownRun,
    WorkspaceError,
)
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

JUDGE_TAG = 'judge'
"""The tag of the runs of judges, beside that of their experiment."""
ATTEMPTS = 3
"""How often a run is started, or taken up, until it counts as lost."""
RETRY_SECONDS = 1.0
"""Seconds until something is tried again that failed for a reason that may pass."""
CANCELLED = 'its experiment was cancelled'


class RunLost(EngineError):
    """A run of an experiment has been started, and cannot go on."""

    def __init__(self, run: RunId, reason: str) -> None:
        super().__init__(f'run {run} cannot go on: {reason}')


class Host(Protocol):
    """The conductor, as far as experiments need it."""

    journal: Journal
    catalog: Catalog
    clock: Clock
    owner: str
    workspaces: Workspaces
    sandbox: Sandbox
    merging: RunMerging
    bundles: BundleStore
    stranded: dict[RunId, str]
    """Unfinished runs that cannot continue in this process, and why."""

    @property
    def charts(self) -> Charting:
        """The charts that can be changed."""

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

    async def recover(self, *, paused: bool = False, where: Callable[[RunInfo], bool]) -> list[RunId]:
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

    async def outcome(self, run: RunId, launch: Launch) -> Outcome:
        """Start a run, unless it has been started already, and return its outcome once it has ended.

        That of a run which goes where nothing is recorded has the reason as its error: it stays where it is.

        Raises:
            JournalUnavailable, FilesUnavailable: worth trying again.
            RunLost: it was started, and cannot go on: its pattern is gone, for instance.
            EngineError: it cannot be started.
        """
        problem: EngineError | None = None
        for _ in range(ATTEMPTS):
            try:
                await self._start(run, launch)
                if run not in self.host.stranded:
                    return await self._find_stop(run) or await self.host.result(run)
                problem = RunLost(run, self.host.stranded[run])
            except (JournalUnavailable, JournalDamaged, EntryChanged, FilesUnavailable):
                raise
            except JournalError as error:  # This process has lost it.
                problem = RunLost(run, str(error))
            except WorkspaceError as error:  # Its files cannot be made: the disk is full, for instance.
                problem = error
            await self.host.clock.sleep(RETRY_SECONDS)
        assert problem
        raise problem

    async def _start(self, run: RunId, launch: Launch) -> None:
        """Start a run, or have it go on if it was started by a process that has died; it may have ended."""
        with suppress(UnknownRun):
            if (await self.host.info(run)).status.ended:
                return  # What it needed to start need not be there any more.
            await self.host.recover(where=lambda info: info.id == run)
            return
        with suppress(JournalConflict), acting_as(self.experiment.author):  # A process stalled until now has.
            await self._launch(run, launch)

    async def _launch(self, run: RunId, launch: Launch) -> None:
        """Start a run.

        If it `replay`s another, it is answered from that one's journal. If it asks models otherwise, only the
        exchanges with them can tell whether there is an answer.
        """
        source = await self.host.info(RunId(launch.replay)) if launch.replay else None
        if source is None:
            await self.host.start(launch, run=run)
        elif asked_otherwise(launch, source):
            await self.host.start(from_exchanges(launch, source), run=run)
        else:
            await self.host.replay(source.id, launch, new=run)

    async def _find_stop(self, run: RunId) -> Outcome | None:
        """Wait until a run answered from a journal ends or stops; return its outcome if it has stopped."""
        info = await self.host.info(run)
        if 'play' in info.options:
            async with aclosing(self.host.watch(run)) as items:
                async for item in items:
                    if isinstance(item, Transition) and (reason := unrecorded(item)):
                        return Outcome(run=run, status=info.status, answer=None, error=reason, memory={})
        return None

    async def judge(self, key: str, launch: Launch) -> Outcome:
        """Return the outcome of a run that judges another; the same key never starts a second one."""
        tags = (f'{TAG}{self.experiment.id}', JUDGE_TAG)
        return await self.outcome(RunId(key), replace(launch, tags=tags))

    async def cancel(self, run: RunId) -> None:
        """Cancel a run, also if its process has died; nothing happens if it has ended or never began."""
        with suppress(EventRefused, UnknownRun), acting_as(''):
            try:
                await self.host.cancel(run, CANCELLED)
            except RunElsewhere:
                await self.host.recover(paused=True, where=lambda info: info.id == run)
                await self.host.cancel(run, CANCELLED)

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
        other_evidence = None
        if other and other.run:
            with suppress(UnknownRun, JournalDamaged):  # Then there is nothing to compare it with.
                other_evidence = await self.evidence(other, case, {})
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


async def end_of(host: Host, cell: Cell, stopped: str = '') -> Cell:
    """Return a cell with how its run has ended or why it has stopped, and its use.

    Raises:
        UnknownRun, JournalError
    """
    info = await host.info(cell.run)
    return replace(
        cell,
        state='ended',
        status=info.status,
        error=stopped or info.error,
        tokens=info.usage.total,
        dollars=info.usage.cost,
        seconds=(await host.fold(cell.run)).view.seconds,
    )
