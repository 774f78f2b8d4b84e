"""Times two sides alternately, in one process, so that a noisy machine affects both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.table import Row


@dataclass(frozen=True, slots=True)
class Lap:
    """The cost of some work, in microseconds per piece."""

    wall: float
    cpu: float
    """Of all threads of the process."""


class Stopwatch:
    """Measures its block, which does `count` pieces of work."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.lap = Lap(0.0, 0.0)

    def __enter__(self) -> Stopwatch:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        self.lap = Lap(wall / self._count * 1e6, cpu / self._count * 1e6)


def walls(laps: Sequence[Lap]) -> float:
    """The median time per piece."""
    return median(lap.wall for lap in laps)


def cpus(laps: Sequence[Lap]) -> float:
    """The median CPU time per piece."""
    return median(lap.cpu for lap in laps)


def ratio(ours: Sequence[Lap], base: Sequence[Lap]) -> float:
    """The median of the rounds' ratios: both sides of a round had the same noise."""
    return median(one.wall / other.wall for one, other in zip(ours, base, strict=True))


def compare(
    name: str,
    ours: Sequence[Lap],
    base: Sequence[Lap],
    *,
    against: str,
    target: float | None = None,
    **details: float,
) -> Row:
    """A row of the table: the time per piece on either side."""
    times = {'cpu': cpus(ours), 'base_cpu': cpus(base)}
    return Row(
        name=name,
        value=walls(ours),
        unit='µs',
        base=walls(base),
        against=against,
        ratio=ratio(ours, base),
        target=target,
        details=times | details,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The quantile of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
