"""Watching: no gaps, no repeats, and an end; readers that are slow, leave, or join late."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine import Conductor, LocalConductor, Transition
from engine.errors import JournalUnavailable, UnknownRun, UnknownStep
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.records import Delta, JournalOutage, RunId, StatePath
from engine.runtime import Feed
from engine.runtime import feed as feed_module
from tests.support.harness import FakeModel, Lone, catalog, in_turn, pipeline_reply, until

RUN = RunId('r')


def make_conductor(
    reply: Any = pipeline_reply, journal: MemoryJournal | None = None, **options: Any
) -> Conductor:
    return LocalConductor(journal, catalog=catalog(FakeModel(reply), Lone), **options)


def delta(text: str, path: str = 'a', kind: Any = 'text') -> Delta:
    return Delta(run=RUN, path=StatePath(path), text=text, kind=kind)


@pytest.mark.parametrize('after', [0, 1])
async def test_every_step_arrives_once_and_in_order_until_the_end(after: int) -> None:
    async with make_conductor() as conductor:
        run = (await conductor.start('pipeline', {'task': 'six?'})).id
        watchers = [asyncio.ensure_future(_steps(conductor, run, after)) for _ in range(5)]
        live = await asyncio.gather(*watchers)
        last = (await conductor.info(run)).seq
        assert [*live, await _steps(conductor, run, after)] == [list(range(after + 1, last + 1))] * 6
        assert conductor.feed._readers == {} and conductor.feed._partial == {}


async def _steps(conductor: Conductor, run: RunId, after: int) -> list[int]:
    return [item.seq async for item in conductor.watch(run, after=after) if isinstance(item, Transition)]


async def _collect(items: AsyncIterator[Any], seqs: list[int]) -> None:
    async for item in items:
        if isinstance(item, Transition):
            seqs.append(item.seq)


@pytest.mark.parametrize('after', [-1, 99])
async def test_a_missing_run_cannot_be_watched(after: int) -> None:
    async with make_conductor() as conductor:
        run = (await conductor.start('lone')).id
        with pytest.raises(UnknownStep):
            await _steps(conductor, run, after)
        with pytest.raises(UnknownRun):
            await _steps(conductor, RunId('none'), 0)
        assert conductor.feed._readers == {}


async def test_a_slow_reader_catches_up_from_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'MAX_WAITING', 3)
    async with make_conductor() as conductor:
        run = (await conductor.start('pipeline', {'task': 'six?'})).id
        seqs: list[int] = []
        async for item in conductor.watch(run):
            if isinstance(item, Transition):
                seqs.append(item.seq)
                if item.seq == 2:
                    await until(lambda: run not in conductor._live.runs)
        assert seqs == list(range(1, (await conductor.info(run)).seq + 1))


async def test_an_overrun_reader_gets_current_texts_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'MAX_WAITING', 3)
    feed = Feed()
    with feed.subscribe(RUN) as reader:
        for word in 'abcdefg':
            feed.publish(delta(word))
        text = ''
        for item in reader.drain():
            assert isinstance(item, Delta)
            text = '' if item.kind == 'reset' else text + item.text
        assert reader.overrun and text == 'abcdefg'


async def test_a_late_reader_sees_the_current_reply_and_outage() -> None:
    feed = Feed()
    for item in (delta('x'), delta('y'), delta('thought', kind='reasoning'), delta('z'), delta('other', 'b')):
        feed.publish(item)
    feed.publish(JournalOutage(run=RUN, problem='disk full'))
    with feed.subscribe(RUN) as reader:
        assert [(item.text, item.kind) for item in reader.drain() if isinstance(item, Delta)] == [
            ('xy', 'text'),
            ('thought', 'reasoning'),
            ('z', 'text'),
            ('other', 'text'),
        ]
    feed.publish(delta('', kind='reset'))
    feed.publish(JournalOutage(run=RUN, problem=''))
    with feed.subscribe(RUN) as reader:
        assert reader.drain() == [delta('other', 'b')]
    assert feed._readers == {}


async def test_a_late_reader_sees_a_wait_only_while_it_lasts() -> None:
    feed = Feed()
    for text in ('Waiting for 9 s', 'Waiting for 3 s'):
        feed.publish(delta(text, kind='waiting'))
    with feed.subscribe(RUN) as reader:
        assert reader.drain() == [delta('Waiting for 3 s', kind='waiting')]
    feed.publish(delta('', kind='waiting'))
    feed.publish(delta('x'))
    with feed.subscribe(RUN) as reader:
        assert reader.drain() == [delta('x')]


async def test_a_watcher_that_is_cancelled_leaves_no_subscription() -> None:
    async with make_conductor(lambda request: asyncio.Event()) as conductor:
        run = (await conductor.start('lone')).id
        watching = asyncio.ensure_future(_steps(conductor, run, 0))
        await until(lambda: conductor.feed._readers)
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        assert conductor.feed._readers == {}


async def test_a_watcher_that_stops_reading_leaves_no_subscription() -> None:
    async with make_conductor(lambda request: asyncio.Event()) as conductor:
        run = (await conductor.start('lone')).id
        async with contextlib.aclosing(conductor.watch(run)) as items:  # type: ignore[type-var]
            async for _ in items:
                break
        assert conductor.feed._readers == {}


async def test_a_run_of_another_process_is_followed_through_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed_module, 'POLL_SECONDS', 0.001)
    journal, gate = MemoryJournal(), asyncio.Event()
    async with (
        make_conductor(in_turn(gate, 'ok'), journal, owner='a') as conductor,
        make_conductor('ok', journal, owner='b') as remote,
    ):
        run = (await conductor.start('lone')).id
        watching = asyncio.ensure_future(_steps(remote, run, 0))
        await until(lambda: remote.feed._readers)
        gate.set()
        assert (await conductor.result(run)).status == 'done'
        assert await watching == [1, 2, 3]


class GatedReads:
    """A journal in which reads of one kind wait for the test's permission."""

    def __init__(self, journal: MemoryJournal, name: str) -> None:
        self.journal, self.name = journal, name
        self.asked, self.gate = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.journal, name)
        return self._late(attribute) if name == self.name else attribute

    def _late(self, read: Any) -> Any:
        async def late(*args: Any, **named: Any) -> Any:
            self.asked.set()
            await self.gate.wait()
            return await read(*args, **named)

        return late


