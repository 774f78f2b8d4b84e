"""The line above Run: what the next run costs at most, a limit to offer, and the way to the rehearsal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine import EngineError, InvalidInput, Pattern
from engine.operations.rehearsal import Cost
from ui.app.backend import Backend
from ui.formatting.usage import cost_sentence, dollars
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.launch.rehearsal.dialog import RehearsalDialog

FIRST_LIMIT = 1.0
"""The limit in dollars that is offered if no run of the pattern says what is usual."""
MIN_LIMIT = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """What the form asks for."""

    parameters: dict[str, Any]
    models: dict[str, str]
    limit: float | None
    """Dollars, by its budget."""


class CostLine:
    """One line, brought up to date in the background."""

    def __init__(
        self, backend: Backend, pattern: type[Pattern], *, on_limit: Callable[[float], None]
    ) -> None:
        """Draw it, still empty; `on_limit` gets the dollars that a person limits the run to."""
        self._backend, self._pattern, self._on_limit = backend, pattern, on_limit
        self._wanted: Plan | None = None
        self._shown: Plan | None = None
        self._is_busy = False
        with Box('cost-line') as self._line:
            self._text = Text('p', 'Working out what a run costs…', 'muted', role='status')
            self._offer = CachedElement('ghost')
            button('Rehearse', kind='small').on('click', self._rehearse)

    def show(self, plan: Plan | None) -> None:
        """Show the cost of a plan as soon as it is known; None hides the line."""
        self._line.set_visibility(plan is not None)
        self._wanted = plan
        if plan is not None and not self._is_busy:
            self._is_busy = True
            create_page_task(self._line, self._catch_up(), 'work out what a run costs')

    async def _catch_up(self) -> None:
        try:
            while (plan := self._wanted) is not None and plan != self._shown:
                cost = await self._find(plan)
                self._shown = plan
                if not self._line.is_deleted:
                    self._draw(plan, cost)
        finally:
            self._is_busy = False

    async def _find(self, plan: Plan) -> Cost | str:
        """Return the cost, or why it is not known."""
        name = self._pattern.name
        try:
            rehearsal = await self._backend().rehearse(
                name, plan.parameters, models=plan.models, seconds=0, version=self._pattern.version
            )
            return rehearsal.cost
        except InvalidInput:
            return 'What a run costs is shown when all fields are valid.'
        except EngineError as error:
            return f'What a run costs is not known: {error}.'

    def _draw(self, plan: Plan, cost: Cost | str) -> None:
        if not isinstance(cost, str) and plan.limit is not None and plan.limit < most_dollars(cost):
            cost = replace(cost, most=replace(cost.most, dollars=None))  # The limit is said below.
        self._text.show(cost if isinstance(cost, str) else cost_sentence(cost))
        limit = 0.0 if isinstance(cost, str) or plan.limit is not None else offered_limit(cost)
        if self._offer.clear_if_changed(limit) and limit:
            with self._offer:
                offer = button(f'Limit to {dollars(limit)}', kind='small', requires='start')
                offer.on('click', lambda: self._on_limit(limit))

    async def _rehearse(self) -> None:
        if self._wanted is not None:
            dialog = RehearsalDialog(self._backend, self._pattern)
            await dialog.open(self._wanted.parameters, self._wanted.models)


def most_dollars(cost: Cost) -> float:
    """Return the dollars of the worst case; infinite if they have no bound."""
    return math.inf if cost.most.dollars is None else cost.most.dollars


def offered_limit(cost: Cost) -> float:
    """Return a round limit in dollars that the worst case exceeds; 0 if none makes sense.

    It is about twice what recorded runs cost.
    """
    unpriced = any(item.figure == 'dollars' and not item.edge for item in cost.unbounded)
    usual = cost.usual.dollars if cost.usual else None
    limit = _round_up(max(2 * usual, MIN_LIMIT)) if usual else FIRST_LIMIT
    return 0.0 if unpriced or limit >= most_dollars(cost) else limit


def _round_up(amount: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(amount))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= amount)
