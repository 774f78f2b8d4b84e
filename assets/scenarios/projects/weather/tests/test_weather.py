from weather.read import reading
from weather.report import report
from weather.units import knots


def test_a_line_is_a_reading():
    assert reading('07:30 8C 1013') == {'time': '07:30', 'degrees': 8.0, 'pressure': 1013}


def test_knots():
    assert round(knots(10)) == 19


def test_a_day_is_reported_in_celsius():
    assert report(['07:30 50F 1013', '14:00 68F 1009', '22:00 12C 1011']) == 'From 10 to 20 °C'
