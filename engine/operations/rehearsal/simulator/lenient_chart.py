"""Lenient chart: a pattern's chart that goes on where the pattern's code raises, and notes what."""

from __future__ import annotations

from dataclasses import dataclass, field

from typing_extensions import override

from engine.errors import PatternError
from engine.operations.rehearsal.free_chart import Answers, FreeChart, FreeDecision
from engine.records import Event, StatePath
from engine.statechart.chart import Microstep
from engine.statechart.decision_cache import CallbackRef, DecisionContext
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedGuard:
    """A guard that was asked, whether or not its edge was taken in the end."""

    name: str
    source: StatePath
    dest: str
    wanted: bool
    """What the edge requires."""
    value: bool
    """What it was taken to say."""
    says: bool | None
    """What it says on memory; None if it raised."""
    step: int = 0
    """How many microsteps had been taken when it was asked."""


@dataclass(slots=True)
class Notes:
    """What code of the pattern did while an event was handled."""

    by_answers: bool = False
    """Whether guards were told what to say."""
    guards: list[AskedGuard] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What it raised. A guard that raises is taken to say no."""
    microsteps: int = 0
    """How many were taken so far."""


class _LenientDecision(FreeDecision):
    """A decision with the pattern's guards and actions; guards may be told what to say."""

    def __init__(
        self, state: RunState, event: Event, active: tuple[StatePath, ...], answers: Answers, notes: Notes
    ) -> None:
        super().__init__(state, event, active, answers)
        self._notes = notes

    @override
    def call(self, callback: CallbackRef) -> bool:
        says: bool | None = None
        try:
            says = DecisionContext.call(self, callback)
        except PatternError as error:
            self._notes.problems.append(error.problem)
        if callback.wanted is None:
            return super().call(callback)
        value = super().call(callback) if self._notes.by_answers else bool(says)
        self._notes.guards.append(
            AskedGuard(
                name=callback.name,
                source=callback.source,
                dest=callback.dest,
                wanted=callback.wanted,
                value=value,
                says=says,
                step=self._notes.microsteps,
            )
        )
        return value


class LenientChart(FreeChart):
    """A chart that decides on real memory."""

    def __init__(self, pattern: Pattern) -> None:
        super().__init__(pattern)
        self._notes = Notes()

    @override
    def _context(self, state: RunState, event: Event, active: tuple[StatePath, ...]) -> DecisionContext:
        return _LenientDecision(state, event, active, self.answers, self._notes)

    @override
    def _fire(
        self, active: tuple[StatePath, ...], state: RunState, event: Event, journaled: Event | None = None
    ) -> Microstep | None:
        microstep = super()._fire(active, state, event, journaled)
        self._notes.microsteps += microstep is not None
        return microstep

    def decide(
        self,
        active: tuple[StatePath, ...],
        state: RunState,
        event: Event,
        answers: tuple[bool, ...] | None = None,
    ) -> tuple[list[Microstep], Notes]:
        """Return the microsteps that an event causes, as `fire` does, and what the pattern's code did.

        Args:
            active: the active states.
            state: the data, which actions write.
            event: the event.
            answers: what guards are told to say, in the order in which they are asked; None asks memory.

        Raises:
            PatternError: the edges without an event form an endless loop.
        """
        self.answers, self._notes = Answers(answers or ()), Notes(by_answers=answers is not None)
        return self.fire(active, state, event), self._notes
