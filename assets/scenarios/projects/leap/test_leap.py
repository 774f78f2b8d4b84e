"""Leap years in the Gregorian calendar, and values that are not years."""

import leap
import pytest


@pytest.mark.parametrize('year', [4, 1600, 1996, 2000, 2024, 2400])
def test_leap_years(year):
    assert leap.is_leap(year) is True


@pytest.mark.parametrize('year', [1, 1700, 1800, 1900, 2023, 2100])
def test_common_years(year):
    assert leap.is_leap(year) is False


@pytest.mark.parametrize('year', [0, -4, 2.5, '2024', None, True])
def test_no_years(year):
    with pytest.raises(ValueError):
        leap.is_leap(year)
