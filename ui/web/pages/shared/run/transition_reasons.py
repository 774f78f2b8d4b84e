"""Why a transition was taken or not: the guards that decided, and the data they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine import Conductor, Transition
from engine.records import EdgeShape, RunId
from engine.runtime import GuardExplanations
from ui.formatting.steps import (
    EdgeOutcome,
    brief_value,
    decisive_guards,
    guard_text,
    other_outcomes,
    others_title,
)
from ui.web.components.widgets import Box, Text, disclosure


class GuardReasons:
    """Explanations of guards, at the step that is shown."""

    def __init__(self, conductor: Conductor, run: RunId) -> None:
        """Start without explanations; `load` loads them."""
        self._conductor, self._run = conductor, run
        self._explanations: GuardExplanations | None = None
        self.opened: set[str] = set()
        """What a person has unfolded; it stays so from step to step."""
        self.step: Transition | None = None
        """None before the first step."""
        self.before: Mapping[str, Any] = {}
        """The run's data before the step."""

    async def load(self) -> None:
        """Load the explanations of the pattern's guards."""
        self._explanations = await self._conductor.explain_guards(self._run)

    def show(self, step: Transition | None, before: Mapping[str, Any]) -> None:
        """Set the step to explain, and the data before it."""
        self.step, self.before = step, before

    def draw(self, edge: EdgeShape, guard: str, *, expected: bool, value: bool | None) -> None:
        """Draw a guard of an edge with its result, and the data it read.

        Args:
            edge: the edge it guards.
            guard: its name.
            expected: the result that lets the edge be taken.
            value: the result at this step; None if it was not evaluated.
        """
        kind = '' if value is None else 'ok' if value is expected else 'no'
        ground = None
        if self._explanations is not None and self.step is not None:
            ground = self._explanations.of(edge.source, edge.dest, guard, self.before, self.step.event)
        Text('div', guard_text(guard, value, edge), f'guard {kind}', title=ground.says if ground else guard)
        if ground is not None and value is not None and ground.values:
            saw = (f'{name.replace("_", " ")} = {brief_value(value)}' for name, value in ground.values)
            Text('div', ' · '.join(saw), 'guard-saw mono')


def draw_reasons(outcomes: Sequence[EdgeOutcome], reasons: GuardReasons) -> None:
    """Draw the guards that decided; below, folded, the edges that were not taken, each with its reason."""
    for edge, guard in decisive_guards(outcomes):
        reasons.draw(edge, guard.name, expected=guard.wanted, value=guard.value)
    others = other_outcomes(outcomes)
    if not others:
        return
    with disclosure(reasons.opened, 'others', others_title(len(others)), 'other-outcomes'):
        for outcome, target in others.items():
            _draw_outcome(outcome, target, reasons)


def _draw_outcome(outcome: EdgeOutcome, target: str, reasons: GuardReasons) -> None:
    edge = outcome.edge
    with Box('edge-outcome'):
        Text('span', target, 'edge-outcome-target')
        Text('span', outcome.reason, 'muted small')
        for guard in outcome.guards:
            reasons.draw(edge, guard.name, expected=guard.wanted, value=guard.value)
