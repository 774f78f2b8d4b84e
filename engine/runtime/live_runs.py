"""LiveRuns: starts, recovers, finds and releases the runs this process works on."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any, Unpack, cast

from engine.configuration.catalog import Catalog
from engine.errors import (
    EngineError,
    EventRefused,
    JournalConflict,
    JournalError,
    RunElsewhere,
    UnknownRun,
    WorkspaceError,
)
from engine.journal.fold_reader import read_fold
from engine.journal.projection import RunProjection
from engine.journal.protocol import Journal
from engine.records import Conditions, Event, FileContent, GivenFiles, Outcome, RunId, RunInfo
from engine.records.jsonable import describe_error
from engine.records.payloads import RecoverData, StartData
from engine.runtime.activity import LiveRun, RuntimeContext, Services
from engine.runtime.debugger.condition import check_condition
from engine.runtime.debugger.probe import ConditionResult, probe_condition
from engine.runtime.feed import Feed, Item, watch
from engine.runtime.recorder import keep_trying
from engine.runtime.run import Run
from engine.runtime.run_factory import (
    ACTOR,
    ChartCache,
    event_key,
    find_unpriced_models,
    folders_of_files,
    initial_state,
    outside_event,
    refuse_internal,
    restore_state,
    workflow_of,
)
from engine.runtime.run_recordings import Recordings
from engine.runtime.world.timeouts import TimerSnapshot
from engine.runtime.world.world import RunSetup
from engine.statechart.chart import Chart
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START
from engine.workspace.directories import remove_tree

log = logging.getLogger('hemicycle')
MAX_PROBED_STEPS = 50
"""Number of recent steps searched for the newest one that conditions apply to; pauses do not count."""
MAX_CONCURRENT_RECOVERIES = 8
"""Number of runs recovered at the same time; each mostly waits for the journal and for files."""


class LiveRuns:
    """The live runs of one process, by id.

    Attributes:
        works: whether their activities start here; otherwise events are only decided and journaled.

    Args:
        journal: where runs are stored.
        catalog: where their patterns come from.
        services: the outside world of their activities.
        feed: delivers their steps to listeners.
        recordings: their models' recordings.
        setup: prepares their files, and what they replay.
        owner: the name of this process among those sharing the journal.
        is_alive: whether an owner is still alive; if so, its runs are left alone.
    """

    works = True

    def __init__(  # noqa: PLR0913  (its collaborators)
        self,
        *,
        journal: Journal,
        catalog: Catalog,
        services: Services,
        feed: Feed,
        recordings: Recordings,
        setup: RunSetup,
        owner: str = '',
        is_alive: Callable[[str], bool] = lambda owner: False,
    ) -> None:
        self.journal, self.catalog, self.services, self.feed = journal, catalog, services, feed
        self.recordings, self.workspaces = recordings, services.workspaces
        self.owner = owner or uuid.uuid4().hex
        self.charts = ChartCache(services)
        self.stranded: dict[RunId, str] = {}
        """Unfinished runs that cannot continue, and why."""
        self._setup, self._is_alive = setup, is_alive
        self._context = RuntimeContext(journal=journal, feed=feed, services=services, on_ended=self._forget)
        self.runs: dict[RunId, Run] = {}
        self._recovering = asyncio.Lock()
        self._starting: set[RunId] = set()
        """Runs being started or recovered right now."""

    async def require(self, run: RunId, event: str) -> Run:
        """Return the live run that an event is for. Raises `UnknownRun`, `EventRefused`."""
        if run not in self.runs:
            async with self._recovering:  # It may be about to continue here.
                info = await self.journal.info(run)
        if run not in self.runs:
            elsewhere = self.stranded.get(run, 'another process runs it')
            if info.status.ended:
                raise EventRefused(run, event, f'it is {info.status}')
            raise RunElsewhere(run, event, elsewhere)
        return self.runs[run]

    async def send(
        self,
        run: RunId,
        name: str,
        *,
        at: str = '',
        data: Mapping[str, Any] | None = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Send an event to a run; it is journaled when this returns.

        Args:
            run: which run.
            name: one of the pattern's triggers; or `failed`, to end the work of the state `at` manually.
            at: the active state it is for; '' is for all that accept it.
            data: JSON values for the guards and actions. `approve` takes `always` (true: do not ask again for
                these tools) and `arguments` (by call id, the JSON text to call it with instead); `deny` takes
                `reason`.
            conditions: under which the run accepts it; mean the same in all methods that control a run.

        Raises:
            UnknownRun, EventRefused, InvalidInput
            StepPassed: the run has moved on since step `seen`.
        """
        key = event_key(run, conditions.get('key', ''), name, at, data)
        if key and await self._has_accepted(run, name, key):
            return
        live = await self.require(run, name)
        refuse_internal(run, live.projection, name, at)
        await live.send(outside_event(name, at, data, key), seen=conditions.get('seen'))

    async def _has_accepted(self, run: RunId, name: str, key: str) -> bool:
        """Return whether a run has an event with this key; if it is live elsewhere, that process checks."""
        if live := self.runs.get(run):
            return await live.has_accepted(name, key)
        ended = (await self.journal.info(run)).status.ended
        return ended and key in (await read_fold(self.journal, run)).projection.keys

    async def probe(self, run: RunId, condition: str) -> ConditionResult | None:
        """Evaluate a breakpoint's condition at the run's present step; None before the first.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: it cannot be parsed; names the column.
        """
        live = await self.require(run, 'breakpoints')
        check_condition(condition, type(live.state.pattern).Memory.model_fields)
        last = live.info.seq
        steps = await self.journal.transitions(run, after=max(0, last - MAX_PROBED_STEPS), until=last)
        return probe_condition(condition, steps, live.projection, live.state)

    def chart_of(self, info: RunInfo) -> Chart:
        """Return a run's chart as this process's code builds it. Raises `UnknownPattern`, `InvalidInput`."""
        return self.charts.of(workflow_of(self.catalog, info))

    def can_control(self, run: RunId) -> bool:
        """Whether this process can control the run now."""
        return run in self.runs

    def is_live(self, run: RunId) -> bool:
        """Return whether the feed carries the run's steps and text now."""
        return run in self.runs

    def resting_step(self, run: RunId) -> int:
        """Return the last step of a run paused here with nothing in progress; otherwise 0."""
        live = self.runs.get(run)
        return live.projection.seq if live and live.projection.paused and live.is_idle else 0

    async def take_over(self, run: RunId, timers: Sequence[TimerSnapshot] = ()) -> Run | None:
        """Claim a run from any owner and continue it here; None if it has ended or is deleted.

        Args:
            run: which run.
            timers: its remaining timeouts when it was released.

        Raises:
            UnknownRun, UnknownPattern, EngineError
        """
        info = await self.journal.info(run)
        if info.status.ended or info.deleted:
            return None
        if old := self.runs.pop(run, None):
            await old.release()
        await self._resume(run, {})
        live = self.runs.get(run)
        if live:
            live.restore_timers(timers)
        return live

    async def release_run(self, run: Run) -> tuple[TimerSnapshot, ...]:
        """Release a run without ending it.

        Returns:
            Its remaining timeouts, for its next owner.
        """
        timers = run.export_timers()
        await run.release()
        self._forget(run)
        return timers

    async def create(
        self, info: RunInfo, chart: Chart, state: RunState, files: Mapping[str, FileContent] | None = None
    ) -> None:
        """Start a new run; it is journaled when this returns.

        Raises:
            InvalidInput, JournalError
            WorkspaceError: its files cannot be stored.
        """
        with self._start_of(info.id):
            await self.recordings.check(info)
            if files:
                async with self._storing_files(info.id, files) as given:
                    info = replace(info, options={**info.options, 'files': given})
                    await self.journal.create(info, chart.shape)
            else:
                await self.journal.create(info, chart.shape)
            async with self._discard_on_failure(info.id):
                await self.services.scheduler.wait_for_turn()  # One commit may have created many runs.
                await self._setup.equip(info)
                await self._begin(info, chart, state)

    @asynccontextmanager
    async def _storing_files(self, run: RunId, files: Mapping[str, FileContent]) -> AsyncIterator[GivenFiles]:
        """Store files before the run is journaled, so that whoever recovers it has them."""
        home = self.workspaces.home(run)
        is_new = not home.exists()
        try:
            given = await self.workspaces.give(run, files)
            await self.workspaces.upload(run)
            yield given
        except JournalConflict:
            raise  # They are the files of the run with this id.
        except (EngineError, OSError) as error:
            if is_new:
                await asyncio.to_thread(remove_tree, home)
            if isinstance(error, OSError):
                raise WorkspaceError(f"the run's files cannot be made: {error.strerror or error}") from error
            raise

    async def fork(self, info: RunInfo, chart: Chart) -> None:
        """Start a run in the middle of another's history. Raises `InvalidInput`, `JournalError`."""
        with self._start_of(info.id):
            await self.recordings.check(info)
            await self.journal.fork(info, chart.shape)
            async with self._discard_on_failure(info.id):
                await self._setup.equip(info)
                await self._resume(info.id, {}, equipped=True)

    async def recover(
        self, *, paused: bool = False, where: Callable[[RunInfo], bool] = lambda info: True
    ) -> list[RunId]:
        """Continue every unfinished run whose owner is no longer alive.

        Args:
            paused: whether to pause them before anything starts.
            where: selects the runs.

        While the journal or files are unavailable, it waits: an outage that passes strands no run.

        Returns:
            The runs that continue. Those that cannot are in `stranded`, with the reason.
        """
        room = asyncio.Semaphore(MAX_CONCURRENT_RECOVERIES)

        async def resume(info: RunInfo) -> RunId | None:
            async with room:
                if not where(info) or not self._is_abandoned(info):
                    return None

                async def attempt() -> bool:
                    now = await self.journal.info(info.id)  # It may have ended since it was listed.
                    if now.status.ended or now.deleted or not self._is_abandoned(now):
                        return False
                    await self._resume(info.id, {'paused': True} if paused else {})
                    return True

                try:
                    if not await keep_trying(self._context, info.id, attempt):
                        return None
                except UnknownRun:  # It has been deleted meanwhile.
                    return None
                except Exception as error:  # A run that cannot continue must not hold up the others.
                    self.stranded[info.id] = describe_error(error)
                    return None
                self.stranded.pop(info.id, None)
                return info.id

        async with self._recovering:
            unfinished = await self.journal.unfinished()
            async with asyncio.TaskGroup() as group:
                resuming = [group.create_task(resume(info)) for info in unfinished]
        return [run for task in resuming if (run := task.result())]

    def _is_abandoned(self, info: RunInfo) -> bool:
        """Whether nobody executes a run that has not ended, nor is about to."""
        here = info.id in self.runs or info.id in self._starting
        return not here and (info.owner == self.owner or not self._is_alive(info.owner))

    def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Follow the steps after `after` and streamed text until the run ends. Raises `UnknownRun`."""
        return watch(self.journal, self.feed, run, after, is_live=lambda: self.is_live(run))

    async def result(self, run: RunId) -> Outcome:
        """Wait for the run to end. Raises `UnknownRun`."""
        if live := self.runs.get(run):
            await live.detached.wait()
            if live.outcome:
                return live.outcome
            if reason := self.stranded.get(run):
                raise JournalError(f'run {run} cannot continue here: {reason}')
        seen = (await self.journal.info(run)).seq
        async for _ in self.watch(run, after=seen):
            pass
        if self.feed.closed:
            raise EventRefused(run, 'result', 'this process is closing')
        view, shape = (await read_fold(self.journal, run)).view, await self.journal.shape(run)
        memory = await asyncio.to_thread(dict, view.memory)
        answer = memory.get(shape.answer) if shape.answer else None
        return Outcome(run=run, status=view.status, answer=answer, error=view.error, memory=memory)

    async def release(self, grace: asyncio.Future[Any] | None = None) -> None:
        """Release all runs without ending them.

        Args:
            grace: until it is done, work of runs with real models may finish, so that no call is paid for
                twice; by default all work is interrupted immediately.
        """
        try:
            if grace:
                await self._drain(grace)
            await asyncio.gather(*(run.release() for run in self.runs.values()), return_exceptions=True)
        finally:
            self.runs.clear()

    async def _drain(self, grace: asyncio.Future[Any]) -> None:
        paid = [
            run
            for run in self.runs.values()
            if not (run.info.simulated or run.info.status.ended or run.is_idle)
        ]
        if not paid:
            return
        log.warning('runs that may finish their calls first: %s; interrupt again to cut them off', len(paid))
        drained: asyncio.Future[Any] = asyncio.gather(*(run.drain() for run in paid), return_exceptions=True)
        await asyncio.wait([drained, grace], return_when=asyncio.FIRST_COMPLETED)
        drained.cancel()
        # Retrieves its error; our own cancellation propagates.
        await asyncio.gather(drained, return_exceptions=True)

    @asynccontextmanager
    async def _discard_on_failure(self, run: RunId) -> AsyncIterator[None]:
        """Delete a newly journaled run if it cannot begin; otherwise the next recovery would start it."""
        try:
            yield
        except (Exception, asyncio.CancelledError) as error:
            if run not in self.runs:
                await asyncio.shield(self._discard(run))
            if isinstance(error, OSError):
                raise WorkspaceError(f"the run's files cannot be made: {error.strerror or error}") from error
            raise

    async def _discard(self, run: RunId) -> None:
        with suppress(EngineError):  # The caller gets the error that kept it from beginning.
            await self.workspaces.delete(run)  # First: on a full disk, the journal needs the space.
            await self.journal.delete(run)

    async def _resume(self, run: RunId, data: Mapping[str, Any], *, equipped: bool = False) -> None:
        with self._start_of(run):
            stored = await self.journal.info(run)
            if new := stored.seq == stored.parent_at:
                data = {**stored.options.get('begins', {}), **data}
            await self.catalog.compile(stored.pattern, stored.version)
            workflow = workflow_of(self.catalog, stored)
            chart = self.charts.of(workflow)
            # Claim first, so that no other process appends to the history read next.
            info = await self.journal.claim(run, self.owner)
            fold = await read_fold(self.journal, run)
            if new and not equipped:
                await self._setup.equip(info)
            if self.works:
                await self._restore_files(info, fold.projection)
            if fold.projection.seq == 0:
                await self._begin(info, chart, initial_state(workflow))
                return
            state, projection = restore_state(fold, workflow, chart), fold.projection
            live = await self._add(info, chart, state, projection)
            if self.works or new:
                recovery = cast(RecoverData, dict(data))
                if unpriced := await self._unpriced(info):
                    recovery['unpriced'] = unpriced
                await live.send(Event(name='recover', data=recovery, who=ACTOR.get()))

    async def _restore_files(self, info: RunInfo, projection: RunProjection) -> None:
        """Fetch the files of the run's last step, waiting while they are unavailable."""

        async def restore() -> None:
            await self.workspaces.restore(info.id, projection.files)
            await self.recordings.truncate(info.id, projection, epoch=info.epoch)

        await keep_trying(self._context, info.id, restore)

    async def _begin(self, info: RunInfo, chart: Chart, state: RunState) -> None:
        projection = RunProjection(chart.shape)
        projection.active = (START,)
        run = await self._add(info, chart, state, projection)
        if first := run.world.first_event():
            await run.send(first)  # Its files are restored before any work.
            return
        data: StartData = {'memory': state.dump()['memory']}
        if given := info.given_files:
            tools = info.options.get('tools', {})
            folders = folders_of_files(state.pattern, self.services.tools, models=info.models, tools=tools)
            data['snapshots'] = dict.fromkeys(folders, given['snapshot'])
            if self.works:
                await self.workspaces.restore(info.id, data['snapshots'])
        if info.budget:
            data['budget'] = asdict(info.budget)
        if 'paused' in info.options:
            data['paused'] = info.options['paused']
        if 'breakpoints' in info.options:
            data['breakpoints'] = info.options['breakpoints']
        if unpriced := await self._unpriced(info):
            data['unpriced'] = unpriced
        await run.send(Event(name='start', data=data, who=ACTOR.get()))

    async def _unpriced(self, info: RunInfo) -> Sequence[str]:
        """Return the models without a known price, if a cost budget has to count them."""
        if info.budget is None or info.budget.cost is None:
            return ()
        return await asyncio.to_thread(find_unpriced_models, self.services, info)

    async def _add(self, info: RunInfo, chart: Chart, state: RunState, projection: RunProjection) -> Run:
        make_world = await self._setup.find_world(info, projection, chart.shape)
        if self.feed.closed:
            raise EngineError('this process is shutting down: it starts no more runs')
        self.runs[info.id] = run = Run(info, chart, state, projection, self._context, make_world)
        if not self.works:
            run.withhold_work()
        return run

    @contextmanager
    def _start_of(self, run: RunId) -> Iterator[None]:
        outermost = run not in self._starting
        self._starting.add(run)
        try:
            yield
        finally:
            if outermost:
                self._starting.discard(run)

    def _forget(self, run: LiveRun) -> None:
        if self.runs.get(run.info.id) is run:  # Otherwise it has been recovered since.
            if run.lost and not run.claimed:
                self.stranded[run.info.id] = run.lost
            del self.runs[run.info.id]
            self.workspaces.forget(run.info.id)
            self.recordings.forget(run.info.id)
            self.services.mcp.forget(run.info.id)
        self.feed.wake(run.info.id)
