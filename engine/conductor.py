"""The facade: start, watch, steer, recover, fork and read runs. Everybody uses this door."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self, Unpack

from engine.activity import Services
from engine.catalog import Catalog
from engine.chart import Chart
from engine.clock import Clock, RealClock
from engine.commands.sandbox import PRIVATE, Sandbox, is_on
from engine.errors import EngineError, EventRefused, InvalidInput
from engine.feed import Feed, Item
from engine.files.workspaces import Workspaces, default_root
from engine.forks.checking import Checking
from engine.forks.playback import Player
from engine.host import Host
from engine.journal import Journal
from engine.options import Options
from engine.passing import MemoryJournal
from engine.plain import said
from engine.prepare import Charts, begun, launched, opened, restored, unpriced_models, workflow_of
from engine.recordings import Recordings
from engine.records import Budget, Event, Outcome, RunId, RunInfo
from engine.run import Run
from engine.shape import START
from engine.state import RunState
from engine.view import Ledger
from engine.watch import watch


class Conductor(Checking):
    """Runs workflows.

    Use it as an async context manager: leaving it lets go of the runs, which go on when recovered.

    Args:
        journal: where runs are kept; in memory by default.
        catalog: patterns, models and tools; what the engine brings by default.
        clock: the source of time.
        owner: this process, among those that share the journal.
        is_alive: whether an owner is still there, so that its runs are left to it.
        workspaces: the folder for the files of agents; by default in that of the user's data, or a temporary
            one where the journal is in memory too.
        sandbox: what runs agents' commands; by default as the environment says.
        private_addresses: whether agents may fetch pages of this machine; by default as the environment says.
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
        sandbox: Sandbox | None = None,
        private_addresses: bool | None = None,
    ) -> None:
        kept = journal or MemoryJournal()
        root = workspaces or (None if isinstance(kept, MemoryJournal) else default_root())
        super().__init__(kept, catalog or Catalog.load(), clock or RealClock(), Workspaces(root))
        self.owner = owner or uuid.uuid4().hex
        self.feed = Feed()
        self._is_alive = is_alive
        self.recordings = Recordings(self.workspaces)
        self.sandbox = sandbox or Sandbox.of_environment()
        self.services = services = Services(
            clock=self.clock,
            models=self.catalog.offer,
            tools=self.catalog.tools,
            mcp=self.catalog.mcp,
            workspaces=self.workspaces,
            recordings=self.recordings,
            sandbox=self.sandbox,
            private_addresses=is_on(PRIVATE) if private_addresses is None else private_addresses,
        )
        self._host = Host(journal=self.journal, feed=self.feed, services=services, ended=self._forget)
        self._charts = Charts(services)
        self._waking: set[RunId] = set()
        """Runs that are being started or recovered just now."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all runs, without ending them, and close the journal; what watches them ends."""
        self.feed.close()
        try:
            await asyncio.gather(*(run.release() for run in self._live.values()), return_exceptions=True)
        finally:
            self._live.clear()
            await asyncio.gather(self.journal.close(), self.catalog.close())
            await self.workspaces.close()

    async def start(  # noqa: PLR0913  (all but the pattern have defaults)
        self,
        pattern: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        title: str = '',
        tags: Sequence[str] = (),
        models: Mapping[str, str] | None = None,
        seed: int = 0,
        budget: Budget | None = None,
        **options: Unpack[Options],
    ) -> RunId:
        """Start a run; it is journaled when this returns.

        Args:
            pattern: its name.
            parameters: values for the pattern's `Parameters`; those of the run that is replayed, by default.
            title: shown in lists; made from the parameters when empty.
            tags: to find it by.
            models: model name per role; the key '' is the default.
            seed: what a simulated model's chance begins with.
            budget: the most that it may use.
            options: how it runs; see `engine.options`.

        Raises:
            UnknownPattern, InvalidInput, JournalError
        """
        made = self.catalog.pattern(pattern)
        like = await self._like(pattern, options.get('replay'))
        workflow = made(made.parse(parameters or (like.parameters if like else {})))
        chart, state = self._charts.of(workflow), begun(workflow)
        info = launched(
            workflow,
            self._host.services,
            title=title,
            tags=tags,
            models=models or {},
            seed=seed,
            owner=self.owner,
            options=opened(options, workflow, chart.shape),
            like=like,
            budget=budget,
        )
        with self._waking_up(info.id):
            await self.recordings.begin(info)
            await self.journal.create(info, chart.shape)
            await self._begin(info, chart, state)
        return info.id

    async def recover(self, *, paused: bool = False) -> list[RunId]:
        """Go on with every unfinished run whose owner is gone; `paused` holds them before anything starts.

        Returns:
            The runs that go on. Those that cannot are in `stranded`, with the reason.
        """
        found = []
        for info in await self.journal.unfinished():
            elsewhere = info.owner != self.owner and self._is_alive(info.owner)
            if elsewhere or info.id in self._live or info.id in self._waking:
                continue
            try:
                await self._resume(info.id, {'paused': True} if paused else {})
            except Exception as error:  # One run's history must not hold up the others.
                self.stranded[info.id] = said(error)
            else:
                self.stranded.pop(info.id, None)
                found.append(info.id)
        return found

    def watch(self, run: RunId, *, after: int = 0) -> AsyncIterator[Item]:
        """The steps after `after`, those to come, and text; ends with the run. Raises `UnknownRun`."""
        return watch(self.journal, self.feed, run, after, is_live=lambda: run in self._live)

    async def result(self, run: RunId) -> Outcome:
        """Wait for the run to end. Raises `UnknownRun`."""
        seen = (await self.journal.info(run)).seq
        async for _ in self.watch(run, after=seen):
            pass
        if self.feed.closed:
            raise EventRefused(run, 'result', 'this process is closing')
        view, shape = await self.view(run), await self.journal.shape(run)
        answer = view.memory.get(shape.answer) if shape.answer else None
        return Outcome(run=run, status=view.status, answer=answer, error=view.error, memory=view.memory)

    async def _like(self, pattern: str, run: RunId | None) -> RunInfo | None:
        """The run that is to be replayed. Raises `UnknownRun`, `InvalidInput`."""
        found = await self.journal.info(run) if run else None
        if found and found.pattern != pattern:
            raise InvalidInput({'replay': f'run {run} is a {found.pattern}, and no {pattern}'})
        return found

    async def _resume(self, run: RunId, data: Mapping[str, Any]) -> None:
        with self._waking_up(run):
            stored = await self.journal.info(run)
            if stored.seq == stored.parent_at:  # A fork that has not begun.
                data = {**stored.options.get('begins', {}), **data}
            workflow = workflow_of(self.catalog, stored)
            chart = self._charts.of(workflow)
            # Claimed first: from now on no other process adds to what is read next.
            info = await self.journal.claim(run, self.owner)
            fold = await self.fold(run)
            await self.workspaces.restore(run, fold.ledger.files)
            await self.recordings.cut(run, fold.ledger)
            if fold.ledger.seq == 0:
                await self._begin(info, chart, begun(workflow))
                return
            player = await self._player(info, fold.ledger, chart.shape)
            live = self._enliven(info, chart, restored(fold, workflow, chart), fold.ledger, player)
            await live.send(Event(name='recover', data={**data, **await self._prices(info)}))

    async def _begin(self, info: RunInfo, chart: Chart, state: RunState) -> None:
        ledger = Ledger(chart.shape)
        ledger.active = (START,)
        player = await self._player(info, ledger, chart.shape)
        run = self._enliven(info, chart, state, ledger, player)
        if player and (first := player.begin()):
            # As it was recorded, but for the memory: what that begins with is the pattern's.
            event = player.event(first)
            held = {'paused': True} if player.held else {}
            await run.send(replace(event, data={**event.data, 'memory': state.dump()['memory'], **held}))
            return
        budget = {'budget': asdict(info.budget)} if info.budget else {}
        halts = {name: info.options[name] for name in ('paused', 'breakpoints') if name in info.options}
        data = {'memory': state.dump()['memory'], **budget, **halts, **await self._prices(info)}
        await run.send(Event(name='start', data=data))

    async def _prices(self, info: RunInfo) -> dict[str, Any]:
        """Which models have no price that is known, where a budget of money has to count them."""
        if info.budget is None or info.budget.cost is None:
            return {}
        names = await asyncio.to_thread(unpriced_models, self.services, info)
        return {'unpriced': names} if names else {}

    def _enliven(
        self, info: RunInfo, chart: Chart, state: RunState, ledger: Ledger, player: Player | None
    ) -> Run:
        if self.feed.closed:
            raise EngineError('this process is closing: it starts no run any more')
        self._live[info.id] = Run(info, chart, state, ledger, self._host, player)
        return self._live[info.id]

    @contextmanager
    def _waking_up(self, run: RunId) -> Iterator[None]:
        outermost = run not in self._waking
        self._waking.add(run)
        try:
            yield
        finally:
            if outermost:
                self._waking.discard(run)

    def _forget(self, run: Run) -> None:
        if self._live.get(run.info.id) is run:  # Otherwise it has been recovered since.
            del self._live[run.info.id]
            self.workspaces.forget(run.info.id)
            self.recordings.forget(run.info.id)
        self.feed.wake(run.info.id)
