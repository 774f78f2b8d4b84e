"""Model prices: the user's own table first, then the `genai-prices` list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.models.endpoint import Endpoint
from engine.records import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For input read from the cache; defaults to the input price."""
    written: float | None = None
    """For input written to the cache; defaults to the input price."""
    written_hour: float | None = None
    """For input cached for an hour; defaults to `written`."""

    def cost(self, usage: Usage, written_hour: int = 0) -> float:
        """Return the cost in dollars; `written_hour` of the written tokens are cached for an hour."""
        fresh = usage.input - usage.cached - usage.written
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        hour = written if self.written_hour is None else self.written_hour
        total = fresh * self.input + usage.cached * cached
        total += (usage.written - written_hour) * written + written_hour * hour
        return (total + usage.output * self.output) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of models: the user's own, then the published ones."""

    own: Mapping[str, Price] = field(default_factory=dict)
    """The user's prices by `endpoint/model` or by model; they take precedence."""

    def cost(
        self,
        endpoint: Endpoint,
        model: str,
        usage: Usage,
        *,
        charged: float | None = None,
        written_hour: int | None = None,
    ) -> float | None:
        """Return the cost in dollars; None if the price or the usage is unknown.

        Args:
            endpoint: the model's endpoint.
            model: its name there.
            usage: the tokens used.
            charged: the cost in dollars that the provider reports; only the user's own prices override it.
            written_hour: tokens written to the cache for an hour; None means all that were written, if the
                endpoint is set to cache for an hour.
        """
        if written_hour is None:
            written_hour = usage.written if endpoint.cache == '1h' else 0
        own = self.own.get(f'{endpoint.name}/{model}') or self.own.get(model)
        if own is not None and usage.source != 'missing':
            return own.cost(usage, written_hour)
        if charged is not None or usage.source == 'missing':
            return charged
        return _list_price(endpoint.url, model, usage, written_hour)

    def largest_call(self, endpoint: Endpoint, model: str) -> Usage | None:
        """Return the most tokens one call can use; None if the model's context window is unknown."""
        from genai_prices import data_snapshot

        try:
            _, info = data_snapshot.get_snapshot().find_provider_model(model, None, None, endpoint.url)
        except LookupError:
            return None
        window = info.context_window
        if not window:
            return None
        return Usage(calls=1, input=window, output=min(endpoint.most_tokens or window, window))

    def cache_saving(self, endpoint: Endpoint, model: str, usage: Usage) -> float | None:
        """Return the dollars saved by the provider's cache, less the extra price of writes; None if unknown.

        Args:
            endpoint: the model's endpoint.
            model: its name there.
            usage: the tokens used; the endpoint's cache setting decides the price of writes.
        """
        cost = self.cost(endpoint, model, usage)
        plain = self.cost(endpoint, model, replace(usage, cached=0, written=0))
        return None if cost is None or plain is None else plain - cost


def _list_price(url: str, model: str, usage: Usage, written_hour: int) -> float | None:
    """Return the cost by the bundled `genai-prices` list, loaded on demand and never downloaded."""
    import genai_prices

    counts = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.written,
        **({'cache_write_1h_tokens': written_hour} if written_hour else {}),
    )
    try:
        # By address only: guessing from the name would give a local model the price of its namesake.
        price = genai_prices.calc_price(counts, model, provider_api_url=url)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)
