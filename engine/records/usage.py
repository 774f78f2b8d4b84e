"""Usage and Spending: tokens and dollars of a call, an agent or a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Literal

from engine.records.frozen import fast_init

SOURCES = ('provider', 'estimated', 'missing')
"""Where the numbers come from, the most reliable first."""
SUMMED = ('input', 'output', 'calls', 'cached', 'written', 'reasoning', 'dollars', 'unpriced')

Origin = Literal['live', 'simulated', 'replayed']
"""Where a reply comes from: a provider, a simulated model, or a recording."""


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
