"""A page polls soon after a quiet moment, but not too often, on a clock that tests advance."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ui.web.replay.pace import BATCH_SECONDS, PERIOD, REFRESHES_PER_SECOND, Pace

STEP, TEXT = True, False


class SkippingSelector(selectors.SelectSelector):
    """Advances the clock instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


def run_on_simulated_time(work: Callable[[Callable[[], float]], Coroutine[Any, Any, None]]) -> None:
    clock = SkippingSelector()
    loop = asyncio.SelectorEventLoop(clock)
    loop.time = lambda: clock.now  # type: ignore[method-assign]
    try:
        loop.run_until_complete(work(loop.time))
    finally:
        loop.close()


def refreshes_of(heard: list[tuple[float, bool]], *, until: float) -> list[float]:
    """Return the times at which a page that gets these signals finds something."""
    refreshes: list[float] = []

    async def work(now: Callable[[], float]) -> None:
        pace, unseen = Pace(), list[bool]()
        loop = asyncio.get_running_loop()

        def hear(step: bool) -> None:
            unseen.append(step)
            pace.notify(step=step)

        for at, step in heard:
            loop.call_at(at, hear, step)
        while now() < until:
            await pace.wait()
            if unseen:
                refreshes.append(now())
            pace.record_refresh(has_updates=bool(unseen))
            unseen.clear()

    run_on_simulated_time(work)
    return refreshes


@pytest.mark.parametrize('kind', [STEP, TEXT])
def test_the_first_update_after_a_pause_is_shown_immediately(kind: bool) -> None:
    assert refreshes_of([(1.03, kind)], until=2.0) == pytest.approx([1.03 + BATCH_SECONDS], abs=1e-6)


@pytest.mark.parametrize('kind', [STEP, TEXT])
def test_frequent_updates_are_throttled(kind: bool) -> None:
    flood = [(1.0 + number / 500, kind) for number in range(500)]
    refreshes = refreshes_of(flood, until=3.0)
    assert len(refreshes) == pytest.approx(REFRESHES_PER_SECOND, abs=2)
    assert refreshes[-1] >= flood[-1][0]  # the last update is shown, too


def test_a_step_does_not_wait_behind_streamed_text() -> None:
    text = [(number / 200, TEXT) for number in range(1, 400)]
    steps = [(0.511 + number / 10, STEP) for number in range(10)]
    refreshes = refreshes_of(sorted([*text, *steps]), until=2.0)
    for step, _ in steps:
        assert any(step <= at <= step + BATCH_SECONDS + 1e-6 for at in refreshes)
    assert len(refreshes) <= 2 * REFRESHES_PER_SECOND + 1  # no more than without steps


def test_steps_in_quick_succession_are_shown_together() -> None:
    refreshes = refreshes_of([(1.03, STEP), (1.03 + BATCH_SECONDS / 2, STEP)], until=2.0)
    assert refreshes == pytest.approx([1.03 + BATCH_SECONDS], abs=1e-6)


def test_a_page_polls_occasionally() -> None:
    async def work(now: Callable[[], float]) -> None:
        pace = Pace()
        await pace.wait()
        for number in range(1, 10):
            await pace.wait()
            assert now() == pytest.approx(number * PERIOD, abs=1e-6)

    run_on_simulated_time(work)


def test_a_page_with_many_runs_polls_rarely_and_reacts_immediately() -> None:
    async def work(now: Callable[[], float]) -> None:
        pace, refreshes = Pace(idle=2.0), list[float]()
        asyncio.get_running_loop().call_at(5.0, pace.notify)
        while now() < 6.0:
            await pace.wait()
            refreshes.append(now())
            pace.record_refresh(has_updates=now() > 5.0)
        assert refreshes == pytest.approx([0.0, 2.0, 4.0, 5.0 + BATCH_SECONDS, 7.0 + BATCH_SECONDS], abs=1e-6)

    run_on_simulated_time(work)
