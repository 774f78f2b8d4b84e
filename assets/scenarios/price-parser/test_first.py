import pytest

from prices import Money, parse


@pytest.mark.parametrize(
    ('text', 'money'),
    [
        ('12.50', Money(1250, 'EUR')),
        ('19.99 USD', Money(1999, 'USD')),
        ('500 JPY', Money(500, 'JPY')),
    ],
)
def test_an_amount_with_its_currency(text, money):
    assert parse(text) == money


@pytest.mark.parametrize('text', ['', 'abc', '1.5 JPY', '3 XYZ', 'nan EUR'])
def test_invalid_prices_are_refused(text):
    with pytest.raises(ValueError):
        parse(text)
