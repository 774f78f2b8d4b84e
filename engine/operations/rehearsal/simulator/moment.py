"""Moment: a place in a walk of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.operations.rehearsal.simulator.lenient_chart import AskedGuard
from engine.records import Edge, Event, StatePath
from engine.records.document import apply_patch
from engine.statechart.chart import Microstep


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A place in a walk: what came, and what the run was like after it."""

    event: Event
    microsteps: tuple[Microstep, ...] = ()
    guards: tuple[AskedGuard, ...] = ()
    """In the order in which they were asked."""
    problems: tuple[str, ...] = ()
    """What code of the pattern raised: a run would have ended here."""
    active: tuple[StatePath, ...]
    document: Mapping[str, Any]
    """Memory and agents, as JSON."""
    told: bool = False
    """Whether guards were told what to say."""
    ending: str = ''
    """How the run has ended: `done` or `failed`; '' while it goes on."""
    reason: str = ''
    """Why it has failed, if nothing accepted a failure."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges taken."""
        return tuple(edge for step in self.microsteps for edge in step.edges)

    def seen_by(self, guard: AskedGuard, before: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the data on which a guard was asked; `before` is that of the moment before."""
        steps = self.microsteps[: guard.step]
        return apply_patch(before, [change for step in steps for change in step.changes])
