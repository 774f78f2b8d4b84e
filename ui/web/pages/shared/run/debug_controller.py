"""Controls step mode of a run: pause, resume and step, with refusals explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import Breakpoint, Conductor, Transition
from engine.journal import Fold, StepMode
from engine.records import CONTROL, RunId, Shape, View, is_within
from ui.formatting.debugger import DebugAction, hit_numbers, is_final, step_refusal
from ui.web.components.dialogs import notify_errors
from ui.web.permission import is_permitted

NOT_STARTED = 'The run has not started.'


class DebugController:
    """Step mode of one run. It always controls the present, whatever step the page shows.

    Args:
        conductor: this process's conductor, which need not be the one that runs it.
        run: the run's id.
        shape: its chart.
    """

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self.shape, self._conductor, self._run = shape, conductor, run
        self.others_wait = True
        """Whether the other regions are paused when one region is stepped or resumed."""
        self.view: View | None = None
        self._fold: Fold | None = None
        self._seen, self._state_key = 0, (-1, False)
        self._steps: dict[str, int] = {}
        """The step in progress, by region."""
        self._listeners: list[Callable[[], Any]] = []

    @property
    def may_control(self) -> bool:
        """Whether this server runs it and the viewer may control it."""
        return self._conductor.can_control(self._run) and is_permitted('step')

    @property
    def can_control(self) -> bool:
        """Whether it can be controlled now."""
        return self.may_control and self.view is not None and not self.view.status.ended

    @property
    def hit(self) -> frozenset[str]:
        """The numbers of the breakpoints that have paused it."""
        return hit_numbers(self.view.stopped) if self.view else frozenset()

    def on_change(self, changed: Callable[[], Any]) -> None:
        """Register a callback for every change of state."""
        self._listeners.append(changed)

    def update(self, fold: Fold, steps: Sequence[Transition] = ()) -> None:
        """Update from the newest view and possibly new steps."""
        for step in steps:
            if step.seq > self._seen:
                self._seen = step.seq
                self._track_step(step)
        state_key = (fold.projection.seq, self.may_control)
        if state_key != self._state_key:
            self._fold, self._state_key, self.view = fold, state_key, fold.view
            self.notify()

    def notify(self) -> None:
        """Call every listener, because the run or its breakpoints have changed."""
        for changed in self._listeners:
            changed()

    def is_paused(self, at: str = '') -> bool:
        """Return whether a region is paused; for the whole run, whether anything is."""
        if self._fold is None or self.view is None or self.view.status.ended:
            return False
        pauses = self._fold.projection.pauses
        if not at:
            return any(pauses.overrides.values())
        leaves = [leaf for leaf in self.view.active if is_within(leaf, at)]
        return bool(leaves) and all(map(pauses.holds, leaves))

    def pending_step(self, at: str = '') -> StepMode | None:
        """Return the kind of step in progress in a region, or in the whole run."""
        if self._fold is None:
            return None
        pending = self._fold.projection.pauses.pending_steps.get(at)
        return pending.how if pending else 'in' if at in self._steps else None

    def pause_reason(self, at: str = '') -> str:
        """Return why it is paused, unless a person paused it."""
        if self.view is None:
            return ''
        return (
            next((why for path, why in self.view.held.items() if path == at), '') if at else self.view.stopped
        )

    def refusal(self, action: DebugAction, at: str = '') -> str:
        """Return why the action is not possible now, or ''."""
        if self.view is None or not self.can_control:
            return NOT_STARTED
        match action:
            case 'pause' | 'resume':
                return ''
            case how:
                under_way = self.pending_step(at)
                reason = f'“Step {under_way}” is in progress' if under_way else ''
                return reason or step_refusal(how, self.shape, self.view, at)

    async def perform(self, action: DebugAction, at: str = '') -> None:
        """Pause, resume or step the whole run, or the region `at`."""
        if not self.can_control:
            return
        match action:
            case 'pause':
                await notify_errors(self._conductor.pause(self._run, at))
            case 'resume':
                await self._prepare_others(at)
                if self.is_paused(at) or not at:
                    await notify_errors(self._conductor.resume(self._run, at))
            case how:
                await self._prepare_others(at)
                await notify_errors(self._conductor.step(self._run, how, at))

    async def change_breakpoints(
        self, change: Callable[[Sequence[Breakpoint]], Sequence[Breakpoint]]
    ) -> bool:
        """Change the breakpoints, starting from the current ones: another window may have set some."""
        now = await notify_errors(self._conductor.view(self._run))
        if now is None:
            return False
        return (
            await notify_errors(self._conductor.set_breakpoints(self._run, change(now.breakpoints)))
            is not None
        )

    async def _prepare_others(self, at: str) -> None:
        """Before a region continues alone: pause the others, or resume them."""
        if not at or self.view is None:
            return
        if self.others_wait:
            if not self.view.paused and any(not is_within(leaf, at) for leaf in self.view.active):
                await notify_errors(self._conductor.pause(self._run))
        elif self.view.paused and any(
            self.is_paused(leaf) and not is_final(self.shape, leaf)
            for leaf in self.view.active
            if not is_within(leaf, at)
        ):
            if at not in self.view.held:
                await notify_errors(self._conductor.pause(self._run, at))
            await notify_errors(self._conductor.resume(self._run))

    def _track_step(self, step: Transition) -> None:
        event = step.event
        if event.name == 'step' and event.data.get('how', 'in') == 'in':
            self._steps[event.at] = step.seq
        elif event.name in ('pause', 'resume', 'step'):
            self._steps = {at: seq for at, seq in self._steps.items() if not is_within(at, event.at)}
        elif event.name not in CONTROL or event.name in ('recover', 'cancel', 'abort'):
            self._steps = {at: seq for at, seq in self._steps.items() if not is_within(event.at, at)}
