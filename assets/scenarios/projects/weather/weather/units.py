"""Conversions between units."""


def celsius(fahrenheit: float) -> float:
    """Convert to degrees Celsius."""
    return (fahrenheit - 32) * 9 / 5


def knots(metres_a_second: float) -> float:
    """Convert to knots."""
    return metres_a_second * 1.943844
