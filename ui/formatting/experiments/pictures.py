"""Pictures of an answer, as SVG: score against cost, and differences with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from engine.operations.experiments import TrendPoint
from engine.records import clip
from ui.formatting.experiments.table import figure
from ui.formatting.usage import dollars

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 20, 44
TICKS = 4
MAX_LABEL = 32
"""Maximum number of characters of a name in a picture; the whole is its title."""
DOT, LINE, SIGN = 6.0, 16.0, 6.8
"""The radius of a point, the height of a line of text, and the average width of a character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A variant in the picture of score and cost."""

    name: str
    score: float
    spent: float
    """Dollars, tokens or seconds of a run."""
    is_on_front: bool
    """Whether no other variant is both better and cheaper."""


def front(points: Sequence[tuple[str, float, float]], *, higher: bool) -> frozenset[str]:
    """Return the names of the points (name, score, spent) that none beats in one and matches in the other."""
    sign = 1 if higher else -1
    return frozenset(
        name
        for name, score, spent in points
        if not any(
            sign * other >= sign * score and cost <= spent and (other, cost) != (score, spent)
            for _, other, cost in points
        )
    )


def pareto(points: Sequence[Point], *, measure: str, unit: str) -> str:
    """Return the picture: what a run uses to the right, the score upwards, the best trade-offs joined.

    Args:
        points: the variants.
        measure: the name of the score.
        unit: what a run uses, in words.
    """
    across, up = _scale([point.spent for point in points]), _scale([point.score for point in points])
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(value: float) -> float:
        return LEFT + (value - across[0]) / (across[-1] - across[0]) * (right - LEFT)

    def y(value: float) -> float:
        return bottom - (value - up[0]) / (up[-1] - up[0]) * (bottom - TOP)

    summary = '; '.join(
        f'{point.name}: {figure(point.score)} at {_amount(point.spent, unit)}' for point in points
    )
    parts = [
        f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(f"{measure} against {unit} of a run. {summary}")}">'
    ]
    for tick in up:
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{right}"/>')
        parts.append(_text(LEFT - 8, y(tick) + 4, figure(tick), 'end'))
    for tick in across:
        parts.append(_text(x(tick), bottom + 18, _amount(tick, unit), 'middle'))
    parts.append(_text(right, HEIGHT - 4, f'{unit} of a run →', 'end'))
    parts.append(_text(LEFT, 12, f'↑ {measure}', 'start'))
    joined = sorted((point for point in points if point.is_on_front), key=lambda point: point.spent)
    if len(joined) > 1:
        line = 'L'.join(f'{x(point.spent):.1f} {y(point.score):.1f}' for point in joined)
        parts.append(f'<path class="front" d="M{line}"/>')
    dots = [(x(point.spent), y(point.score)) for point in points]
    for point, (at_x, at_y) in zip(points, dots, strict=True):
        kind = 'dot best' if point.is_on_front else 'dot'
        parts.append(f'<circle class="{kind}" cx="{at_x:.1f}" cy="{at_y:.1f}" r="{DOT:g}"/>')
    names = [point.name for point in points]
    for name, (left, base, anchor) in zip(names, _places(dots, names), strict=True):
        parts.append(_text(left, base, name, anchor, 'name'))
    return ''.join([*parts, '</svg>'])


def _places(dots: Sequence[tuple[float, float]], names: Sequence[str]) -> list[tuple[float, float, str]]:
    """Return where each name goes: beside its point, but on no other point or name if there is room."""
    taken = [_Box(x - DOT - 2, y - DOT - 2, x + DOT + 2, y + DOT + 2) for x, y in dots]
    places = []
    for (x, y), name in zip(dots, names, strict=True):
        width = len(clip(name, MAX_LABEL)) * SIGN
        rows = sorted(range(-len(dots), len(dots) + 1), key=abs)
        options = [
            (_Box(left, y - LINE / 2 + row * LINE, left + width, y + LINE / 2 + row * LINE), anchor)
            for row in rows
            for left, anchor in ((x + 2 * DOT, 'start'), (x - 2 * DOT - width, 'end'))
        ]
        fitting = [option for option in options if option[0].is_inside] or options
        box, anchor = next(
            (option for option in fitting if not any(option[0].covers(other) for other in taken)), fitting[0]
        )
        taken.append(box)
        places.append((box.left if anchor == 'start' else box.right, box.top + LINE * 0.75, anchor))
    return places


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    @property
    def is_inside(self) -> bool:
        """Whether it is within the axes."""
        return (
            self.left >= LEFT and self.right <= WIDTH and self.top >= 0 and self.bottom <= HEIGHT - BOTTOM + 2
        )

    def covers(self, other: _Box) -> bool:
        """Whether it has a part in common with another."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


