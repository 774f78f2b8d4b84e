"""The facade: start, watch, steer, recover, fork and read runs. Page, command line and programs all use this door."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from engine.activity import Services
from engine.audit import audit
from engine.catalog import Catalog
from engine.chart import Chart
from engine.clock import Clock, RealClock
from engine.errors import EngineError, EventRefused, UnknownStep
from engine.feed import Feed, Item
from engine.journal import Journal, MemoryJournal
from engine.pattern import Pattern, problems
from engine.records import (
    Event,
    Outcome,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    StatePath,
    Transition,
    View,
)
from engine.run import Run
from engine.shape import START, draw
from engine.state import RunState
from engine.view import Fold
from engine.watch import watch

FOLD_IN_PLACE = 1_000
"""Steps that are folded on the event loop; more go to a thread."""


class Conductor:
    """Runs workflows. Use it as an async context manager: leaving it lets go of the runs, which go on when recovered.

    Args:
        journal: where runs are kept; in memory by default.
        catalog: patterns, models and tools; what the engine brings by default.
        clock: the source of time.
        owner: this process, among those that share the journal.
        is_alive: whether an owner is still there, so that its runs are left to it.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        catalog: Catalog | None = None,
        clock: Clock | None = None,
        owner: str = '',
        is_alive: Callable[[str], bool] = lambda owner: False,
    ) -> None:
        self.journal: Journal = journal or MemoryJournal()
        self.catalog = catalog or Catalog.load()
        self.clock: Clock = clock or RealClock()
        self.owner = owner or uuid.uuid4().hex
        self.stranded: dict[RunId, str] = {}
        """Unfinished runs that could not be gone on with, and why."""
        self.feed = Feed()
        self._is_alive = is_alive
        self._services = Services(clock=self.clock, models=self.catalog.models, tools=self.catalog.tools)
        self._live: dict[RunId, Run] = {}
        self._charts: dict[object, Chart] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all runs, without ending them, and close the journal."""
        await asyncio.gather(*(run.release() for run in self._live.values()))
        self._live.clear()
        await self.journal.close()

    async def start(
        self,
        pattern: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        title: str = '',
        tags: Sequence[str] = (),
        models: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> RunId:
        """Start a run; it is journaled when this returns.

        Args:
            pattern: its name.
            parameters: values for the pattern's `Parameters`.
            title: shown in lists; made from the parameters when empty.
            tags: to find it by.
            models: model name per role; the key '' is the default.
            seed: what a simulated model's chance begins with.

        Raises:
            UnknownPattern, InvalidInput, JournalError
        """
        made = self.catalog.pattern(pattern)
        parsed = made.parse(parameters or {})
        workflow = made(parsed)
        chart = self._chart(workflow)
        chosen = dict(models or {})
        now = self.clock.now()
        info = RunInfo(
            id=RunId(uuid.uuid4().hex[:12]),
            pattern=pattern,
            title=title.strip() or _title(parsed.model_dump(mode='json'), made.title),
            parameters=parsed.model_dump(mode='json'),
            models=chosen,
            seed=seed,
            created=now,
            updated=now,
            simulated=all(
                self._services.model(name).simulated for name in {*chosen.values()} or {'scripted'}
            ),
            tags=tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip())),
            owner=self.owner,
            epoch=1,
        )
        await self.journal.create(info, chart.shape)
        state = RunState(workflow, workflow.remember())
        fold = Fold(info.id, chart.shape)
        fold.ledger.active = (START,)
        run = self._enliven(info, chart, state, fold)
        await run.send(Event(name='start', data={'memory': state.dump()['memory']}))
        return info.id

    async def send(
        self, run: RunId, name: str, *, at: str = '', data: Mapping[str, Any] | None = None
    ) -> None:
        """Hand an event to a run; it is journaled when this returns.

        Raises:
            UnknownRun, EventRefused, InvalidInput
        """
        if run not in self._live:
            info = await self.journal.info(run)
            reason = (
                f'it is {info.status}'
                if info.status.ended
                else self.stranded.get(run, 'another process runs it')
            )
            raise EventRefused(run, name, reason)
        await self._live[run].send(Event(name=name, at=StatePath(at), data=data or {}))

    async def pause(self, run: RunId) -> None:
        """Start nothing new: what is under way ends, and is journaled."""
        await self.send(run, 'pause')

    async def resume(self, run: RunId) -> None:
        """Go on."""
        await self.send(run, 'resume')

    async def step(self, run: RunId) -> None:
        """Start the next piece of work of a paused run, and no more; pauses a run that is not."""
        await self.send(run, 'step')

    async def cancel(self, run: RunId, reason: str = '') -> None:
        """Stop for good: every activity has been cancelled when the run is seen as ended."""
        await self.send(run, 'cancel', data={'reason': reason})

    async def recover(self) -> list[RunId]:
        """Go on with every unfinished run whose owner is gone.

        Returns:
            The runs that go on. Those that cannot are in `stranded`, with the reason.
        """
        found = []
        for info in await self.journal.unfinished():
            if info.id in self._live or (info.owner != self.owner and self._is_alive(info.owner)):
                continue
            try:
                await self._resume(info.id, {})
            except EngineError as error:
                self.stranded[info.id] = str(error)
            else:
                found.append(info.id)
        return found

    async def fork(self, run: RunId, at: int, *, title: str = '', paused: bool = False) -> RunId:
        """Start a new run from step `at` of another: it calls models again from there. The old one is not touched.

        Raises:
            UnknownRun, UnknownStep, EventRefused
        """
        parent, view = await self.journal.info(run), await self.view(run, at)
        if view.status.ended:
            raise EventRefused(run, 'fork', f'at step {at} it is {view.status}')
        now = self.clock.now()
        info = replace(
            parent,
            id=RunId(uuid.uuid4().hex[:12]),
            title=title.strip() or parent.title,
            created=now,
            updated=now,
            status=view.status,
            seq=at,
            usage=view.usage,
            error='',
            parent=run,
            parent_at=at,
            owner=self.owner,
            epoch=0,
            bytes=0,
        )
        await self.journal.fork(info, await self.journal.shape(run))
        await self._resume(info.id, {'forked': f'{run}@{at}', 'paused': paused})
        return info.id

    async def runs(self, query: RunQuery | None = None) -> RunPage:
        """A page of the list of runs."""
        return await self.journal.runs(query or RunQuery())

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

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """Steps of a run, in order. Raises `UnknownRun`."""
        return await self.journal.transitions(run, after=after, until=until, limit=limit)

    def watch(self, run: RunId, *, after: int = 0) -> AsyncIterator[Item]:
        """The steps after `after`, those to come as they become durable, and streamed text; ends with the run.

        Raises:
            UnknownRun
        """
        return watch(self.journal, self.feed, run, after, is_live=lambda: run in self._live)

    async def result(self, run: RunId) -> Outcome:
        """Wait for the run to end. Raises `UnknownRun`."""
        seen = (await self.journal.info(run)).seq
        async for _ in self.watch(run, after=seen):
            pass
        view, shape = await self.view(run), await self.journal.shape(run)
        answer = view.memory.get(shape.answer) if shape.answer else None
        return Outcome(run=run, status=view.status, answer=answer, error=view.error, memory=view.memory)

    async def audit(self, run: RunId) -> int:
        """Re-fire the run's events through a fresh chart.

        Returns:
            The number of steps, all as recorded.

        Raises:
            Diverged, UnknownPattern, UnknownRun
        """
        info = await self.journal.info(run)
        made = self.catalog.pattern(info.pattern)
        transitions = await self.journal.transitions(run)
        return await asyncio.to_thread(audit, run, made(made.parse(info.parameters)), transitions)

    async def annotate(
        self,
        run: RunId,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        note: str | None = None,
    ) -> RunInfo:
        """Change what a person says of a run. Raises `UnknownRun`."""
        return await self.journal.annotate(run, title=title, tags=tags, note=note)

    async def delete(self, run: RunId) -> None:
        """Forget a run that has ended. Raises `UnknownRun`, `EventRefused`."""
        if run in self._live:
            raise EventRefused(run, 'delete', 'it has not ended; cancel it first')
        await self.journal.delete(run)

    def draw(self, pattern: str, parameters: Mapping[str, Any] | None = None) -> Shape:
        """The chart a run of the pattern would have; its defaults' where no parameters are given."""
        made = self.catalog.pattern(pattern)
        return draw(made(made.parse(parameters)) if parameters else made.sample())

    async def _resume(self, run: RunId, data: Mapping[str, Any]) -> None:
        stored = await self.journal.info(run)
        made = self.catalog.pattern(stored.pattern)
        workflow: Pattern = made(made.parse(stored.parameters))
        chart = self._chart(workflow)
        fold = await self.fold(run)
        state = _restored(fold, workflow, chart)
        info = await self.journal.claim(run, self.owner)
        live = self._enliven(info, chart, state, fold)
        await live.send(Event(name='recover', data=data))

    def _enliven(self, info: RunInfo, chart: Chart, state: RunState, fold: Fold) -> Run:
        run = Run(
            info,
            chart,
            state,
            fold.ledger,
            journal=self.journal,
            feed=self.feed,
            services=self._services,
            ended=self._forget,
        )
        self._live[info.id] = run
        return run

    def _forget(self, run: Run) -> None:
        self._live.pop(run.info.id, None)
        self.feed.wake(run.info.id)

    def _chart(self, workflow: Pattern) -> Chart:
        fixed = not callable(workflow.states) and not callable(workflow.transitions)
        key: object = type(workflow) if fixed else (type(workflow), workflow.parameters.model_dump_json())
        if key not in self._charts:
            self._charts[key] = Chart(workflow)
        return self._charts[key]


def _restored(fold: Fold, workflow: Pattern, chart: Chart) -> RunState:
    """The live data of a recorded run. Raises `EngineError` where the pattern has changed too much to go on."""
    unknown = [path for path in fold.ledger.active if path not in chart.states and path != START]
    if unknown:
        raise EngineError(f'pattern {workflow.name!r} has no state {unknown[0]!r} any more')
    try:
        return RunState.load(workflow, fold.document)
    except ValidationError as error:
        listed = '; '.join(f'{field}: {problem}' for field, problem in problems(error).items())
        raise EngineError(f'the memory of pattern {workflow.name!r} has changed: {listed}') from None


def _title(parameters: Mapping[str, Any], fallback: str) -> str:
    words = max(
        (value for value in parameters.values() if isinstance(value, str)), key=len, default=''
    ).split()
    line = ' '.join(words)
    return (line if len(line) <= 80 else f'{line[:79].rstrip()}…') or fallback
