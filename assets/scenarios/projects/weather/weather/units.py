"""Conversions between units."""


def celsius(fahrenheit: float) -> float:
    """Degrees Celsius."""
    return (fahrenheit - 32) * 9 / 5


def knots(metres_a_second: float) -> float:
    """Knots."""
    return metres_a_second * 1.943844
