"""Rates: what one unit of a currency is worth in euros."""

from decimal import Decimal

RATES = {'EUR': Decimal('1'), 'USD': Decimal('0.92'), 'GBP': Decimal('1.17'), 'JPY': Decimal('0.0061')}


def rate(source: str, target: str) -> Decimal:
    """How much of `target` one `source` is. Raises `ValueError`."""
    for currency in (source, target):
        if currency not in RATES:
            raise ValueError(f'there is no rate for {currency!r}')
    return RATES[source] / RATES[target]
