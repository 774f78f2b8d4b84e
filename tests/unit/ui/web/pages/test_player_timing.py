"""When a replay shows which step: shortened waits, speeds, remaining time."""

import pytest

from ui.web.pages.run.player.player import (
    FRAME,
    MAX_WAIT,
    MIN_WAIT,
    SPEEDS,
    advance,
    seconds_until_next,
    wait_after,
)

TIMES = [100.0, 100.0, 100.4, 160.4, 161.4]
"""Two steps at once, a short wait, a minute, a second."""


def test_long_waits_are_shortened_and_short_ones_lengthened():
    assert wait_after(TIMES, 1, folded=True) == MIN_WAIT
    assert wait_after(TIMES, 2, folded=True) == pytest.approx(0.4)
    assert wait_after(TIMES, 3, folded=True) == MAX_WAIT
    assert wait_after(TIMES, 3, folded=False) == pytest.approx(60)
    assert wait_after(TIMES, 5, folded=True) == wait_after(TIMES, 0, folded=True) == 0


@pytest.mark.parametrize(
    ('at', 'seconds', 'expected'),
    [(1, 0.0, (1, 0.0)), (1, 0.3, (2, 0.25)), (2, 0.5, (3, 0.1)), (1, 2.0, (4, 0.05)), (4, 9.0, (5, 8.0))],
)
def test_elapsed_time_covers_several_steps_and_carries_over(at, seconds, expected):
    step, remaining = advance(TIMES, at, seconds, folded=True)
    assert (step, pytest.approx(remaining)) == expected


def test_without_shortening_a_minute_lasts_a_minute():
    assert advance(TIMES, 3, 59.0, folded=False)[0] == 3
    assert advance(TIMES, 3, 60.1, folded=False)[0] == 4


def test_speed_divides_the_wait_down_to_one_frame():
    assert seconds_until_next(TIMES, 3, 0.5, 1, folded=True) == pytest.approx(1.0)
    assert seconds_until_next(TIMES, 3, 0.5, 0.25, folded=True) == pytest.approx(4.0)
    assert seconds_until_next(TIMES, 3, 0.5, 64, folded=True) == FRAME
    assert (min(SPEEDS), max(SPEEDS)) == (0.25, 64)
