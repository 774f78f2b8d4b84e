"""Exchange rates: the value of one unit of a currency in euros."""

from decimal import Decimal

RATES = {'EUR': Decimal('1'), 'USD': Decimal('0.92'), 'GBP': Decimal('1.17'), 'JPY': Decimal('0.0061')}


def rate(source: str, target: str) -> Decimal:
    """Return the value of one `source` in `target`. Raises `ValueError`."""
    for currency in (source, target):
        if currency not in RATES:
            raise ValueError(f'there is no rate for {currency!r}')
    return RATES[source] / RATES[target]
