"""Prices: what a call cost, by the user's own table first; what is not known is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.records import Usage
from engine.wire.endpoint import Endpoint

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For input read from the cache; the same as other input if not given."""
    written: float | None = None
    """For input put into it; likewise."""

    def of(self, usage: Usage) -> float:
        """Dollars."""
        fresh = usage.input - usage.cached - usage.written
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        total = fresh * self.input + usage.cached * cached + usage.written * written
        return (total + usage.output * self.output) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of models."""

    own: Mapping[str, Price] = field(default_factory=dict)
    """By `endpoint/model`, or by model: these come before all others."""

    def cost(self, endpoint: Endpoint, model: str, usage: Usage) -> float | None:
        """Dollars; None where the price is not known, or what was used."""
        if usage.source == 'missing':
            return None
        own = self.own.get(f'{endpoint.name}/{model}') or self.own.get(model)
        if own is not None:
            return own.of(usage)
        return _listed(endpoint.url, model, usage)


def _listed(url: str, model: str, usage: Usage) -> float | None:
    """By the list that comes with `genai-prices`: it is read when it is needed, and never downloaded."""
    import genai_prices

    counts = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.written,
    )
    try:
        # By address only: guessing by a model's name would give a local one the price of its namesake.
        found = genai_prices.calc_price(counts, model, provider_api_url=url)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
