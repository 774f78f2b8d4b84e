"""Converts money from one currency to another."""

from decimal import ROUND_HALF_EVEN, Decimal

from prices import DIGITS, Money
from rates import rate


def convert(money: Money, target: str) -> Money:
    """Convert money to another currency, rounding half to even. Raises `ValueError`."""
    factor = rate(money.currency, target)
    places = DIGITS[target] - DIGITS[money.currency]
    units = (Decimal(money.units) * factor).scaleb(places)
    return Money(int(units.quantize(Decimal(1), rounding=ROUND_HALF_EVEN)), target)
