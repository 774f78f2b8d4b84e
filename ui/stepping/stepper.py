"""Stepper: what is held of a run now, and the deeds of step mode; a person is told what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import CONTROL, Breakpoint, Conductor, Fold, How, RunId, Shape, Transition, View, within
from ui.dialogs import told
from ui.stepping.words import Deed, hits_in, unsteppable

NOTHING = 'The run has not begun.'


class Stepper:
    """One run, as a page steps it. All that it shows is of the present, whatever step the page shows.

    Args:
        conductor: runs it, perhaps.
        run: which.
        shape: its chart.
    """

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self.shape, self._conductor, self._run = shape, conductor, run
        self.others_wait = True
        """Whether the others are held, too, where one region is stepped or goes on."""
        self.view: View | None = None
        self._fold: Fold | None = None
        self._seen, self._known = 0, (-1, False)
        self._steps: dict[str, int] = {}
        """Per region: a step in that is under way."""
        self._changed: list[Callable[[], Any]] = []

    @property
    def mine(self) -> bool:
        """Whether this server can steer it."""
        return self._conductor.runs_here(self._run)

    @property
    def steerable(self) -> bool:
        """Whether it can be steered now."""
        return self.mine and self.view is not None and not self.view.status.ended

    @property
    def hit(self) -> frozenset[str]:
        """The numbers of the breakpoints that hold it now."""
        return hits_in(self.view.stopped) if self.view else frozenset()

    def on_change(self, changed: Callable[[], Any]) -> None:
        """Call this when the present is another, or how others are treated."""
        self._changed.append(changed)

    def know(self, fold: Fold, steps: Sequence[Transition] = ()) -> None:
        """Learn the present: the fold at the head, and steps that may be new."""
        for step in steps:
            if step.seq > self._seen:
                self._seen = step.seq
                self._take(step)
        known = (fold.ledger.seq, self.mine)
        if known != self._known:
            self._fold, self._known, self.view = fold, known, fold.view
            self.tell()

    def tell(self) -> None:
        """Let all that shows it draw anew."""
        for changed in self._changed:
            changed()

    def held(self, at: str = '') -> bool:
        """Whether a region is held; for the whole run, whether anything is."""
        if self._fold is None or self.view is None or self.view.status.ended:
            return False
        halts = self._fold.ledger.halts
        if not at:
            return any(halts.says.values())
        leaves = [leaf for leaf in self.view.active if within(leaf, at)]
        return bool(leaves) and all(map(halts.holds, leaves))

    def busy(self, at: str = '') -> How | None:
        """The step that is under way in a region, or in the whole run."""
        if self._fold is None:
            return None
        stride = self._fold.ledger.halts.strides.get(at)
        return stride.how if stride else 'in' if at in self._steps else None

    def why(self, at: str = '') -> str:
        """Why it is held, where it was no person that held it."""
        if self.view is None:
            return ''
        return (
            next((why for path, why in self.view.held.items() if path == at), '') if at else self.view.stopped
        )

    def refusal(self, deed: Deed, at: str = '') -> str:
        """Why this makes no sense now, or ''."""
        if self.view is None or not self.steerable:
            return NOTHING
        match deed:
            case 'pause' | 'resume':
                return ''
            case how:
                under_way = self.busy(at)
                said = f'A step {under_way} is under way' if under_way else ''
                return said or unsteppable(how, self.shape, self.view, at)

    async def do(self, deed: Deed, at: str = '') -> None:
        """Pause, go on or step: the whole run, or the region `at`."""
        if not self.steerable:
            return
        match deed:
            case 'pause':
                await told(self._conductor.pause(self._run, at))
            case 'resume':
                await self._others(at)
                if self.held(at) or not at:
                    await told(self._conductor.resume(self._run, at))
            case how:
                await self._others(at)
                await told(self._conductor.step(self._run, how, at))

    async def set(self, change: Callable[[Sequence[Breakpoint]], Sequence[Breakpoint]]) -> bool:
        """Change the breakpoints, from what they are now: another window may have set some."""
        now = await told(self._conductor.view(self._run))
        if now is None:
            return False
        return await told(self._conductor.set_breakpoints(self._run, change(now.breakpoints))) is not None

    async def _others(self, at: str) -> None:
        """Before a region goes on alone: hold the others, or let them go on."""
        if not at or self.view is None:
            return
        if self.others_wait:
            if not self.view.paused and any(not within(leaf, at) for leaf in self.view.active):
                await told(self._conductor.pause(self._run))
        elif self.view.paused and any(
            self.held(leaf) and not self._ended(leaf) for leaf in self.view.active if not within(leaf, at)
        ):
            if at not in self.view.held:
                await told(self._conductor.pause(self._run, at))
            await told(self._conductor.resume(self._run))

    def _ended(self, leaf: str) -> bool:
        state = self.shape.state(leaf)
        return state is not None and state.kind == 'final'

    def _take(self, step: Transition) -> None:
        event = step.event
        if event.name == 'step' and event.data.get('how', 'in') == 'in':
            self._steps[event.at] = step.seq
        elif event.name in ('pause', 'resume', 'step'):
            self._steps = {at: seq for at, seq in self._steps.items() if not within(at, event.at)}
        elif event.name not in CONTROL or event.name in ('recover', 'cancel', 'abort'):
            self._steps = {at: seq for at, seq in self._steps.items() if not within(event.at, at)}
