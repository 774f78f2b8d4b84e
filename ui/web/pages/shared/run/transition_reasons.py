"""Why a transition was taken or not: each edge with its guards as questions, and the data they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from engine import Conductor, Transition
from engine.records import EdgeShape, RunId, Shape
from engine.runtime import GuardExplanations
from ui.formatting.steps import EdgeOutcome, brief_value, guard_answer, guard_question, path_text
from ui.web.components.widgets import Box, Text


class GuardReasons:
    """Explanations of guards, at the step that is shown."""

    def __init__(self, conductor: Conductor, run: RunId) -> None:
        """Start without explanations; `load` loads them."""
        self._conductor, self._run = conductor, run
        self._explanations: GuardExplanations | None = None
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
        """Draw one guard of an edge as a question, with its answer and the data it read.

        Args:
            edge: the edge it guards.
            guard: its name.
            expected: the answer that lets the edge be taken.
            value: the answer at this step; None if it was not evaluated.
        """
        kind = '' if value is None else 'ok' if value is expected else 'no'
        ground = None
        if self._explanations is not None and self.step is not None:
            ground = self._explanations.of(edge.source, edge.dest, guard, self.before, self.step.event)
        question = guard_question(guard, ground.says if ground else '')
        Text(
            'div', f'{question} {guard_answer(expected=expected, value=value)}', f'guard {kind}', title=guard
        )
        if ground is not None and value is not None and ground.values:
            saw = (f'{name.replace("_", " ")} = {brief_value(value)}' for name, value in ground.values)
            Text('div', ' · '.join(saw), 'guard-saw mono')


def draw_outcome(outcome: EdgeOutcome, shape: Shape, reasons: GuardReasons) -> None:
    """Draw a candidate edge: whether it was taken, and the answers of its guards."""
    ends = shape.state(outcome.edge.dest)
    failing = outcome.taken and ends is not None and ends.kind == 'final' and ends.outcome == 'failed'
    blocked = any(guard.value is not guard.wanted for guard in outcome.guards)
    kind = 'taken' if outcome.taken else 'blocked' if blocked else ''
    icon = {'taken': 'arrow_circle_right', 'blocked': 'block', '': 'radio_button_unchecked'}[kind]
    with Box(f'edge-outcome {kind} {"failing" if failing else ""}'):
        ui.icon(icon, size='16px')
        with Box():
            ui.label(f'to {path_text(outcome.edge.dest) or "itself"}').classes('edge-outcome-target')
            ui.label(outcome.reason).classes('muted small')
            for guard in outcome.guards:
                reasons.draw(outcome.edge, guard.name, expected=guard.wanted, value=guard.value)