async def test_a_step_written_while_the_journal_is_read_arrives_once() -> None:
    replies = in_turn(asyncio.Event(), 'ok')
    async with make_conductor(replies) as conductor:
        run = (await conductor.start('lone')).id
        gated = GatedReads(conductor.journal, 'transitions')  # type: ignore[arg-type]
        items = feed_module.watch(gated, conductor.feed, run, 0, is_live=lambda: True)  # type: ignore[arg-type]
        seqs: list[int] = []
        looking = asyncio.ensure_future(_collect(items, seqs))
        await gated.asked.wait()
        await conductor.pause(run)  # Now both the journal and the feed have the step.
        gated.gate.set()
        await until(lambda: len(seqs) >= 2)
        await conductor.cancel(run)
        await looking
        assert seqs == [1, 2, 3]


async def test_a_step_written_while_the_summary_is_read_arrives() -> None:
    async with make_conductor(lambda request: asyncio.Event()) as conductor:
        run = (await conductor.start('lone')).id
        gated = GatedReads(conductor.journal, 'info')  # type: ignore[arg-type]
        gated.gate.set()
        seqs: list[int] = []

        async def look() -> None:
            items = feed_module.watch(gated, conductor.feed, run, 0, is_live=lambda: True)  # type: ignore[arg-type]
            async for item in items:
                if not isinstance(item, Transition):
                    continue
                seqs.append(item.seq)
                if item.seq == 1:
                    gated.asked.clear()
                    gated.gate.clear()

        looking = asyncio.ensure_future(look())
        await until(lambda: seqs)
        await gated.asked.wait()
        await conductor.cancel(run)
        gated.gate.set()
        await looking
        assert seqs == [1, 2]


async def test_steps_of_another_process_arrive_before_the_first_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed_module, 'POLL_SECONDS', 1_000.0)
    journal = MemoryJournal()
    async with make_conductor('ok', journal, owner='b') as remote:
        async with make_conductor(lambda request: asyncio.Event(), journal, owner='a') as conductor:
            run = (await conductor.start('lone')).id
            watching = asyncio.ensure_future(_steps(remote, run, 0))
            await until(lambda: remote.feed._readers)
            await settle()
            await conductor.pause(run)
            await conductor.resume(run)
        assert await remote.recover() == [run]
        await remote.result(run)
        assert await watching == [1, 2, 3, 4, 5, 6]


