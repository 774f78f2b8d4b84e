"""Timeouts that depend on memory, the time that callbacks see, and typed external events."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine import (
    Conductor,
    EventRefused,
    InvalidInput,
    LocalConductor,
    Memory,
    Pattern,
    PatternError,
    SimulatedClock,
)
from engine.host.clock import settle
from engine.journal import MemoryJournal
from tests.support.harness import FakeModel, catalog

FOR_EVER = 1e6


class More(BaseModel):
    """A grant of more time."""

    seconds: float = Field(gt=0)


class Bounded(Memory):
    """The memory of the pattern below."""

    ends: float = 10.0
    times: list[float] = Field(default_factory=list)
    ran: list[float] = Field(default_factory=list)


class Timely(Pattern):
    """Works until its timeout, and records when events happen."""

    Memory = Bounded
    initial = 'working'
    inputs = {'add': More}
    states = [{'name': 'working', 'within': 'left', 'invoke': 'hang'}, {'name': 'over', 'final': True}]
    transitions = [
        ['done', 'working', 'over'],
        {'trigger': 'expired', 'source': 'working', 'dest': 'over', 'after': 'note'},
        {'trigger': 'add', 'source': 'working', 'dest': None, 'after': 'grant'},
        {'trigger': 'look', 'source': 'working', 'dest': None, 'after': 'note'},
    ]

    def left(self, memory: Bounded, event: Any) -> float | None:
        return memory.ends - event.ran if memory.ends < FOR_EVER else None

    def grant(self, memory: Bounded, event: Any) -> None:
        memory.ends += event.data['seconds']

    def note(self, memory: Bounded, event: Any) -> None:
        memory.times.append(event.time)
        memory.ran.append(event.ran)

    async def hang(self, memory: Bounded, activity: Any) -> None:
        await activity.services.clock.sleep(1e9)


def make_conductor(journal: Any, clock: SimulatedClock) -> Conductor:
    return LocalConductor(journal, catalog=catalog(FakeModel(), Timely), clock=clock, owner='me')


async def test_a_timeout_follows_memory_and_excludes_pauses() -> None:
    clock, journal = SimulatedClock(), MemoryJournal()
    async with make_conductor(journal, clock) as conductor:
        run = (await conductor.start('timely')).id
        await clock.advance(6)
        await conductor.send(run, 'add', data={'seconds': 5})
        await clock.advance(6)  # 12 of 15 s are used
        await conductor.pause(run)
        await clock.advance(100)
        await conductor.resume(run)
        await clock.advance(2.9)
        assert not (await conductor.info(run)).status.ended
        await clock.advance(0.2)
        outcome = await conductor.result(run)
        assert outcome.memory['ran'] == [pytest.approx(15)]
        assert await conductor.audit(run)
        steps = await conductor.transitions(run)
        assert all((step.event.time, step.event.ran) == (0.0, 0.0) for step in steps)


async def test_a_timeout_shortened_by_memory_is_rescheduled() -> None:
    clock = SimulatedClock()
    async with make_conductor(MemoryJournal(), clock) as conductor:
        run = (await conductor.start('timely')).id
        await conductor.send(run, 'add', data={'seconds': 90})
        await clock.advance(50)
        assert not (await conductor.info(run)).status.ended
        await clock.advance(50)
        assert (await conductor.result(run)).memory['ran'] == [pytest.approx(100)]


async def test_a_timeout_removed_by_memory_is_cancelled() -> None:
    clock = SimulatedClock()
    async with make_conductor(MemoryJournal(), clock) as conductor:
        run = (await conductor.start('timely')).id
        await conductor.send(run, 'add', data={'seconds': FOR_EVER})
        await clock.advance(1_000_000_000 - 1)
        assert not (await conductor.info(run)).status.ended


async def test_a_guard_sees_the_time_of_its_step() -> None:
    clock = SimulatedClock()
    async with make_conductor(MemoryJournal(), clock) as conductor:
        run = (await conductor.start('timely')).id
        begun = clock.now()
        await clock.advance(3)
        await conductor.send(run, 'look')
        steps = await conductor.transitions(run)
        view = await conductor.view(run)
        assert view.memory['times'] == [steps[-1].time] == [begun + 3]
        assert view.memory['ran'] == [3]


@pytest.mark.parametrize('away', [1_000, -3_600], ids=['later', 'by a clock that was set back'])
async def test_downtime_does_not_count(away: int) -> None:
    clock, journal = SimulatedClock(), MemoryJournal()
    async with make_conductor(journal, clock) as conductor:
        run = (await conductor.start('timely')).id
        await clock.advance(4)
        await conductor.send(run, 'look')
        for live in list(conductor._live.runs.values()):
            await live.release()
        clock = SimulatedClock(clock.now() + away)
        successor = make_conductor(journal, clock)
        await successor.recover()
        await clock.advance(5.9)
        assert not (await successor.info(run)).status.ended
        await clock.advance(0.2)
        assert (await successor.result(run)).memory['ran'] == [4, pytest.approx(10)]
        assert await successor.audit(run)


@pytest.mark.parametrize('data', [{}, {'seconds': 0}, {'seconds': 'soon'}])
async def test_an_invalid_event_is_refused_by_name(data: dict[str, Any]) -> None:
    clock = SimulatedClock()
    async with make_conductor(MemoryJournal(), clock) as conductor:
        run = (await conductor.start('timely')).id
        with pytest.raises(InvalidInput, match='seconds'):
            await conductor.send(run, 'add', data=data)
        assert len(await conductor.transitions(run)) == 1
        with pytest.raises(EventRefused):
            await conductor.send(run, 'subtract')


def test_a_missing_timeout_method_is_found_at_class_creation() -> None:
    with pytest.raises(PatternError, match='never_said'):

        class Wrong(Pattern):
            initial = 'a'
            states = [{'name': 'a', 'within': 'never_said'}]


async def test_a_failing_timeout_method_ends_the_run_with_an_error() -> None:
    class Broken(Timely):
        def left(self, memory: Bounded, event: Any) -> float:
            raise ZeroDivisionError('oh')

    clock = SimulatedClock()
    async with LocalConductor(
        MemoryJournal(), catalog=catalog(FakeModel(), Broken), clock=clock
    ) as conductor:
        run = (await conductor.start('broken')).id
        await settle()
        outcome = await conductor.result(run)
        assert "time-out 'left' raised" in outcome.error
