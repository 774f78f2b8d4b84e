"""Conductor: what callers may do with workflows and their runs, here or on a server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from engine.configuration.catalog import Catalog
from engine.history.bundle.documents import Imported
from engine.host.clock import Clock
from engine.journal.retention_policy import Retention
from engine.operations.charting import Charting
from engine.operations.connections import Agents, Endpoints, McpServers
from engine.operations.experimenting import Datasets, Experimenting, ExperimentResult
from engine.operations.experiments.records import Experiment
from engine.operations.forking import Forking
from engine.operations.reading import Checking, Reading
from engine.operations.rehearsing import Rehearsing
from engine.operations.steering import Steering
from engine.operations.table import Role, operation
from engine.operations.upkeep import Annotating, Retaining
from engine.operations.work import Files, Merging
from engine.records import (
    Launch,
    RunId,
    RunInfo,
    Status,
    View,
)
from engine.runtime.feed import Item
from engine.statechart.memory import Memory
from engine.statechart.pattern import Pattern, restore_memory


class Conductor(Reading, Steering, Forking, Annotating, Retaining, Checking, Rehearsing, Protocol):
    """Runs workflows: `LocalConductor` in this process, `HttpConductor` on a server."""

    @property
    def catalog(self) -> Catalog:
        """The patterns, models and tools."""

    @property
    def clock(self) -> Clock:
        """The source of time."""

    @property
    def owner(self) -> str:
        """The name of the process that runs the runs, among those sharing the journal."""

    @property
    def stranded(self) -> Mapping[RunId, str]:
        """Unfinished runs that cannot continue, and why."""

    @property
    def retention(self) -> Retention:
        """How long runs are kept, as configured."""

    @property
    def merging(self) -> Merging:
        """Merges the work of agents into their projects."""

    @property
    def experiments(self) -> Experimenting:
        """Variants of a workflow, run on the same cases."""

    @property
    def datasets(self) -> Datasets:
        """The cases of experiments."""

    @property
    def endpoints(self) -> Endpoints:
        """The endpoints of models."""

    @property
    def mcp_servers(self) -> McpServers:
        """The MCP servers whose tools agents use."""

    @property
    def agents(self) -> Agents:
        """Coding agents that can take the place of a model."""

    @property
    def charts(self) -> Charting:
        """The charts that are files, and their versions."""

    @property
    def workspaces(self) -> Files:
        """The files of agents."""

    @operation(Role.OPERATOR, runs=(), by_hand='start')
    async def start(
        self,
        launch: Launch | type[Pattern] | str,
        parameters: Mapping[str, Any] | None = None,
        *,
        run: RunId | None = None,
        **values: Any,
    ) -> RunHandle:
        """Start a run; it is journaled when this returns.

        Args:
            launch: what to run: a `Launch`, or a pattern's class or name for one made of the other arguments.
            parameters: values for the pattern's `Parameters`; those of the replayed run by default.
            run: its id, if the caller chooses it.
            values: fields of `Launch`, such as `title`, `models` and `budget`; all others are parameters.

        Raises:
            UnknownPattern
            JournalError: `JournalConflict` if there is already a run with that id.
            InvalidInput: names the field, which may be one the pattern does not have.
        """

    @operation(Role.OPERATOR, by_hand='start_experiment')
    async def experiment(self, experiment: Experiment) -> ExperimentResult:
        """Start an experiment, wait until it is over, and return its result.

        Raises:
            UnknownPattern, UnknownDataset
            InvalidInput: names the field, the variant or the case.
        """

    @operation(Role.VIEWER, by_hand='get_run')
    def handle(self, run: RunId) -> RunHandle:
        """Return a handle to an existing run."""

    @operation(Role.ADMIN, by_hand='recover')
    async def recover(self) -> list[RunId]:
        """Continue all unfinished runs whose process has died, and list them."""

    @operation(Role.OPERATOR, by_hand='import_bundle')
    async def import_bundle(
        self, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
    ) -> list[Imported]:
        """Import a bundle of runs or of an experiment, or traces: all or none. Known runs are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended."""

    status: Status
    answer: Any
    """The value of the pattern's answer field; None if it has none."""
    error: str
    memory: Any
    """The pattern's `Memory`, or a `Memory` with fields of JSON if the pattern is not in the catalog."""


class UntypedMemory(Memory, extra='allow'):
    """The memory of a run whose pattern is only known where it runs."""


@dataclass(frozen=True, slots=True)
class RunHandle:
    """A handle to one run, which continues whether or not anyone watches it."""

    id: RunId
    conductor: Conductor

    async def info(self) -> RunInfo:
        """Return its summary. Raises `UnknownRun`."""
        return await self.conductor.info(self.id)

    async def view(self, at: int | None = None) -> View:
        """Return the run as of step `at`, or now. Raises `UnknownRun`, `UnknownStep`."""
        return await self.conductor.view(self.id, at)

    def watch(self, *, after: int = 0) -> AsyncGenerator[Item]:
        """Follow the steps after `after` and streamed text until the run ends. Raises `UnknownRun`."""
        return self.conductor.watch(self.id, after=after)

    async def result(self) -> RunResult:
        """Wait until the run has ended. Raises `UnknownRun`; `InvalidInput` if its memory no longer fits."""
        outcome = await self.conductor.result(self.id)
        pattern = self.conductor.catalog.find_of(await self.info())
        memory = pattern.Memory if pattern else UntypedMemory
        return RunResult(
            status=outcome.status,
            answer=outcome.answer,
            error=outcome.error,
            memory=restore_memory(memory, outcome.memory),
        )

    async def send(self, name: str, *, at: str = '', data: Mapping[str, Any] | None = None) -> None:
        """Send an event. Raises `EventRefused`, `InvalidInput`."""
        await self.conductor.send(self.id, name, at=at, data=data or {})

    async def cancel(self, reason: str = '') -> None:
        """Cancel the run; it cannot be resumed. Raises `EventRefused` if it has ended."""
        await self.conductor.cancel(self.id, reason)