def interval(bounds: tuple[float, float, float], reach: float, tone: str, label: str) -> str:
    """Return a difference with its interval as a bar around zero.

    Args:
        bounds: the interval's lower end, the difference, and the upper end.
        reach: the value at both ends of the picture.
        tone: its class: `up`, `down` or '' where nothing is clear.
        label: what it says.
    """
    width, middle, across = 240, 120, reach or 1.0
    low, at, high = (middle * (1 + max(-1.0, min(1.0, value / across)) * 0.95) for value in bounds)
    return (
        f'<svg class="interval {tone}" viewBox="0 0 {width} 20" role="img" aria-label="{escape(label)}">'
        f'<path class="zero" d="M{middle} 0V20"/><path class="reach" d="M{low:.1f} 10H{high:.1f}"/>'
        f'<circle cx="{at:.1f}" cy="10" r="5"/></svg>'
    )


def trend_picture(trend: Sequence[TrendPoint], measure: str) -> str:
    """Return the scores of versions as a line from the oldest to the newest, with their intervals."""
    up = _scale([end for point in trend for end in (point.low, point.high)])
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    step = (right - LEFT) / max(1, len(trend) - 1)

    def y(value: float) -> float:
        return bottom - (value - up[0]) / (up[-1] - up[0]) * (bottom - TOP)

    summary = '; '.join(f'{point.version[:12]}: {figure(point.mean)}' for point in trend)
    label = escape(f'{measure} of versions, the oldest first. {summary}')
    parts = [f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">']
    for tick in up:
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{right}"/>')
        parts.append(_text(LEFT - 8, y(tick) + 4, figure(tick), 'end'))
    places = [(LEFT + step * number, point) for number, point in enumerate(trend)]
    line = 'L'.join(f'{x:.1f} {y(point.mean):.1f}' for x, point in places)
    parts.append(f'<path class="front" d="M{line}"/>')
    for x, point in places:
        parts.append(f'<path class="reach" d="M{x:.1f} {y(point.low):.1f}V{y(point.high):.1f}"/>')
        parts.append(f'<circle class="dot best" cx="{x:.1f}" cy="{y(point.mean):.1f}" r="5"/>')
    parts.append(_text(LEFT, HEIGHT - 12, 'oldest', 'start'))
    parts.append(_text(right, HEIGHT - 12, 'newest', 'end'))
    return ''.join([*parts, '</svg>'])


def _scale(values: Sequence[float]) -> list[float]:
    """Return round numbers around all values, in equal steps."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
        low, high = (0.0, 2 * high or 1.0) if high >= 0 else (2 * high, 0.0)
    else:
        low = low - 0.1 * (high - low) if low else 0.0
    raw = (high - low) / TICKS
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(step * magnitude for step in (1, 2, 2.5, 5, 10) if step * magnitude >= raw * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, last + 1)]


def _amount(value: float, unit: str) -> str:
    if unit == 'cost':
        return dollars(value)
    return f'{figure(value)} s' if unit == 'time' else figure(value)


def _text(x: float, y: float, text: str, anchor: str, kind: str = '') -> str:
    """Return a text; one that is cut is shown whole under the pointer."""
    shown = clip(text, MAX_LABEL)
    whole = '' if shown == text else f'<title>{escape(text)}</title>'
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{whole}{escape(shown)}</text>'
