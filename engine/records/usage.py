"""Usage, Spending, Budget and Gauge: the tokens, dollars and time of a run, used and allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import reduce
from operator import add
from typing import Literal

from engine.errors import InvalidInput
from engine.records.frozen import fast_init

SOURCES = ('provider', 'estimated', 'missing')
"""Where the numbers come from, the most reliable first."""
SUMMED = ('input', 'output', 'calls', 'cached', 'written', 'reasoning', 'dollars', 'unpriced')

Origin = Literal['live', 'simulated', 'stubbed', 'replayed']
"""Where a reply comes from: a provider, a simulated model, the run's stubs, or a recording."""
FILLER: frozenset[Origin] = frozenset({'simulated', 'stubbed'})
"""Those of which no model ever wrote the reply."""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and dollars of one call, an agent or a run.

    `input` includes cached tokens, `output` includes reasoning.
    """

    input: int = 0
    output: int = 0
    calls: int = 0
    """Attempts, including failed ones."""
    cached: int = 0
    """Tokens read from the provider's cache, at a lower price."""
    written: int = 0
    """Tokens written to the cache, for which some providers charge extra."""
    reasoning: int = 0
    source: str = SOURCES[0]
    """One of `SOURCES`; for a sum, the least reliable of its parts."""
    dollars: float = 0.0
    """Cost of the calls with known prices; simulated and replayed calls cost nothing."""
    unpriced: int = 0
    """Calls with unknown prices; if there are any, `dollars` is only part of the cost."""

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input + self.output

    @property
    def cost(self) -> float | None:
        """Dollars; None if part of the cost is unknown."""
        return None if self.unpriced else self.dollars

    def __add__(self, other: Usage) -> Usage:
        source = (
            self.source if self.source == other.source else max(self.source, other.source, key=SOURCES.index)
        )
        return Usage(source=source, **{name: getattr(self, name) + getattr(other, name) for name in SUMMED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one agent has used, and where its replies come from."""

    models: Mapping[str, Usage] = field(default_factory=dict)
    """Usage by model name; failed attempts and fallbacks count for the model called."""
    origins: tuple[Origin, ...] = ()
    """Distinct origins in order of first appearance; failed attempts do not count."""

    @property
    def total(self) -> Usage:
        """The sum over all its models."""
        return reduce(add, self.models.values(), Usage())


BUDGET_KINDS = ('tokens', 'cost', 'seconds')
"""The quantities that can be limited."""
NOTICE = 'Budget notice:'
"""Prefix of a message that informs an agent about the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits on what a run may use; None means no limit."""

    tokens: int | None = None
    """Token limit: input and output together."""
    cost: float | None = None
    """Cost limit in dollars. Calls with unknown prices cannot be counted: the run warns about them."""
    seconds: float | None = None
    """Time limit in seconds; pauses, waiting for a person, and time without a process do not count."""
    warn: float = 0.8
    """The fraction of a limit at which the agents are asked to wrap up."""
    grace: float = 30.0
    """Seconds that work in progress may take after a limit is reached; the pattern's own shutdown may then
    take as long again."""

    def limits(self) -> dict[str, float]:
        """Return the limited quantities and their limits."""
        return {kind: limit for kind in BUDGET_KINDS if (limit := getattr(self, kind)) is not None}

    def check(self) -> None:
        """Raise `InvalidInput`, naming the field, if the budget is invalid."""
        problems: dict[str, str] = {}
        for kind in BUDGET_KINDS:
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
    """One limit of a run's budget, and how much of it is used."""

    used: float
    limit: float
    warned: bool = False
    exhausted: bool = False
    lasts: float | None = None
    """Seconds of running until the limit at the pace so far; None if nothing has been used yet."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


BUDGET_FIELDS = tuple(item.name for item in fields(Budget))
