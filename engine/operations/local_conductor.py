"""LocalConductor: starts, watches, controls, recovers, forks and reads runs in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from engine.charts.desk import LibraryDesk
from engine.charts.library import ChartLibrary, charts_folder
from engine.configuration.catalog import Catalog
from engine.configuration.connections import CatalogAgents, CatalogEndpoints, CatalogServers
from engine.errors import InvalidInput
from engine.history.bundle.documents import Imported
from engine.history.bundle.redaction import Redaction
from engine.history.bundle.store import BundleStore
from engine.history.bundle.writer import export_bundle
from engine.history.forks.fork_setup import ForkSetup
from engine.history.forks.forks import Forks
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
from engine.operations.conductor import RunHandle
from engine.operations.experimenting import ExperimentResult, run_experiment
from engine.operations.experiments.checking import CheckResult, check_file
from engine.operations.experiments.experiments import Experiments
from engine.operations.experiments.files.bundle_import import ExperimentDocuments
from engine.operations.experiments.files.saved_test import saved_test
from engine.operations.experiments.files.yaml_file import ExperimentFile
from engine.operations.experiments.records import Experiment
from engine.operations.library_charts import LibraryCharts
from engine.operations.rehearsal import Cost, Rehearsals
from engine.records import Launch, RunId, RunInfo
from engine.runtime.activity import Services
from engine.runtime.debugger.breakpoint_validation import validate_breakpoints
from engine.runtime.fair_scheduler import FairScheduler
from engine.runtime.feed import Feed
from engine.runtime.live_runs import LiveRuns
from engine.runtime.run_control import RunControl
from engine.runtime.run_factory import folders_of_files, initial_state, new_run_info, unknown_names
from engine.runtime.run_recordings import Recordings
from engine.runtime.stubs import check_stubs
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import RunState
from engine.workspace.git.worktree import has_worktree, listed_files
from engine.workspace.project import missing_projects, oversized_projects
from engine.workspace.sandbox.sandbox import PRIVATE_ADDRESSES, Sandbox, env_flag
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.workspaces import Workspaces, read_given_files


class LocalConductor:
    """Runs workflows in this process; see `Conductor`.

    Use it as an async context manager: on exit it releases the runs, which continue once recovered.

    Most operations are carried out by components with one concern each: `Journal`, `LiveRuns`, `RunControl`,
    `RunReader`, `RunMaintenance`, `Forks`, `Experiments`.

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
        if catalog is None:
            catalog = Catalog.load(endpoints=endpoints_file())
            ChartLibrary(catalog, charts_folder())
        self.catalog = catalog
        charts = catalog.charts
        library = charts if isinstance(charts, ChartLibrary) else ChartLibrary(catalog)
        self.charts = LibraryCharts(library)
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
            desk=LibraryDesk(library, self.journal),
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
        control, reader = RunControl(live), RunReader(self.journal, self.catalog)
        maintenance, forks = RunMaintenance(live, control), Forks(live, reader)
        self._shares_catalog = False
        self.endpoints = CatalogEndpoints(self.catalog, self.clock)
        self.mcp_servers = CatalogServers(self.catalog)
        self.agents = CatalogAgents(self.catalog, self.sandbox, self.clock)
        self.merging = RunMerging(reader, self.workspaces, self.sandbox, forks)
        self.bundles = BundleStore(
            reader=reader,
            workspaces=self.workspaces,
            recordings=self.recordings,
            clock=self.clock,
            documents=ExperimentDocuments(self.journal, self.catalog, self.clock),
        )

        self.recover = live.recover
        self.watch = live.watch
        self.result = live.result
        self.send = live.send
        self.probe = live.probe
        self.can_control = live.can_control
        self.resting_step = live.resting_step
        self.pause = control.pause
        self.resume = control.resume
        self.step = control.step
        self.extend = control.extend
        self.cancel = control.cancel
        self.approve = control.approve
        self.deny = control.deny
        self.take_seat = control.take_seat
        self.hand_back = control.hand_back
        self.edit = control.edit
        self.set_breakpoints = control.set_breakpoints
        self.info = self.journal.info
        self.shape = self.journal.shape
        self.snapshot = self.journal.snapshot
        self.transitions = self.journal.transitions
        self.notes = self.journal.notes
        self.delete_note = self.journal.delete_note
        self.runs = reader.runs
        self.view = reader.view
        self.fold = reader.fold
        self.turn_end = reader.turn_end
        self.accepts = reader.accepts
        self.audit = reader.audit
        self.compare = reader.compare
        self.traffic = reader.traffic
        self.explain_guards = reader.explain_guards
        self.annotate = maintenance.annotate
        self.write_note = maintenance.write_note
        self.delete = maintenance.delete
        self.restore = maintenance.restore
        self.purge = maintenance.purge
        self.disk_usage = maintenance.disk_usage
        self.preview_cleanup = maintenance.preview_cleanup
        self.clean_up = maintenance.clean_up
        self.iter_runs = maintenance.iter_runs
        self.fork = forks.fork
        self.fork_all = forks.fork_all
        self.forecast = forks.forecast
        self.replay = forks.replay
        self.rerun = forks.rerun
        self.retry = forks.retry
        self.retry_at = forks.retry_at
        self.lineage = forks.lineage
        self.family = forks.family
        self.mark_winner = forks.mark_winner
        self.rehearse = Rehearsals(self.catalog, self.journal).rehearse
        self.experiments = Experiments(self, self._prepare, self._cost_of, is_alive)
        self.datasets = self.experiments.datasets

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
        await self.experiments.close()
        self.feed.close()
        try:
            await self._live.release(grace)
        finally:
            own = () if self._shares_catalog else (self.catalog.close(),)
            await asyncio.gather(self.journal.close(), *own)
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
        """Start a run; see `Conductor.start`."""
        if isinstance(launch, type):
            self.catalog.add(launch)
            launch = launch.name
        await self.services.scheduler.wait_for_turn()
        launch = Launch.build(launch, parameters, values)
        if launch.replay and not launch.files:
            replayed = await self.journal.info(RunId(launch.replay))
            launch = replace(launch, files=await read_given_files(self.workspaces, replayed))
        info, chart, state = await self._prepare(launch)
        info = replace(info, id=run or info.id, owner=self.owner)
        await self._live.create(info, chart, state, launch.files)
        return RunHandle(info.id, self)

    async def _prepare(self, launch: Launch) -> tuple[RunInfo, Chart, RunState]:
        """Check all of a launch, and return what the new run starts with. Raises as `start`."""
        await self.catalog.refresh()
        await self.catalog.compile(launch.pattern, launch.version)
        pattern = self.catalog.pattern(launch.pattern, launch.version)
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
        if launch.files and not folders_of_files(
            workflow, self.services.tools, models=launch.models, tools=launch.tools
        ):
            raise InvalidInput({'files': f'no agent of {pattern.name} has a tool for files, or for commands'})
        launch = replace(launch, stubs=check_stubs(workflow, launch.stubs))
        workflow.instruction_overrides = dict(launch.instructions)
        chart, state = self._live.charts.of(workflow), initial_state(workflow)
        breakpoints = validate_breakpoints(launch.breakpoints, chart.shape, pattern.Memory.model_fields)
        launch = replace(launch, breakpoints=breakpoints)
        return new_run_info(launch, workflow, self.services, replayed_run=replayed_run), chart, state

    async def experiment(self, experiment: Experiment) -> ExperimentResult:
        """Start an experiment, wait until it is over, and return its result."""
        return await run_experiment(self, experiment)

    async def save_test(self, run: RunId) -> ExperimentFile:
        """Make a test of a run: an experiment on its recording that expects what it did.

        Raises:
            UnknownRun
            UnknownPattern: the run was imported from a trace, so there is no pattern to test.
        """
        info, view, shape = await self.info(run), await self.view(run), await self.shape(run)
        if shape.is_imported_trace:
            self.catalog.pattern(shape.pattern)
        return saved_test(info, shape, view, await self.transitions(run, until=view.seq))

    async def check(self, file: ExperimentFile) -> CheckResult:
        """Run an experiment on recordings apart from the runs here; see `check_file`."""
        aside = LocalConductor(catalog=self.catalog, clock=self.clock, sandbox=self.sandbox)
        aside._shares_catalog = True
        async with aside:
            return await check_file(aside, file)

    def handle(self, run: RunId) -> RunHandle:
        """Return a handle to an existing run."""
        return RunHandle(run, self)

    def export_bundle(
        self, runs: Sequence[RunId], *, redaction: Redaction | None = None, compressed: bool = True
    ) -> AsyncIterator[bytes]:
        """Export runs as a bundle; see `history.bundle.writer.export_bundle`."""
        return export_bundle(self.bundles, runs, redaction=redaction, compressed=compressed)

    async def import_bundle(
        self, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
    ) -> list[Imported]:
        """Import a bundle or a file of traces; see `history.traces.importer.import_runs`."""
        return await import_runs(self.bundles, file, progress=progress)

    async def _cost_of(self, launch: Launch) -> Cost:
        """Return what a run costs at least and at most."""
        rehearsal = await self.rehearse(
            launch.pattern,
            launch.parameters,
            stubs=launch.stubs or None,
            models=launch.models,
            seconds=0,
            version=launch.version,
        )
        return rehearsal.cost

    async def _find_replayed(self, pattern: str, run: RunId) -> RunInfo | None:
        """Return the run to replay. Raises `UnknownRun`, `InvalidInput`."""
        info = await self.journal.info(run) if run else None
        if info and info.pattern != pattern:
            raise InvalidInput({'replay': f'run {run} has the pattern {info.pattern}, not {pattern}'})
        return info


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
