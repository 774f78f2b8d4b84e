"""Adding, changing and removing breakpoints of a run, by form or from the diagram."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine import Breakpoint, Conductor, EngineError, InvalidInput
from engine.records import RunId
from ui.formatting.debugger import breakpoint_label
from ui.formatting.steps import short_json
from ui.web.components.breakpoints.condition import ConditionFeedback, Probe
from ui.web.components.breakpoints.editor import edit_breakpoint
from ui.web.pages.shared.run.debug_controller import DebugController

MAX_VALUE = 60
"""Maximum number of characters shown of a value."""


class BreakpointStore:
    """Changes the breakpoints of one run for a person."""

    def __init__(self, conductor: Conductor, run: RunId, controller: DebugController) -> None:
        self._conductor, self._run, self._controller = conductor, run, controller

    async def add(self, item: Breakpoint | None = None) -> None:
        """Show the form for a new breakpoint, starting from `item`."""
        started = item or Breakpoint(enter=self._controller.shape.initial)
        added = await edit_breakpoint(self._controller.shape, started, self._probe())
        if added is not None:
            await self.insert(added)

    async def edit(self, item: Breakpoint) -> None:
        """Show the form to edit a breakpoint."""
        changed = await edit_breakpoint(self._controller.shape, item, self._probe())
        if changed is not None:
            await self.change(changed)

    async def insert(self, item: Breakpoint) -> None:
        """Set a breakpoint on the run, and confirm it in a message."""
        if await self._controller.change_breakpoints(lambda breakpoints: [*breakpoints, item]):
            self._notify(f'Breakpoint set: {breakpoint_label(item)}')

    async def change(self, item: Breakpoint) -> None:
        """Replace the breakpoint with the same number."""
        await self._controller.change_breakpoints(
            lambda breakpoints: [item if other.id == item.id else other for other in breakpoints]
        )

    async def remove(self, items: Sequence[Breakpoint]) -> None:
        """Remove these from the run, and confirm it in a message."""
        ids = {item.id for item in items}
        if await self._controller.change_breakpoints(
            lambda breakpoints: [other for other in breakpoints if other.id not in ids]
        ):
            self._notify('Breakpoint removed' if len(ids) == 1 else 'Breakpoints removed')

    def _notify(self, sentence: str) -> None:
        ui.notify(sentence, timeout=2_500)

    def _probe(self) -> Probe:
        memory = self._controller.view.memory if self._controller.view else {}
        fields = {name: short_json(value, MAX_VALUE) for name, value in memory.items()}
        return Probe(evaluate=self._check_condition, fields=fields)

    async def _check_condition(self, text: str) -> ConditionFeedback:
        try:
            result = await self._conductor.probe(self._run, text)
        except InvalidInput as error:
            return ConditionFeedback(problem='; '.join(error.problems.values()))
        except EngineError as error:
            return ConditionFeedback(evaluation=str(error))
        if result is None:
            return ConditionFeedback()
        if result.problem:
            return ConditionFeedback(
                evaluation=f'At step {result.seq} it cannot be evaluated: {result.problem}.'
            )
        values = ', '.join(
            f'{name} is {short_json(value, MAX_VALUE)}' for name, value in result.values.items()
        )
        answer = str(result.holds).lower()
        return ConditionFeedback(
            evaluation=f'At step {result.seq} it is {answer}' + (f': {values}.' if values else '.')
        )
