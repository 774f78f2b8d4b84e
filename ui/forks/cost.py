"""What a fork may cost, in words: an estimate from what was used before, or that it is not known."""

from __future__ import annotations

from collections.abc import Sequence

from engine import Forecast
from ui.presenters.reading import span
from ui.presenters.spending import dollars as money
from ui.presenters.words import count

BASES = {
    'parent': 'an estimate from what the original used after this step',
    'runs': 'an estimate from other runs of this pattern, first step to last',
    'none': '',
}
FREE = 'Nothing to pay: no live model is called.'


def told(forecasts: Sequence[Forecast]) -> tuple[bool, str]:
    """Whether it costs nothing for sure, and what all of them together may use."""
    if not forecasts:
        return True, ''
    if all(found.free for found in forecasts):
        takes = _sum([found.seconds for found in forecasts])
        return True, f'{FREE} It takes about {span(takes)}.' if takes else FREE
    paying = [found for found in forecasts if not found.free]
    calls, tokens = _sum([found.calls for found in paying]), _sum([found.tokens for found in paying])
    cost, seconds = _sum([found.dollars for found in paying]), _sum([found.seconds for found in paying])
    if calls is None or tokens is None:
        return False, 'It calls live models. How much it will use is not known: no run like it has ended yet.'
    facts = [
        count(round(calls), 'live call'),
        f'{round(tokens):,} tokens',
        money(cost) if cost is not None else 'a price that is not known',
        *([span(seconds)] if seconds is not None else []),
    ]
    return False, f'About {", ".join(facts[:-1])} and {facts[-1]}: {BASES[paying[0].basis]}.'


def _sum(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
