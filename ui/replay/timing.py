"""When a replay shows which step: at the recorded times, with long waits folded, slower or faster."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_WAIT = 1.5
"""Seconds that a wait of the recording takes at most, where idle time is folded."""
SHORTEST_WAIT = 0.05
"""Seconds that a step is seen at least, at the recorded speed: many are recorded at the same moment."""
FRAME = 1 / 30
"""Seconds between two positions at least: at a high speed, steps between them are not shown."""
SPEEDS = {0.25: '¼×', 0.5: '½×', 1: '1×', 2: '2×', 4: '4×', 8: '8×', 16: '16×', 32: '32×', 64: '64×'}


def wait_after(times: Sequence[float], at: int, *, folded: bool) -> float:
    """Seconds of the recording from step `at` to the next one; 0 after the last.

    Args:
        times: of the steps, seconds; step n is at n - 1.
        at: a step, or 0 for before the first.
        folded: whether long waits are cut short.
    """
    if not 0 < at < len(times):
        return 0.0
    wait = max(times[at] - times[at - 1], SHORTEST_WAIT)
    return min(wait, LONGEST_WAIT) if folded else wait


def advance(times: Sequence[float], at: int, seconds: float, *, folded: bool) -> tuple[int, float]:
    """Where a replay is that showed step `at` and has gone on by `seconds` of the recording.

    Returns:
        The step, and the seconds that are left over for the next one.
    """
    while at < len(times) and seconds >= (wait := wait_after(times, at, folded=folded)):
        at, seconds = at + 1, seconds - wait
    return at, seconds


def due(times: Sequence[float], at: int, seconds: float, speed: float, *, folded: bool) -> float:
    """Real seconds until the step after `at`, of whose wait `seconds` are over; a frame at least."""
    return max((wait_after(times, at, folded=folded) - seconds) / speed, FRAME)
