"""World: what a live run meets outside its chart: time, work, its budget, and breakpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from engine.host.clock import HistoryClock
from engine.journal.projection import RunProjection
from engine.records import CONTROL, Event, RunInfo, Shape, StatePath, Transition
from engine.runtime.activity import LiveRun
from engine.runtime.control_events import validate_control
from engine.runtime.debugger.debugger import Debugger
from engine.runtime.world.activity_runner import ActivityRunner
from engine.runtime.world.budget_enforcer import BudgetEnforcer


class World:
    """The present: work is performed, time passes, and the budget is spent.

    A fork that replays its parent lives in another one, `ReplayedWorld`; the run does not know.

    Args:
        run: the run that lives in it.
        make_runner: makes what performs its work.
    """

    def __init__(
        self,
        run: LiveRun,
        make_runner: Callable[[LiveRun, HistoryClock], ActivityRunner] = ActivityRunner,
    ) -> None:
        self._run = run
        self._clock = HistoryClock(run.context.services.clock, lambda: run.projection.time)
        self.runner = make_runner(run, self._clock)
        self._enforcer = BudgetEnforcer(run.projection, self.runner, self._clock, run.mailbox.post)
        self._debugger = Debugger(run.projection, run.chart.shape, lambda: run.state)

    def first_event(self) -> Event | None:
        """Return the event a new run begins with, if this world knows it."""
        return None

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self._clock.now()

    @property
    def deadline(self) -> float | None:
        """When the next timeout or budget event is due by time alone; None if there is none."""
        due = [at for at in (self.runner.deadline, self._enforcer.alarm) if at is not None]
        return min(due) - self._clock.ahead if due else None

    @property
    def may_act(self) -> bool:
        """Whether anything may still happen without outside input. Work held back would look finished."""
        return self.runner.withheld or self.runner.busy

    def turn(self, event: Event) -> AbstractAsyncContextManager[None]:
        """Return what surrounds the handling of an event."""
        return nullcontext()

    def validate(self, event: Event) -> Event:
        """Return a control event as journaled. Raises `EventRefused`, `InvalidInput`."""
        run = self._run
        return validate_control(event, run.info.id, run.projection, run.chart.shape, run.state)

    def at_work(self, event: Event, left: Collection[StatePath]) -> Collection[StatePath]:
        """Return the states whose work began before an event, so that it learns of no notice the event gives.

        Args:
            event: what gives notices to the agents.
            left: states left by the same turn.
        """
        return set(self.runner.running_states).difference(left)

    def budget_events(self) -> list[Event]:
        """Return warnings and the limit reached, to be journaled with the steps that caused them."""
        return self._enforcer.due_events()

    def breakpoint_events(self, steps: Sequence[Transition]) -> list[Event]:
        """Return the pauses a turn requires, to be journaled with it."""
        return self._debugger.due_events(steps)

    def shutdown_event(self) -> Event | None:
        """Return the next event of a spent budget, if it is time for it."""
        return None if self.runner.withheld else self._enforcer.next_event(self._run.mailbox.waiting)

    def note(self, steps: Sequence[Transition]) -> None:
        """Note the steps decided, before they are journaled."""
        self._enforcer.schedule_alarm()

    def act(self, steps: Sequence[Transition]) -> list[asyncio.Task[None]]:
        """Stop, start and steer work as the journaled steps of a turn demand; return the cancelled tasks."""
        stopped = self.runner.apply(steps)
        if not self._run.projection.status.ended:
            for step in steps:
                if step.event.name in CONTROL and not step.raised:
                    self.runner.control(step.event)
        return stopped

    async def stop(self) -> None:
        """Cancel all work, timeouts and alarms, and wait until they have stopped."""
        self._enforcer.stop()
        await self.runner.stop()


class RunSetup(Protocol):
    """Prepares a run right after it was journaled."""

    async def equip(self, info: RunInfo) -> None:
        """Give it its files; repeated if the process died before finishing.

        Raises:
            InvalidInput, WorkspaceError
        """

    async def find_world(
        self, info: RunInfo, projection: RunProjection, shape: Shape
    ) -> Callable[[LiveRun], World]:
        """Return what makes the world the run lives in, from the step its projection has reached."""
