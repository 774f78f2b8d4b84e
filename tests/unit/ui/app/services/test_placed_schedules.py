"""Schedules in a fleet: the server handles only what no worker has handled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence

import pytest

from engine import Conductor, EngineError, SimulatedClock
from tests.unit.ui.app.services.test_schedules import NOON, conductor_of, every, runs
from ui.app.services.schedules import Schedule, Schedules
from ui.app.services.schedules.schedules import LATE_SECONDS


class Placer:
    """A placer that handles all schedules, or is unreachable."""

    def __init__(self) -> None:
        self.away = False

    async def place(self, schedules: Sequence[Schedule]) -> Collection[str]:
        if self.away:
            raise EngineError('it does not answer')
        return [schedule.id for schedule in schedules]


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    async with conductor_of() as conductor:
        yield conductor


def clock_of(conductor: Conductor) -> SimulatedClock:
    assert isinstance(conductor.clock, SimulatedClock)
    return conductor.clock


async def test_a_server_takes_over_schedules_after_a_delay(conductor: Conductor) -> None:
    schedules = Schedules(conductor, placer=Placer())
    await schedules.add(every(60))
    await clock_of(conductor).advance(60 + LATE_SECONDS - 1)
    assert await schedules.check_due() == pytest.approx(1)
    assert await runs(conductor) == []
    await clock_of(conductor).advance(1)
    await schedules.check_due()
    assert len(await runs(conductor)) == 1


async def test_a_server_handles_all_schedules_while_temporal_is_down(conductor: Conductor) -> None:
    placer = Placer()
    schedules = Schedules(conductor, placer=placer)
    await schedules.add(every(60))
    await clock_of(conductor).advance(60)
    placer.away = True
    await schedules.check_due()
    assert len(await runs(conductor)) == 1


async def test_a_schedule_handled_by_a_worker_starts_once(conductor: Conductor) -> None:
    server, worker = Schedules(conductor, placer=Placer()), Schedules(conductor)
    schedule = await server.add(every(60))
    await clock_of(conductor).advance(60)
    assert await worker.handle(schedule.id, NOON + 60) is False
    assert await worker.handle(schedule.id, NOON + 60) is False
    await clock_of(conductor).advance(LATE_SECONDS)
    await server.check_due()
    (tick,) = await server.log(schedule.id)
    assert [tick.run] == await runs(conductor)


async def test_the_placers_clock_may_be_ahead(conductor: Conductor) -> None:
    worker = Schedules(conductor)
    schedule = await worker.add(every(60))
    await clock_of(conductor).advance(59)
    await worker.handle(schedule.id, NOON + 60)
    assert len(await runs(conductor)) == 1


async def test_a_deleted_schedule_is_not_handled(conductor: Conductor) -> None:
    worker = Schedules(conductor)
    schedule = await worker.add(every(60))
    await worker.remove(schedule.id)
    assert await worker.handle(schedule.id, NOON + 60) is False
    assert await runs(conductor) == []


async def test_a_waiting_tick_is_retried_until_it_starts() -> None:
    blocked = asyncio.Event()
    async with conductor_of(reply=lambda request: blocked) as conductor:
        worker = Schedules(conductor)
        schedule = await worker.add(every(60, overlap='buffer_one'))
        clock = clock_of(conductor)
        await clock.advance(60)
        assert await worker.handle(schedule.id, NOON + 60) is False
        (first,) = await worker.log(schedule.id)
        await clock.advance(60)
        assert await worker.handle(schedule.id, NOON + 120) is True
        assert await worker.handle(schedule.id, NOON + 121) is False  # It is already known to be waiting.
        assert await worker.handle(schedule.id, NOON + 122, waiting=True) is True
        await conductor.cancel(first.run)
        assert await worker.handle(schedule.id, NOON + 123, waiting=True) is False
        assert [tick.state for tick in await worker.log(schedule.id)] == ['started', 'started']


async def test_an_interrupted_tick_is_finished(conductor: Conductor) -> None:
    worker = Schedules(conductor)
    schedule = await worker.add(every(60))
    await clock_of(conductor).advance(60)

    async def cut(*args: object) -> None:
        raise ConnectionError

    start, worker.ticks.start = worker.ticks.start, cut  # type: ignore[method-assign,assignment]
    with pytest.raises(ConnectionError):
        await worker.handle(schedule.id, NOON + 60)
    worker.ticks.start = start  # type: ignore[method-assign]
    assert [tick.state for tick in await worker.log(schedule.id)] == ['claimed']
    await worker.handle(schedule.id, NOON + 60, interrupted=True)
    assert [tick.state for tick in await worker.log(schedule.id)] == ['started']
