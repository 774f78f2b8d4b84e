"""Watching: no gap, nothing twice, and it ends; readers that are slow, that go away, that come late."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from engine import (
    Conductor,
    Delta,
    Feed,
    MemoryJournal,
    RunId,
    StatePath,
    Transition,
    Trouble,
    UnknownRun,
    UnknownStep,
)
from engine import feed as feed_module
from engine import watch as watch_module
from tests.support import FakeModel, Lone, catalog, in_turn, pipeline_reply, until

RUN = RunId('r')


def made(reply: Any = pipeline_reply, journal: MemoryJournal | None = None, **options: Any) -> Conductor:
    return Conductor(journal, catalog=catalog(FakeModel(reply), Lone), **options)


def delta(text: str, path: str = 'a', kind: Any = 'text') -> Delta:
    return Delta(run=RUN, path=StatePath(path), text=text, kind=kind)


@pytest.mark.parametrize('after', [0, 1])
async def test_every_step_comes_once_and_in_order_and_then_it_ends(after: int) -> None:
    async with made() as conductor:
        run = await conductor.start('pipeline', {'task': 'six?'})
        watchers = [asyncio.ensure_future(_steps(conductor, run, after)) for _ in range(5)]
        live = await asyncio.gather(*watchers)
        last = (await conductor.info(run)).seq
        assert [*live, await _steps(conductor, run, after)] == [list(range(after + 1, last + 1))] * 6
        assert conductor.feed._readers == {} and conductor.feed._partial == {}


async def _steps(conductor: Conductor, run: RunId, after: int) -> list[int]:
    return [item.seq async for item in conductor.watch(run, after=after) if isinstance(item, Transition)]


@pytest.mark.parametrize('after', [-1, 99])
async def test_what_is_not_there_cannot_be_watched(after: int) -> None:
    async with made() as conductor:
        run = await conductor.start('lone')
        with pytest.raises(UnknownStep):
            await _steps(conductor, run, after)
        with pytest.raises(UnknownRun):
            await _steps(conductor, RunId('none'), 0)
        assert conductor.feed._readers == {}


async def test_a_slow_reader_catches_up_from_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'MOST_WAITING', 3)
    async with made() as conductor:
        run = await conductor.start('pipeline', {'task': 'six?'})
        seen: list[int] = []
        async for item in conductor.watch(run):
            if isinstance(item, Transition):
                seen.append(item.seq)
                if item.seq == 2:
                    await until(lambda: run not in conductor._live)
        assert seen == list(range(1, (await conductor.info(run)).seq + 1))


async def test_a_reader_who_overruns_gets_the_texts_in_flight_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'MOST_WAITING', 3)
    feed = Feed()
    with feed.subscribe(RUN) as reader:
        for word in 'abcdefg':
            feed.publish(delta(word))
        shown = ''
        for item in reader.take():
            assert isinstance(item, Delta)
            shown = '' if item.kind == 'reset' else shown + item.text
        assert reader.overrun and shown == 'abcdefg'


async def test_who_comes_late_sees_the_reply_in_flight_and_the_trouble() -> None:
    feed = Feed()
    for item in (delta('x'), delta('y'), delta('thought', kind='reasoning'), delta('z'), delta('other', 'b')):
        feed.publish(item)
    feed.publish(Trouble(run=RUN, problem='disk full'))
    with feed.subscribe(RUN) as reader:
        assert [(item.text, item.kind) for item in reader.take() if isinstance(item, Delta)] == [
            ('xy', 'text'),
            ('thought', 'reasoning'),
            ('z', 'text'),
            ('other', 'text'),
        ]
    feed.publish(delta('', kind='reset'))
    feed.publish(Trouble(run=RUN, problem=''))
    with feed.subscribe(RUN) as reader:
        assert reader.take() == [delta('other', 'b')]
    assert feed._readers == {}


async def test_a_watcher_that_is_cancelled_leaves_no_subscription() -> None:
    async with made(lambda request: asyncio.Event()) as conductor:
        run = await conductor.start('lone')
        watching = asyncio.ensure_future(_steps(conductor, run, 0))
        await until(lambda: conductor.feed._readers)
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        assert conductor.feed._readers == {}


async def test_a_watcher_that_stops_reading_leaves_no_subscription() -> None:
    async with made(lambda request: asyncio.Event()) as conductor:
        run = await conductor.start('lone')
        async with contextlib.aclosing(conductor.watch(run)) as items:  # type: ignore[type-var]
            async for _ in items:
                break
        assert conductor.feed._readers == {}


async def test_a_run_of_another_process_is_followed_through_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_module, 'LOOK_AGAIN', 0.001)
    journal, gate = MemoryJournal(), asyncio.Event()
    async with made(in_turn(gate, 'ok'), journal, owner='a') as here, made('ok', journal, owner='b') as there:
        run = await here.start('lone')
        watching = asyncio.ensure_future(_steps(there, run, 0))
        await until(lambda: there.feed._readers)
        gate.set()
        assert (await here.result(run)).status == 'done'
        assert await watching == [1, 2, 3]


async def test_the_end_of_a_run_is_told_at_once_and_not_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch_module, 'LOOK_AGAIN', 1_000.0)
    async with made() as conductor, asyncio.timeout(5):
        for _ in range(20):
            await conductor.result(await conductor.start('lone'))
