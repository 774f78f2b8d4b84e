"""Sharing the event loop: other tasks get a turn soon, however many runs are active."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import Activity, Catalog, Event, LocalConductor, Pattern, SimulatedClock
from engine.runtime.fair_scheduler import MAX_ROUND_SECONDS, FairScheduler

PIECE = 0.001


class WorkClock(SimulatedClock):
    """Advances only by the duration of pieces of work."""

    def work(self) -> None:
        self._now += PIECE


class Watcher:
    """Measures the longest wait of another task on the loop."""

    def __init__(self, clock: WorkClock) -> None:
        self._clock, self.longest = clock, 0.0

    async def watch(self) -> None:
        while True:
            before = self._clock.now()
            await asyncio.sleep(0)
            self.longest = max(self.longest, self._clock.now() - before)


@pytest.mark.parametrize(
    'works',
    [
        [True] * 300,
        # The tasks in the middle take no time, so each round admits ever more of them.
        [True] * 6 + [False] * 495 + [True] * 99,
    ],
    ids=['alike', 'becomes longer'],
)
async def test_many_tasks_leave_room_for_others(works: list[bool]) -> None:
    clock = WorkClock()
    scheduler, watcher = FairScheduler(clock), Watcher(clock)
    order: list[int] = []

    async def work(number: int) -> None:
        await scheduler.wait_for_turn()
        if works[number]:
            clock.work()
        order.append(number)

    watching = asyncio.create_task(watcher.watch())
    await asyncio.gather(*map(work, range(len(works))))
    watching.cancel()
    assert PIECE < watcher.longest <= 2 * MAX_ROUND_SECONDS
    assert order == list(range(len(works)))  # first come, first served


async def test_an_abandoned_turn_is_passed_on() -> None:
    clock = WorkClock()
    scheduler = FairScheduler(clock)

    async def work() -> None:
        await scheduler.wait_for_turn()
        clock.work()

    tasks = [asyncio.create_task(work()) for _ in range(50)]
    await asyncio.sleep(0)
    for task in tasks[15:40]:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert ended[:15] + ended[40:] == [None] * 25


class Working(Pattern):
    name = 'working'
    initial = 'at_work'
    states = [{'name': 'at_work', 'invoke': 'work'}, {'name': 'over', 'final': True}]
    transitions = [['done', 'at_work', 'over']]

    async def work(self, memory: Any, activity: Activity) -> None:
        assert isinstance(activity.services.clock, WorkClock)
        activity.services.clock.work()


async def test_work_of_many_runs_leaves_room_for_others() -> None:
    clock = WorkClock()
    watcher = Watcher(clock)
    async with LocalConductor(catalog=Catalog(patterns={'working': Working}), clock=clock) as conductor:

        async def one() -> None:
            await conductor.result((await conductor.start('working')).id)

        watching = asyncio.create_task(watcher.watch())
        await asyncio.gather(*(one() for _ in range(100)))
        watching.cancel()
    assert PIECE <= watcher.longest <= 2 * MAX_ROUND_SECONDS


async def test_decisions_of_many_runs_leave_room_for_others() -> None:
    clock = WorkClock()
    watcher = Watcher(clock)

    class Told(Pattern):
        name = 'told'
        initial = 'waiting'
        states = [{'name': 'waiting', 'waits': 'a word'}, {'name': 'over', 'final': True}]
        transitions = [['go', 'waiting', 'over', None, None, 'decide']]

        def decide(self, memory: Any, event: Event) -> None:
            clock.work()

    async with LocalConductor(catalog=Catalog(patterns={'told': Told}), clock=clock) as conductor:
        runs = [await conductor.start('told') for _ in range(100)]
        watching = asyncio.create_task(watcher.watch())
        await asyncio.gather(*(run.send('go') for run in runs))
        watching.cancel()
    assert PIECE <= watcher.longest <= 2 * MAX_ROUND_SECONDS