async def test_steps_from_the_feed_are_not_read_from_the_journal() -> None:
    class Counting(MemoryJournal):
        reads = 0

        async def transitions(self, *args: Any, **named: Any) -> Any:
            self.reads += 1
            return await super().transitions(*args, **named)

    journal = Counting()
    async with make_conductor(lambda request: asyncio.Event(), journal) as conductor:
        run = (await conductor.start('lone')).id
        watching = asyncio.ensure_future(_steps(conductor, run, 0))
        await until(lambda: conductor.feed._readers)
        await settle()
        before = journal.reads
        for _ in range(10):
            await conductor.pause(run)
            await conductor.resume(run)
            await settle()
        assert journal.reads == before == 1
        await conductor.cancel(run)
        assert len(await watching) == 22


async def test_a_dropped_step_is_read_from_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'MAX_WAITING', 3)
    async with make_conductor(lambda request: asyncio.Event()) as conductor:
        run = (await conductor.start('lone')).id
        seqs: list[int] = []
        looking = asyncio.ensure_future(_collect(conductor.watch(run), seqs))
        await until(lambda: seqs == [1])
        await settle()
        publish = conductor.feed.publish

        def publish_more(item: Any) -> None:
            publish(item)
            for word in 'abcdefg':  # More than the buffer holds, before the reader gets a turn.
                publish(Delta(run=run, path=StatePath('working'), text=word))

        monkeypatch.setattr(conductor.feed, 'publish', publish_more)
        await conductor.pause(run)
        monkeypatch.undo()
        await until(lambda: seqs == [1, 2])
        await conductor.cancel(run)
        await looking


async def test_the_end_of_a_run_is_reported_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'POLL_SECONDS', 1_000.0)
    async with make_conductor() as conductor, asyncio.timeout(5):
        for _ in range(20):
            run = (await conductor.start('lone')).id
            async for _ in conductor.watch(run):
                pass


async def test_a_watcher_ends_when_the_process_closes_just_after_a_step() -> None:
    async with make_conductor(lambda request: asyncio.Event()) as conductor, asyncio.timeout(5):
        run = (await conductor.start('lone')).id
        watcher = asyncio.ensure_future(_steps(conductor, run, 0))
        await until(lambda: conductor.feed._readers)
        await settle()
        conductor.feed.publish(Delta(run=run, path=StatePath('working'), text='late'))
        await conductor.close()  # Before the watcher has read that text.
        assert await watcher == [1]


class Unreadable(MemoryJournal):
    """A journal that cannot be read for a while."""

    failures = 0
    """Number of reads that still fail."""

    async def transitions(self, *args: Any, **options: Any) -> list[Transition]:
        if self.failures:
            self.failures -= 1
            raise JournalUnavailable('the server is starting')
        return await super().transitions(*args, **options)


@pytest.mark.parametrize('read', [0, 2])
async def test_a_reader_waits_for_an_unavailable_journal(monkeypatch: pytest.MonkeyPatch, read: int) -> None:
    monkeypatch.setattr(feed_module, 'POLL_SECONDS', 0.01)
    monkeypatch.setattr(feed_module, 'STEPS_PER_PAGE', 1)
    journal = Unreadable()
    async with make_conductor(journal=journal) as conductor:
        run = await conductor.start('pipeline', {'task': 'six?'})
        await run.result()
        if not read:
            journal.failures = 2
        seqs: list[int] = []
        troubles: list[str] = []
        async for item in conductor.watch(run.id):
            if isinstance(item, JournalOutage):
                troubles.append(item.problem)
            elif isinstance(item, Transition):
                seqs.append(item.seq)
                if item.seq == read:
                    journal.failures = 2
        assert seqs == list(range(1, (await conductor.info(run.id)).seq + 1))
        assert troubles == ['the server is starting', 'the server is starting', '']


async def test_an_outage_notice_is_withdrawn_if_the_run_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, 'POLL_SECONDS', 0.01)
    journal, elsewhere = MemoryJournal(), Feed()
    async with make_conductor(journal=journal) as conductor:
        run = await conductor.start('pipeline', {'task': 'six?'}, paused=True)
        problems: list[str] = []
        async for item in feed_module.watch(journal, elsewhere, run.id, 0, is_live=lambda: False):
            if isinstance(item, JournalOutage):
                problems.append(item.problem)
                if item.problem:
                    await conductor.resume(run.id)
            elif isinstance(item, Transition) and item.seq == 1:
                elsewhere.publish(JournalOutage(run=run.id, problem='It waits for a worker.'))
        assert problems == ['It waits for a worker.', '']
