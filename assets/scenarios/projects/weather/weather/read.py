"""Parses lines from a weather station."""

from weather.units import celsius


def reading(line: str) -> dict:
    """Parse a line such as `07:30 50F 1013` into time, degrees Celsius and pressure."""
    time, temperature, pressure = line.split()
    value, unit = float(temperature[:-1]), temperature[-1]
    degrees = celsius(value) if unit == 'F' else value
    return {'time': time, 'degrees': degrees, 'pressure': int(pressure)}
