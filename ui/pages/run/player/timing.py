"""Timing of a replay: recorded times, scaled by speed, with idle time skipped."""

from __future__ import annotations

from collections.abc import Sequence

MAX_WAIT = 1.5
"""Maximum wait in seconds when idle time is skipped."""
MIN_WAIT = 0.05
"""Minimum seconds per step at normal speed: many are recorded at the same moment."""
FRAME = 1 / 30
"""Minimum seconds between two positions: at high speed, steps in between are skipped."""
SPEEDS = {0.25: '¼×', 0.5: '½×', 1: '1×', 2: '2×', 4: '4×', 8: '8×', 16: '16×', 32: '32×', 64: '64×'}


def wait_after(times: Sequence[float], at: int, *, folded: bool) -> float:
    """Return the seconds of the recording from step `at` to the next one; 0 after the last.

    Args:
        times: the times of the steps in seconds; that of step n is at index n - 1.
        at: a step, or 0 before the first.
        folded: whether idle time is skipped.
    """
    if not 0 < at < len(times):
        return 0.0
    wait = max(times[at] - times[at - 1], MIN_WAIT)
    return min(wait, MAX_WAIT) if folded else wait


def advance(times: Sequence[float], at: int, seconds: float, *, folded: bool) -> tuple[int, float]:
    """Return where a replay is `seconds` of recording after showing step `at`.

    Returns:
        The step, and the remaining seconds, which count towards the next one.
    """
    while at < len(times) and seconds >= (wait := wait_after(times, at, folded=folded)):
        at, seconds = at + 1, seconds - wait
    return at, seconds


def seconds_until_next(
    times: Sequence[float], at: int, seconds: float, speed: float, *, folded: bool
) -> float:
    """Return the real seconds until the next step, `seconds` of recording after `at`; at least a frame."""
    return max((wait_after(times, at, folded=folded) - seconds) / speed, FRAME)
