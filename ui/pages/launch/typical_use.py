"""Typical usage and cost of a pattern's runs, from earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from engine import Budget, Conductor, EngineError, Status
from engine.records import RunInfo, RunQuery, Usage
from ui.formatting.usage import dollars

LOOK_BACK = 20
"""Number of newest finished runs considered."""
NO_RUN = 'Usage cannot be estimated: no run of this pattern has ended yet.'


@dataclass(frozen=True, slots=True)
class TypicalUse:
    """The median usage of earlier runs."""

    usage: Usage = field(default_factory=Usage)
    runs: int = 0

    def sentence(self, price: Callable[[Usage], float | None], budget: Budget | None) -> str:
        """Return what the next run is likely to use and cost, and its limits.

        Args:
            price: returns the dollars for a usage with the chosen models; None if unknown.
            budget: the limits at which the run ends.
        """
        most = [dollars(budget.cost)] if budget and budget.cost else []
        most += [f'{budget.tokens:,} tokens'] if budget and budget.tokens else []
        bound = f' It ends at {" or ".join(most)}.' if most else ''
        if not self.runs:
            return f'{NO_RUN}{bound}'
        paid = price(self.usage)
        about = f', about {dollars(paid)} with these models' if paid is not None else ''
        return f'Similar runs used {self.usage.total:,} tokens (median of {self.runs}){about}.{bound}'


async def typical_use(conductor: Conductor, pattern: str) -> TypicalUse:
    """Return the median usage of the newest finished runs, only of live ones if there are any."""
    try:
        page = await conductor.runs(RunQuery(pattern=pattern, status=(Status.DONE,), limit=LOOK_BACK))
    except EngineError:
        return TypicalUse()
    ended = [info for info in page.runs if info.usage.total]
    return _middle([info for info in ended if not info.simulated] or ended)


def _middle(runs: Sequence[RunInfo]) -> TypicalUse:
    if not runs:
        return TypicalUse()
    usage = Usage(
        input=round(median(info.usage.input for info in runs)),
        output=round(median(info.usage.output for info in runs)),
        calls=round(median(info.usage.calls for info in runs)),
        source='estimated',
    )
    return TypicalUse(usage, len(runs))
