"""When a replay shows which step: recorded times, scaled by speed, with idle time skipped."""

from __future__ import annotations

from collections.abc import Sequence

MAX_WAIT = 1.5
"""The longest wait in seconds when idle time is skipped."""
MIN_WAIT = 0.05
"""The least time a step is shown at normal speed: many are recorded at the same moment."""
FRAME = 1 / 30
"""The least time between two positions: at high speed, steps in between are skipped."""
SPEEDS = {0.25: '¼×', 0.5: '½×', 1: '1×', 2: '2×', 4: '4×', 8: '8×', 16: '16×', 32: '32×', 64: '64×'}


def wait_after(times: Sequence[float], at: int, *, folded: bool) -> float:
    """Seconds of the recording from step `at` to the next one; 0 after the last.

    Args:
        times: of the steps, seconds; step n is at n - 1.
        at: a step, or 0 for before the first.
        folded: whether idle time is skipped.
    """
    if not 0 < at < len(times):
        return 0.0
    wait = max(times[at] - times[at - 1], MIN_WAIT)
    return min(wait, MAX_WAIT) if folded else wait


def advance(times: Sequence[float], at: int, seconds: float, *, folded: bool) -> tuple[int, float]:
    """Where a replay is, `seconds` of recording after showing step `at`.

    Returns:
        The step, and the seconds that are left over for the next one.
    """
    while at < len(times) and seconds >= (wait := wait_after(times, at, folded=folded)):
        at, seconds = at + 1, seconds - wait
    return at, seconds


def seconds_until_next(
    times: Sequence[float], at: int, seconds: float, speed: float, *, folded: bool
) -> float:
    """Real seconds until the next step, `seconds` of recording after `at`; at least one frame."""
    return max((wait_after(times, at, folded=folded) - seconds) / speed, FRAME)
