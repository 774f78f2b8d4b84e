"""Budgets: how much a run may use, and how much of that it has used."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from engine.errors import InvalidInput

KINDS = ('tokens', 'cost', 'seconds')
"""What can be limited."""
UNITS = {'tokens': 'tokens', 'cost': 'dollars', 'seconds': 'seconds of running'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a run may use; None is no limit."""

    tokens: int | None = None
    """Input and output together."""
    cost: float | None = None
    """Dollars. Calls whose price is not known cannot be counted: the run warns of them."""
    seconds: float | None = None
    """Of running: not while the run is paused, waits for a person, or has no process."""
    warn: float = 0.8
    """The share of a limit at which the agents are asked to wrap up."""
    grace: float = 30.0
    """Seconds that what is under way may still take when a limit is reached; and after that, those that the
    pattern's own shutdown may take."""

    def limits(self) -> dict[str, float]:
        """What is limited, and to how much."""
        return {kind: limit for kind in KINDS if (limit := getattr(self, kind)) is not None}

    def check(self) -> None:
        """Raise `InvalidInput` for a budget that makes no sense; it names the field."""
        problems: dict[str, str] = {}
        for kind in KINDS:
            limit = getattr(self, kind)
            if limit is not None and not (_is_number(limit) and limit > 0):
                problems[f'budget.{kind}'] = f'must be a number above 0, not {limit!r}'
        if self.tokens is not None and 'budget.tokens' not in problems and self.tokens != int(self.tokens):
            problems['budget.tokens'] = f'must be a whole number, not {self.tokens!r}'
        if not (_is_number(self.warn) and 0 < self.warn <= 1):
            problems['budget.warn'] = f'must be above 0 and at most 1, not {self.warn!r}'
        if not (_is_number(self.grace) and self.grace >= 0):
            problems['budget.grace'] = f'must be a number of seconds, 0 or more, not {self.grace!r}'
        if problems:
            raise InvalidInput(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One limit of a run's budget, and how far it is used up."""

    used: float
    limit: float
    warned: bool = False
    exhausted: bool = False
    lasts: float | None = None
    """For how many more seconds of running the rest is enough at the pace so far; None where nothing has been
    used yet."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


FIELDS = tuple(item.name for item in fields(Budget))
