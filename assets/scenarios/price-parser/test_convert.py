import pytest

from convert import convert
from prices import Money


def test_dollars_to_euros():
    assert convert(Money(10_000, 'USD'), 'EUR') == Money(9_200, 'EUR')


def test_yen_have_no_cents():
    assert convert(Money(610, 'EUR'), 'JPY') == Money(1_000, 'JPY')


def test_the_same_currency_changes_nothing():
    assert convert(Money(1, 'EUR'), 'EUR') == Money(1, 'EUR')


def test_an_unknown_currency_is_refused():
    with pytest.raises(ValueError):
        convert(Money(1, 'EUR'), 'XYZ')
