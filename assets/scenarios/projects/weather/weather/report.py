"""A day in a sentence."""

from weather.read import reading


def report(lines: list[str]) -> str:
    """Return a day's lowest and highest temperature."""
    degrees = [reading(line)['degrees'] for line in lines]
    return f'From {min(degrees):.0f} to {max(degrees):.0f} °C'
