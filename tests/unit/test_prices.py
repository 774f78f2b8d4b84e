"""What a call cost: the user's own prices first, the list's next, and nothing where nothing is known."""

import pytest

from engine.records import Usage
from engine.wire.endpoint import Endpoint
from engine.wire.prices import Price, Prices

OPENAI = Endpoint(name='openai', url='https://api.openai.com/v1')
ANTHROPIC = Endpoint(name='anthropic', url='https://api.anthropic.com/v1', dialect='anthropic')
LOCAL = Endpoint(name='ollama', url='http://localhost:11434/v1')
USED = Usage(input=1_000_000, output=1_000_000, cached=400_000, written=100_000)


def test_own_prices() -> None:
    price = Price(input=10, output=20, cached=1, written=12)
    assert price.of(USED) == pytest.approx(0.5 * 10 + 0.4 + 1.2 + 20)
    assert Price(input=10, output=20).of(USED) == pytest.approx(30)
    prices = Prices(own={'gpt-4o': Price(input=1, output=1), 'openai/gpt-4o': Price(input=2, output=0)})
    assert prices.cost(OPENAI, 'gpt-4o', USED) == pytest.approx(2)
    assert prices.cost(LOCAL, 'gpt-4o', USED) == pytest.approx(2)


def test_listed_prices() -> None:
    plain = Usage(input=1_000_000)
    assert Prices().cost(OPENAI, 'gpt-4o', plain) == pytest.approx(2.5)
    cached = Usage(input=1_000_000, cached=1_000_000)
    assert Prices().cost(OPENAI, 'gpt-4o', cached) == pytest.approx(1.25)
    assert Prices().cost(ANTHROPIC, 'claude-3-5-haiku-latest', plain) == pytest.approx(0.8)


def test_what_is_not_known_is_not_nothing() -> None:
    assert Prices().cost(OPENAI, 'nobody-knows-this', USED) is None
    assert Prices().cost(LOCAL, 'gpt-4o', USED) is None
    assert Prices().cost(OPENAI, 'gpt-4o', Usage(source='missing')) is None
