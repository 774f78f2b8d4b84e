from decimal import Decimal

import pytest

from rates import RATES, rate


def test_the_rate_to_itself_is_one():
    assert all(rate(name, name) == 1 for name in RATES)


def test_rates_are_reciprocal():
    assert abs(rate('USD', 'JPY') * rate('JPY', 'USD') - 1) < Decimal('1e-12')


def test_an_unknown_currency_is_refused():
    with pytest.raises(ValueError, match='XYZ'):
        rate('EUR', 'XYZ')
