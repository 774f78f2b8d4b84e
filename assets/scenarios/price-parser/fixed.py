"""Reads prices such as '12.50 EUR'."""

from decimal import Decimal, InvalidOperation
from typing import NamedTuple

DIGITS = {'EUR': 2, 'USD': 2, 'GBP': 2, 'JPY': 0}
"""Decimal places of each currency."""


class Money(NamedTuple):
    """An amount in the smallest unit of its currency."""

    units: int
    currency: str


def parse(text: str) -> Money:
    """Parse a price. Raises `ValueError`."""
    amount, _, currency = text.strip().partition(' ')
    currency = currency.strip() or 'EUR'
    if currency not in DIGITS:
        raise ValueError(f'unknown currency {currency!r}')
    try:
        units = Decimal(amount).scaleb(DIGITS[currency])
    except InvalidOperation:
        raise ValueError(f'{amount!r} is not an amount') from None
    if not units.is_finite() or units != units.to_integral_value():
        raise ValueError(f'{amount!r} has too many decimal places for {currency}')
    return Money(int(units), currency)
