"""What was used: tokens and dollars of a call, of an agent, of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Literal

SOURCES = ('provider', 'estimated', 'missing')
"""Where numbers are from, the surest first."""
SUMMED = ('input', 'output', 'calls', 'cached', 'written', 'reasoning', 'dollars', 'unpriced')

Origin = Literal['live', 'simulated', 'replayed']
"""Where a reply is from: a provider, a model that only plays, or a recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and dollars of one call, an agent or a run.

    Those in cache are parts of `input`, thinking of `output`.
    """

    input: int = 0
    output: int = 0
    calls: int = 0
    """Attempts, those that failed among them."""
    cached: int = 0
    """Read from the provider's cache, for less."""
    written: int = 0
    """Put into it, for which some charge more."""
    reasoning: int = 0
    source: str = SOURCES[0]
    """One of `SOURCES`: of a sum, that of its least sure part."""
    dollars: float = 0.0
    """What the calls cost whose price is known; what is simulated or replayed costs nothing."""
    unpriced: int = 0
    """Calls whose price is not known: where there are any, `dollars` is only a part."""

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input + self.output

    @property
    def cost(self) -> float | None:
        """Dollars; None where a part of them is not known."""
        return None if self.unpriced else self.dollars

    def __add__(self, other: Usage) -> Usage:
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMMED}
        return Usage(**sums, source=max(self.source, other.source, key=SOURCES.index))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one agent has used, and where its replies are from."""

    models: Mapping[str, Usage] = field(default_factory=dict)
    """By the model's name; failed attempts and fallbacks count for the model that was called."""
    origins: tuple[Origin, ...] = ()
    """Each that there was, in the order in which they came; of attempts that failed nothing is said."""

    @property
    def total(self) -> Usage:
        """Of all its models together."""
        return reduce(add, self.models.values(), Usage())
