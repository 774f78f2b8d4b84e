"""Reads prices such as '12.50 EUR'."""

from typing import NamedTuple


class Money(NamedTuple):
    """An amount in the smallest unit of its currency."""

    units: int
    currency: str


def parse(text: str) -> Money:
    """Parse a price. Raises `ValueError`."""
    amount, _, currency = text.strip().partition(' ')
    return Money(int(float(amount) * 100), currency or 'EUR')
