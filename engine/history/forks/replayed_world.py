"""ReplayedWorld: a fork lives through what its parent did, until nothing is recorded any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from typing_extensions import override

from engine.errors import EventRefused, InvalidInput
from engine.history.forks.replayer import Replayer
from engine.host.clock import HistoryClock
from engine.records import Event, RunInfo, StatePath, Transition
from engine.runtime.activity import Activity, LiveRun
from engine.runtime.world.activity_runner import ActivityRunner, PerformWork
from engine.runtime.world.world import World


class ReplayedRunner(ActivityRunner):
    """Leaves work whose ending is recorded to the replayer, and performs all other."""

    def __init__(self, replayer: Replayer, run: LiveRun, clock: HistoryClock) -> None:
        super().__init__(run, clock)
        self._replayer = replayer
        self.replayed: list[StatePath] = []
        """States whose work has started and will be ended by the replayer."""

    @property
    @override
    def busy(self) -> bool:
        return super().busy or bool(self.replayed)

    @property
    @override
    def is_resting(self) -> bool:
        return super().is_resting and not self.replayed

    @override
    def control(self, event: Event) -> None:
        if event.name != 'retry' or not event.played:
            super().control(event)
            return
        if event.at in self.replayed:
            self.replayed.remove(event.at)
        self._held.append(event.at)
        self._start_held_work()

    def start_replayed_work(self) -> None:
        """Start the work left to the replayer, where allowed, now that its replay is over."""
        self._held, self.replayed = [*self._held, *self.replayed], []
        self._start_held_work()

    @override
    def _stop(self, path: StatePath) -> list[asyncio.Task[None]]:
        if path in self.replayed:
            self.replayed.remove(path)
        return super()._stop(path)

    @override
    def _perform(self, path: StatePath) -> None:
        if self._replayer.choose_treatment(path, self._run.state) in ('keep', 'stop'):
            self.replayed.append(path)
        else:
            super()._perform(path)

    @override
    def _work_for(self, path: StatePath) -> PerformWork:
        return partial(self._restore_and_perform, super()._work_for(path))

    @override
    def _info_for(self, path: StatePath) -> RunInfo:
        return self._replayer.adapt_info(self._run.info, path, self._run.state)

    async def _restore_and_perform(self, work: PerformWork, activity: Activity) -> Any:
        await self._replayer.restore_files(self._context.services.workspaces, activity.run.id)
        return await work(activity)


class ReplayedWorld(World):
    """The recorded past of a fork's parent; once it is over, or a person leaves it, the present.

    While the replay is strict there is no work, no timeout and no budget: these acted in the parent.

    Args:
        replayer: what is recorded.
        run: the fork.
    """

    runner: ReplayedRunner

    def __init__(self, replayer: Replayer, run: LiveRun) -> None:
        super().__init__(run, partial(ReplayedRunner, replayer))
        self._replayer = replayer
        self._final: Event | None = None
        """The event that ended the replay."""

    @override
    def first_event(self) -> Event | None:
        first = self._replayer.first_event()
        if first is None:
            return None
        # As recorded, except for the memory: its initial values are the pattern's.
        held = {'paused': True} if self._replayer.held else {}
        return replace(first, data={**first.data, 'memory': self._run.state.dump()['memory'], **held})

    @override
    def now(self) -> float:
        if self._replayer.strict:
            return max(self._run.projection.time, self._replayer.time)
        return super().now()

    @property
    @override
    def may_act(self) -> bool:
        return self._replayer.strict or super().may_act

    @override
    @asynccontextmanager
    async def turn(self, event: Event) -> AsyncIterator[None]:
        try:
            yield
        except (EventRefused, InvalidInput):
            if not event.played:
                raise
            self._replayer.skip(event)  # Edits in a fork may have made it take another path.
        finally:  # A replay continues even after a refused event.
            await self._replay_next()

    @override
    def validate(self, event: Event) -> Event:
        if event is self._final or (self._replayer.strict and event.played):
            return event  # Recorded events were checked at the time.
        return super().validate(event)

    @override
    def at_work(self, event: Event, left: Collection[StatePath]) -> Collection[StatePath]:
        if not self._replayer.strict:
            return super().at_work(event, left)
        agents = self._run.state.agents
        if event.name in ('warn', 'extend'):
            return self._replayer.find_unnotified(agents)
        # The call in progress began before there was a notice to give.
        return () if event.played else [StatePath(f'{path}.thinking') for path in agents]

    @override
    def budget_events(self) -> list[Event]:
        return [] if self._replayer.strict else super().budget_events()

    @override
    def breakpoint_events(self, steps: Sequence[Transition]) -> list[Event]:
        return [] if self._replayer.ignores_breakpoints else super().breakpoint_events(steps)

    @override
    def shutdown_event(self) -> Event | None:
        return None if self._replayer.strict else super().shutdown_event()

    @override
    def note(self, steps: Sequence[Transition]) -> None:
        if not self._replayer.strict:
            super().note(steps)
        if steps:
            self._replayer.advance(steps)

    @override
    def act(self, steps: Sequence[Transition]) -> list[asyncio.Task[None]]:
        return [] if self._replayer.strict else super().act(steps)

    async def _replay_next(self) -> None:
        """Post the next event to replay; end the replay once none is left."""
        await asyncio.sleep(0)  # Other runs must not wait for the whole replay.
        run, runner, replayer = self._run, self.runner, self._replayer
        if run.lost or run.projection.status.ended or run.mailbox.waiting or runner.withheld:
            return
        if replayer.stopped or replayer.is_waiting:
            return
        strict = replayer.strict
        started = replayer.started if strict else runner.replayed
        at_work = () if strict else runner.running_states
        if event := replayer.next_event(started, at_work, run.state):
            run.mailbox.post(event)
        elif strict or (started and not at_work):
            if final := replayer.finish(started, run.state, run.info.budget):
                self._final = final
                await run.control(final)
            if not replayer.strict:
                runner.start_replayed_work()
