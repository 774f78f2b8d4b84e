"""Conductor: the engine's single entry point to start, watch, control, recover, fork and read runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from engine.configuration.catalog import Catalog
from engine.errors import InvalidInput
from engine.history.bundle.importer import Imported
from engine.history.bundle.redaction import Redaction
from engine.history.bundle.store import BundleStore
from engine.history.bundle.writer import export_bundle
from engine.history.forks.fork_setup import ForkSetup
from engine.history.forks.forks import Forks
from engine.history.forks.regression_tests import RegressionTests
from engine.history.merging import RunMerging
from engine.history.retention import RunMaintenance
from engine.history.run_reader import RunReader
from engine.history.traces.importer import import_runs
from engine.host.clock import Clock, RealClock
from engine.host.home import home_folder
from engine.journal.memory_journal import MemoryJournal
from engine.journal.protocol import Journal
from engine.journal.retention_policy import Retention
from engine.models import endpoints_file
from engine.records import Launch, RunId, RunInfo, Status, View
from engine.runtime.activity import Services
from engine.runtime.debugger.breakpoint_validation import validate_breakpoints
from engine.runtime.fair_scheduler import FairScheduler
from engine.runtime.feed import Feed, Item
from engine.runtime.live_runs import LiveRuns
from engine.runtime.recording.run_recordings import Recordings
from engine.runtime.run_control import RunControl
from engine.runtime.run_factory import initial_state, new_run_info, unknown_names
from engine.statechart.memory import Memory
from engine.statechart.pattern import Pattern
from engine.workspace.git.worktree import has_worktree, listed_files
from engine.workspace.project import missing_projects, oversized_projects
from engine.workspace.sandbox.sandbox import PRIVATE_ADDRESSES, Sandbox, env_flag
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.workspaces import Workspaces

P = ParamSpec('P')
T = TypeVar('T')


class Delegated(Generic[P, T]):
    """A method of the conductor that is the same method of one of its components.

    Args:
        component: the conductor's attribute that holds it.
        method: as its class declares it; a subclass may override it.
    """

    def __init__(self, component: str, method: Callable[Concatenate[Any, P], T]) -> None:
        self._component, self._method = component, method

    @overload
    def __get__(self, conductor: None, owner: type) -> Callable[Concatenate[Any, P], T]: ...
    @overload
    def __get__(self, conductor: Conductor, owner: type) -> Callable[P, T]: ...
    def __get__(self, conductor: Conductor | None, owner: type) -> Callable[..., T]:
        if conductor is None:
            return self._method
        method: Callable[P, T] = getattr(getattr(conductor, self._component), self._method.__name__)
        return method


class Conductor:
    """Runs workflows.

    Use it as an async context manager: on exit it releases the runs, which continue once recovered.

    Most of its methods are those of components with one concern each: `Journal`, `LiveRuns`, `RunControl`,
    `RunReader`, `RunMaintenance`, `Forks`, `RegressionTests`.

    Args:
        journal: where runs are stored; in memory by default.
        catalog: patterns, models and tools; by default the built-in ones and the endpoints in the file that
            the command line reads (`HEMICYCLE_ENDPOINTS`).
        clock: the source of time.
        owner: the name of this process among those sharing the journal.
        is_alive: whether an owner is still alive; if so, its runs are left alone.
        workspaces: the folder for agents' files; by default in the user's data folder, or a temporary one if
            the journal is in memory too.
        files: storage that shares the agents' files with other machines; none by default.
        sandbox: runs agents' commands; by default as configured in the environment.
        private_addresses: whether agents may fetch pages from this machine; by default as configured in the
            environment.
        live_runs: creates the component that executes runs: by default in this process, in a fleet in others.
    """

    def __init__(  # noqa: PLR0913  (all have defaults)
        self,
        journal: Journal | None = None,
        *,
        catalog: Catalog | None = None,
        clock: Clock | None = None,
        owner: str = '',
        is_alive: Callable[[str], bool] = lambda owner: False,
        workspaces: Path | None = None,
        files: RemoteFiles | None = None,
        sandbox: Sandbox | None = None,
        private_addresses: bool | None = None,
        live_runs: Callable[..., LiveRuns] = LiveRuns,
    ) -> None:
        self.journal = journal or MemoryJournal()
        self.catalog = catalog or Catalog.load(endpoints=endpoints_file())
        self.clock = clock or RealClock()
        if workspaces is None and not isinstance(self.journal, MemoryJournal):
            workspaces = home_folder() / 'workspaces'
        self.workspaces = Workspaces(workspaces, files)
        self.recordings = Recordings(self.workspaces)
        self.sandbox = sandbox or Sandbox.of_environment()
        self.feed = Feed()
        self.services = Services(
            clock=self.clock,
            scheduler=FairScheduler(self.clock),
            models=self.catalog.registry,
            tools=self.catalog.tools,
            mcp=self.catalog.mcp,
            workspaces=self.workspaces,
            recordings=self.recordings,
            sandbox=self.sandbox,
            redact=self.catalog.redact,
            private_addresses=env_flag(PRIVATE_ADDRESSES) if private_addresses is None else private_addresses,
        )
        self._live = live = live_runs(
            journal=self.journal,
            catalog=self.catalog,
            services=self.services,
            feed=self.feed,
            recordings=self.recordings,
            setup=ForkSetup(self.journal, self.workspaces, self.recordings),
            owner=owner,
            is_alive=is_alive,
        )
        self.owner, self.stranded = live.owner, live.stranded
        self._control = RunControl(live)
        self._reader = RunReader(self.journal, self.catalog)
        self._maintenance = RunMaintenance(live, self._control)
        self._forks = Forks(live, self._reader)
        self._tests = RegressionTests(live, self._reader, self._forks)
        self.merging = RunMerging(self._reader, self.workspaces, self.sandbox, self._forks)
        self._bundles = BundleStore(
            reader=self._reader, workspaces=self.workspaces, recordings=self.recordings, clock=self.clock
        )

    recover = Delegated('_live', LiveRuns.recover)
    watch = Delegated('_live', LiveRuns.watch)
    result = Delegated('_live', LiveRuns.result)
    send = Delegated('_live', LiveRuns.send)
    probe = Delegated('_live', LiveRuns.probe)
    can_control = Delegated('_live', LiveRuns.can_control)
    resting_step = Delegated('_live', LiveRuns.resting_step)

    pause = Delegated('_control', RunControl.pause)
    resume = Delegated('_control', RunControl.resume)
    step = Delegated('_control', RunControl.step)
    extend = Delegated('_control', RunControl.extend)
    cancel = Delegated('_control', RunControl.cancel)
    set_breakpoints = Delegated('_control', RunControl.set_breakpoints)

    info = Delegated('journal', Journal.info)
    shape = Delegated('journal', Journal.shape)
    snapshot = Delegated('journal', Journal.snapshot)
    transitions = Delegated('journal', Journal.transitions)
    notes = Delegated('journal', Journal.notes)
    delete_note = Delegated('journal', Journal.delete_note)

    runs = Delegated('_reader', RunReader.runs)
    view = Delegated('_reader', RunReader.view)
    fold = Delegated('_reader', RunReader.fold)
    turn_end = Delegated('_reader', RunReader.turn_end)
    accepts = Delegated('_reader', RunReader.accepts)
    audit = Delegated('_reader', RunReader.audit)
    compare = Delegated('_reader', RunReader.compare)
    traffic = Delegated('_reader', RunReader.traffic)
    explain_guards = Delegated('_reader', RunReader.explain_guards)
    draw = Delegated('_reader', RunReader.draw)

    annotate = Delegated('_maintenance', RunMaintenance.annotate)
    write_note = Delegated('_maintenance', RunMaintenance.write_note)
    delete = Delegated('_maintenance', RunMaintenance.delete)
    restore = Delegated('_maintenance', RunMaintenance.restore)
    purge = Delegated('_maintenance', RunMaintenance.purge)
    disk_usage = Delegated('_maintenance', RunMaintenance.disk_usage)
    preview_cleanup = Delegated('_maintenance', RunMaintenance.preview_cleanup)
    clean_up = Delegated('_maintenance', RunMaintenance.clean_up)
    iter_runs = Delegated('_maintenance', RunMaintenance.iter_runs)

    fork = Delegated('_forks', Forks.fork)
    fork_all = Delegated('_forks', Forks.fork_all)
    forecast = Delegated('_forks', Forks.forecast)
    rerun = Delegated('_forks', Forks.rerun)
    retry = Delegated('_forks', Forks.retry)
    retry_at = Delegated('_forks', Forks.retry_at)
    lineage = Delegated('_forks', Forks.lineage)
    family = Delegated('_forks', Forks.family)
    mark_winner = Delegated('_forks', Forks.mark_winner)

    save_test = Delegated('_tests', RegressionTests.save_test)
    check = Delegated('_tests', RegressionTests.check)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self, grace: asyncio.Future[Any] | None = None) -> None:
        """Release all runs without ending them, and close the journal; all watchers end.

        Args:
            grace: until it is done, calls in flight to real models may finish and are journaled; by default
                they are cut off, and repeated by the process that continues the runs.
        """
        self.feed.close()
        try:
            await self._live.release(grace)
        finally:
            await asyncio.gather(self.journal.close(), self.catalog.close())
            await self.workspaces.close()

    @property
    def retention(self) -> Retention:
        """How long runs are kept, as configured."""
        return self.catalog.configuration.retention

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
        if isinstance(launch, type):
            self.catalog.add(launch)
            launch = launch.name
        launch = Launch.build(launch, parameters, values)
        pattern = self.catalog.pattern(launch.pattern)
        await self.services.scheduler.wait_for_turn()
        replayed_run = await self._find_replayed(pattern.name, RunId(launch.replay))
        workflow = pattern(
            pattern.parse_recorded(replayed_run.parameters)
            if replayed_run and not launch.parameters
            else pattern.parse(launch.parameters)
        )
        # The folders and keys it needs can only be checked on the machine that does the work.
        if not replayed_run and self._live.works and (problems := await _start_problems(workflow)):
            raise InvalidInput(problems)
        by_role = {name: getattr(launch, name) for name in ('models', 'effort', 'instructions', 'tools')}
        if wrong := unknown_names(workflow, self.services, by_role=by_role, tools=launch.tools):
            raise InvalidInput(wrong)
        workflow.instruction_overrides = dict(launch.instructions)
        chart, state = self._live.charts.of(workflow), initial_state(workflow)
        breakpoints = validate_breakpoints(launch.breakpoints, chart.shape, pattern.Memory.model_fields)
        launch = replace(launch, breakpoints=breakpoints)
        new = new_run_info(launch, workflow, self.services, replayed_run=replayed_run)
        info = replace(new, id=run or new.id, owner=self.owner)
        await self._live.create(info, chart, state)
        return RunHandle(info.id, self)

    def handle(self, run: RunId) -> RunHandle:
        """Return a handle to an existing run."""
        return RunHandle(run, self)

    def export_bundle(
        self, runs: Sequence[RunId], *, redaction: Redaction | None = None, compressed: bool = True
    ) -> AsyncIterator[bytes]:
        """Export runs as a bundle; see `history.bundle.writer.export_bundle`."""
        return export_bundle(self._bundles, runs, redaction=redaction, compressed=compressed)

    async def import_bundle(
        self, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
    ) -> list[Imported]:
        """Import the runs in a bundle or a file of traces; see `history.traces.importer.import_runs`."""
        return await import_runs(self._bundles, file, progress=progress)

    async def _find_replayed(self, pattern: str, run: RunId) -> RunInfo | None:
        """Return the run to replay. Raises `UnknownRun`, `InvalidInput`."""
        info = await self.journal.info(run) if run else None
        if info and info.pattern != pattern:
            raise InvalidInput({'replay': f'run {run} has the pattern {info.pattern}, not {pattern}'})
        return info


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
        """Wait until the run has ended. Raises `UnknownRun`."""
        outcome = await self.conductor.result(self.id)
        pattern = self.conductor.catalog.find((await self.info()).pattern)
        memory = pattern.Memory if pattern else UntypedMemory
        return RunResult(
            status=outcome.status,
            answer=outcome.answer,
            error=outcome.error,
            memory=memory.model_validate(outcome.memory),
        )

    async def send(self, name: str, *, at: str = '', data: Mapping[str, Any] | None = None) -> None:
        """Send an event. Raises `EventRefused`, `InvalidInput`."""
        await self.conductor.send(self.id, name, at=at, data=data)

    async def cancel(self, reason: str = '') -> None:
        """Cancel the run; it cannot be resumed. Raises `EventRefused` if it has ended."""
        await self.conductor.cancel(self.id, reason)


async def _start_problems(workflow: Pattern) -> dict[str, str]:
    projects = {name: getattr(workflow.parameters, name) for name in workflow.projects}
    missing = missing_projects(projects)
    present = {name: project for name, project in projects.items() if name not in missing}
    project = present.get('project', '')
    by_git = getattr(workflow.parameters, 'worktrees', False) and has_worktree(project)
    listings = {'project': await listed_files(project)} if by_git else {}
    copies = getattr(workflow.parameters, 'copies', 1)
    oversized = await oversized_projects(present, listings, copies=copies)
    return {**missing, **oversized, **workflow.start_problems()}
