"""Limits shared by several processes: concurrent calls, rates, pauses, and processes that die."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import httpx
import pytest

from engine import Conductor, LocalConductor
from engine.errors import EntryChanged, JournalUnavailable, ModelError
from engine.host.clock import SimulatedClock, settle
from engine.journal import Entry, MemoryJournal
from engine.journal.documents import MemoryDocuments
from engine.models import Endpoint, ModelRegistry, Waiting
from engine.models.http.endpoint_settings import EndpointSettings
from tests.models.reading import endpoint, make_request
from tests.models.speech import OpenAISpeech
from ui.app.services.endpoint_limits import KIND, LEASE, RENEWAL, EndpointCall, EndpointLimiter, share_limits

FIRST = 'calls of other processes come first'


class SlowDocuments(MemoryDocuments):
    """Slow documents that make processes conflict, and that can be unavailable."""

    refused = 0
    away = False

    async def get(self, kind: str, key: str) -> Entry | None:
        await self._take_time()
        return await super().get(kind, key)

    async def write(self, written: Sequence[Entry], deleted: Sequence[Entry] = ()) -> None:
        await self._take_time()
        try:
            await super().write(written, deleted)
        except EntryChanged:
            self.refused += 1
            raise
        await self._take_time()

    async def _take_time(self) -> None:
        if self.away:
            raise JournalUnavailable('the database is away')
        for _ in range(3):
            await asyncio.sleep(0)


class Fleet:
    """Processes that share a database, and their calls."""

    def __init__(self, processes: int = 2, **limits: int) -> None:
        self.documents, self.clock = SlowDocuments(lambda: ()), SimulatedClock()
        self.began = self.clock.now()
        self.endpoint: Endpoint = endpoint(**limits)
        self.limiters = [
            EndpointLimiter(self.documents, f'process {number}', self.clock, self.endpoint)
            for number in range(processes)
        ]
        self.running: Counter[int] = Counter()
        self.most = 0
        self.started: list[tuple[int, float]] = []
        """The process and the time of each call that started, in seconds."""
        self.waits: list[str] = []

    async def call(self, process: int, *, takes: float = 1.0, tokens: int = 0, used: int = 0) -> None:
        """Make a call that `takes` seconds and uses `used` tokens, by default as many as estimated."""
        call = self.limiters[process].call(lambda: tokens)
        try:
            await self.admit(call)
            self.started.append((process, self.clock.now() - self.began))
            self.running[process] += 1
            self.most = max(self.most, self.running.total())
            await self.clock.sleep(takes)
            call.record_tokens(used or tokens)
            self.running[process] -= 1
        finally:
            call.end()

    async def admit(self, call: EndpointCall) -> None:
        async with aclosing(call.wait_to_start()) as waits:
            async for wait in waits:
                self.waits.append(wait.reason)

    def kill(self, process: int) -> None:
        task = self.limiters[process]._task
        assert task
        task.cancel()

    async def advance(self, seconds: float, by: float = 0.1) -> None:
        for _ in range(round(seconds / by)):
            await self.clock.advance(by)

    async def body(self) -> Entry | None:
        return await self.documents.get(KIND, self.endpoint.name)


async def test_processes_share_the_limit_of_concurrent_calls() -> None:
    fleet = Fleet(3, at_once=4)
    greedy = [asyncio.create_task(fleet.call(0)) for _ in range(40)]
    await fleet.advance(3)
    late = [asyncio.create_task(fleet.call(process)) for process in (1, 2) for _ in range(5)]
    await fleet.advance(15)
    await asyncio.gather(*late)
    await fleet.advance(15)
    await asyncio.gather(*greedy)
    assert fleet.most == 4
    assert fleet.documents.refused, 'they never conflicted'
    assert set(fleet.waits) == {'4 calls at a time, in all processes', FIRST}
    assert {process for process, at in fleet.started if 3 < at < 6} == {0, 1, 2}
    await fleet.advance(1)
    entry = await fleet.body()
    assert entry and entry.body['processes'] == {}


async def test_processes_share_the_limit_of_requests_per_minute() -> None:
    fleet = Fleet(2, requests_per_minute=3)
    calls = [asyncio.create_task(fleet.call(process, takes=0.2)) for process in (0, 1) for _ in range(4)]
    await fleet.advance(200, by=0.5)
    await asyncio.gather(*calls)
    times = [at for _, at in fleet.started]
    assert len(times) == 8
    assert all(later - earlier >= 60 for earlier, later in zip(times, times[3:], strict=False))
    assert times[-1] < 140, 'it waits no longer than necessary'
    assert set(fleet.waits) <= {'3 requests a minute, in all processes', FIRST}


async def test_processes_share_the_limit_of_tokens_per_minute() -> None:
    fleet = Fleet(2, tokens_per_minute=1_000)
    await asyncio.gather(fleet.call(0, takes=0, tokens=100, used=950), fleet.advance(1))
    second = asyncio.create_task(fleet.call(1, takes=0, tokens=100))
    await fleet.advance(50)
    assert fleet.waits == ['1,000 tokens a minute, in all processes']
    await fleet.advance(20)
    await second
    alone = asyncio.create_task(fleet.call(0, takes=0, tokens=5_000))
    await fleet.advance(70)
    await alone  # A call larger than the limit runs alone.
    assert [process for process, _ in fleet.started] == [0, 1, 0]
    assert fleet.started[2][1] - fleet.started[1][1] >= 60


async def test_a_better_estimate_lets_a_waiting_call_start_earlier() -> None:
    fleet, expected = Fleet(2, tokens_per_minute=1_000), 900

    async def call(process: int) -> None:
        call = fleet.limiters[process].call(lambda: expected)
        await fleet.admit(call)
        fleet.started.append((process, fleet.clock.now() - fleet.began))
        await fleet.clock.sleep(1)
        call.record_tokens(100)
        call.end()

    calls = [asyncio.create_task(call(process)) for process in (0, 1)]
    await fleet.advance(0.9)
    assert len(fleet.started) == 1
    expected = 100
    await fleet.advance(15)
    await asyncio.gather(*calls)
    entry = await fleet.body()
    assert entry and sum(tokens for _, tokens in entry.body['started'].values()) == 200


async def test_the_calls_of_a_dead_process_end_with_its_lease() -> None:
    fleet = Fleet(2, at_once=1)
    dying = asyncio.create_task(fleet.call(0, takes=1_000))
    await fleet.advance(1)
    fleet.kill(0)
    waiting = asyncio.create_task(fleet.call(1))
    await fleet.advance(LEASE - 2)
    assert [process for process, _ in fleet.started] == [0]
    await fleet.advance(4)
    assert [process for process, _ in fleet.started] == [0, 1]
    dying.cancel()
    await asyncio.wait((dying, waiting))


async def test_calls_from_before_the_clock_was_set_back_do_not_count() -> None:
    fleet = Fleet(2, at_once=1, requests_per_minute=1)
    dying = asyncio.create_task(fleet.call(0, takes=1_000))
    await fleet.advance(1)
    fleet.limiters[0].pause(30.0)
    await fleet.advance(1)
    fleet.kill(0)
    fleet.clock = SimulatedClock(fleet.clock.now() - 3_600)
    fleet.limiters[1] = EndpointLimiter(fleet.documents, 'after the start', fleet.clock, fleet.endpoint)
    await asyncio.gather(fleet.call(1), fleet.advance(2))
    assert [process for process, _ in fleet.started] == [0, 1]
    dying.cancel()
    await asyncio.wait((dying,))


async def test_a_long_call_keeps_its_slot() -> None:
    fleet = Fleet(2, at_once=1)
    long = asyncio.create_task(fleet.call(0, takes=100))
    await fleet.advance(1)
    other = asyncio.create_task(fleet.call(1))
    for _ in range(98):
        await fleet.advance(1)
        entry = await fleet.body()
        assert entry and fleet.clock.now() - entry.body['processes']['process 0'][2] <= RENEWAL + 0.2
    assert [process for process, _ in fleet.started] == [0]
    await fleet.advance(3)
    await asyncio.gather(long, other)
    assert fleet.most == 1


@pytest.mark.parametrize('turns', range(14))
async def test_a_cancelled_call_frees_its_slot_at_any_moment(turns: int) -> None:
    fleet = Fleet(2, at_once=1)
    cancelled = asyncio.create_task(fleet.call(0, takes=1_000))
    for _ in range(turns):
        await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait((cancelled,))
    await settle()
    await asyncio.gather(fleet.call(1), fleet.advance(2))
    assert fleet.started[-1][0] == 1
    assert fleet.started[-1][1] < 1


async def test_calls_wait_while_the_database_is_unavailable() -> None:
    fleet = Fleet(1, at_once=2)
    fleet.documents.away = True
    call = asyncio.create_task(fleet.call(0))
    await fleet.advance(3)
    assert fleet.waits == ['its limits cannot be read while the database is away']
    assert not fleet.started
    fleet.documents.away = False
    await fleet.advance(3)
    await call


@pytest.mark.parametrize('body', [{}, {'processes': 3}, {'processes': {'a': [1]}, 'started': {}, 'until': 0}])
async def test_an_unreadable_entry_is_rewritten(body: dict[str, object]) -> None:
    fleet = Fleet(1)
    await fleet.documents.write([Entry(kind=KIND, key=fleet.endpoint.name, body=body)])
    await asyncio.gather(fleet.call(0), fleet.advance(2))
    entry = await fleet.body()
    assert entry and entry.body['processes'] == {}


async def test_a_429_in_one_process_delays_the_others() -> None:
    clock, journal, statuses = (
        SimulatedClock(),
        MemoryJournal(),
        itertools.chain([429], itertools.repeat(200)),
    )
    speech = OpenAISpeech()
    body = speech.start + speech.say('x') + speech.stop + speech.report_usage(3) + speech.end

    def answer(request: httpx.Request) -> httpx.Response:
        headers = {'content-type': 'text/event-stream', 'retry-after': '20'}
        return httpx.Response(next(statuses), headers=headers, content=body)

    def process(name: str) -> Conductor:
        conductor = LocalConductor(journal, owner=name, clock=clock)
        conductor.catalog.registry = ModelRegistry(
            {},
            EndpointSettings(endpoints={'paid': replace(endpoint(), name='paid')}),
            transport=lambda endpoint: httpx.MockTransport(answer),
            clock=clock,
        )
        share_limits(conductor)
        return conductor

    async def ask(conductor: Conductor) -> list[str]:
        stream = conductor.catalog.registry['paid/m'].stream(make_request())
        return [event.reason async for event in stream if isinstance(event, Waiting)]

    first, second = process('first'), process('second')
    with pytest.raises(ModelError):
        await ask(first)
    await settle()
    other = asyncio.create_task(ask(second))
    await settle(500)
    for _ in range(190):
        await clock.advance(0.1)
    assert not other.done()
    for _ in range(60):
        await clock.advance(0.1)
    assert await other == ['it has asked for a pause', '']
    await first.close()
    await second.close()
