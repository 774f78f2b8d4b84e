"""The cost of a call: from the user's own prices, else from the price list, else unknown."""

from dataclasses import replace

import pytest

from engine.models.endpoint import Endpoint
from engine.models.http.prices import Price, Prices
from engine.records import Usage

OPENAI = Endpoint(name='openai', url='https://api.openai.com/v1')
ANTHROPIC = Endpoint(name='anthropic', url='https://api.anthropic.com/v1', dialect='anthropic')
LOCAL = Endpoint(name='ollama', url='http://localhost:11434/v1')
USED = Usage(input=1_000_000, output=1_000_000, cached=400_000, written=100_000)


def test_own_prices_override_listed_ones() -> None:
    price = Price(input=10, output=20, cached=1, written=12)
    assert price.cost(USED) == pytest.approx(0.5 * 10 + 0.4 + 1.2 + 20)
    assert Price(input=10, output=20).cost(USED) == pytest.approx(30)
    prices = Prices(own={'gpt-4o': Price(input=1, output=1), 'openai/gpt-4o': Price(input=2, output=0)})
    assert prices.cost(OPENAI, 'gpt-4o', USED) == pytest.approx(2)
    assert prices.cost(LOCAL, 'gpt-4o', USED) == pytest.approx(2)


def test_listed_prices_are_used() -> None:
    plain = Usage(input=1_000_000)
    assert Prices().cost(OPENAI, 'gpt-4o', plain) == pytest.approx(2.5)
    cached = Usage(input=1_000_000, cached=1_000_000)
    assert Prices().cost(OPENAI, 'gpt-4o', cached) == pytest.approx(1.25)
    assert Prices().cost(ANTHROPIC, 'claude-3-5-haiku-latest', plain) == pytest.approx(0.8)


def test_an_unknown_price_is_not_zero() -> None:
    assert Prices().cost(OPENAI, 'nobody-knows-this', USED) is None
    assert Prices().cost(LOCAL, 'gpt-4o', USED) is None
    assert Prices().cost(OPENAI, 'gpt-4o', Usage(source='missing')) is None


def test_the_largest_call_fills_the_context_window() -> None:
    largest = Prices().largest_call(OPENAI, 'gpt-4o')
    assert largest and (largest.calls, largest.input, largest.output) == (1, 128_000, 128_000)
    limited = Prices().largest_call(replace(OPENAI, most_tokens=500), 'gpt-4o')
    assert limited and limited.output == 500
    assert Prices().largest_call(OPENAI, 'nobody-knows-this') is None
    assert Prices().largest_call(LOCAL, 'gpt-4o') is None


def test_hourly_cache_writes_cost_more() -> None:
    written = Usage(input=2_000_000, written=2_000_000)
    price = Price(input=1, output=1, written=1.25, written_hour=2)
    assert price.cost(written, 1_000_000) == pytest.approx(3.25)
    model = 'claude-sonnet-4-5'
    few = Usage(input=100_000, written=100_000)
    both = [Prices().cost(ANTHROPIC, model, few, written_hour=hour) for hour in (0, 50_000)]
    assert both == [pytest.approx(0.375), pytest.approx(0.1875 + 0.3)]


def test_cache_writes_are_priced_by_the_requested_duration() -> None:
    """Sums of calls and failed calls have no price."""
    few, hour = Usage(input=100_000, written=100_000), replace(ANTHROPIC, cache='1h')
    for endpoint, extra in ((ANTHROPIC, 0.075), (hour, 0.3)):
        assert Prices().cache_saving(endpoint, 'claude-sonnet-4-5', few) == pytest.approx(-extra)
        assert Prices().cost(endpoint, 'claude-sonnet-4-5', few) == pytest.approx(0.3 + extra)


def test_configured_prices_override_a_providers_cost() -> None:
    prices = Prices(own={'own': Price(input=2, output=0)})
    assert prices.cost(OPENAI, 'gpt-4o', USED, charged=0.5) == 0.5
    assert prices.cost(OPENAI, 'own', USED, charged=0.5) == pytest.approx(2)
