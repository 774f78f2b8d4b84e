"""The writer: writes that share a transaction or fail alone, and no endless waits."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.errors import JournalConflict, JournalError, JournalUnavailable
from engine.records import Change, Event, RunId, RunInfo, Shape, StatePath, Transition
from storage import Settings, SqlJournal, open_journal
from storage.gil_yield import YIELD_INTERVAL, YIELD_SECONDS, GilYielder
from storage.sqlite.file import prepare
from storage.sqlite.writer import MAX_RESOLVED_A_ROUND, Job, Work, Writer

CHART = Shape(pattern='p', title='P', initial=StatePath('a'), states=(), edges=())


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqlJournal]:
    journal = await open_journal(tmp_path / 'runs.db')
    yield journal
    await journal.close()


@dataclass
class Gate:
    """Holds the writer while work is queued behind it."""

    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def work(self, connection: sqlite3.Connection) -> None:
        self.entered.set()
        assert self.opened.wait(10)


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    settings = Settings(database=tmp_path / 'writer.db')
    prepare(settings)
    writer = Writer(settings, GilYielder())
    await writer.do(table)
    yield writer
    await writer.close()


def table(connection: sqlite3.Connection) -> None:
    connection.execute('CREATE TABLE t (x INTEGER PRIMARY KEY)')


def insert(value: int) -> Work[int]:
    def work(connection: sqlite3.Connection) -> int:
        connection.execute('INSERT INTO t VALUES (?)', (value,))
        return value

    return work


def count(connection: sqlite3.Connection) -> int:
    return int(connection.execute('SELECT count(*) FROM t').fetchone()[0])


async def queue_together(writer: Writer, *works: Work[Any]) -> list[Any]:
    """Return the outcomes of jobs that were all queued before the writer woke up."""
    return await run_together(writer, *map(writer.do, works))


async def run_together(writer: Writer, *waiting: Coroutine[Any, Any, Any]) -> list[Any]:
    """Return the outcomes of awaitables whose jobs were all queued before the writer woke up."""
    gate = Gate()
    blocker = asyncio.create_task(writer.do(gate.work))
    await asyncio.to_thread(gate.entered.wait, 10)
    tasks = [asyncio.create_task(item) for item in waiting]
    await asyncio.sleep(0)  # each task runs up to its wait
    gate.opened.set()
    await blocker
    return list(await asyncio.gather(*tasks, return_exceptions=True))


async def test_queued_writes_share_a_transaction(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    commit = writer._commit

    def count_and_commit(batch: list[Job[Any]]) -> None:
        sizes.append(len(batch))
        commit(batch)

    monkeypatch.setattr(writer, '_commit', count_and_commit)
    assert await queue_together(writer, *map(insert, range(100))) == list(range(100))
    assert sizes == [1, 100]


async def test_writes_committed_together_are_answered_in_several_loop_iterations(writer: Writer) -> None:
    rounds, number = Counter[int](), 0

    async def count_rounds() -> None:
        nonlocal number
        while True:
            number += 1
            await asyncio.sleep(0)

    async def insert_and_count(value: int) -> int:
        answer = await writer.do(insert(value))
        rounds[number] += 1
        return answer

    counting = asyncio.create_task(count_rounds())
    assert await run_together(writer, *map(insert_and_count, range(100))) == list(range(100))
    counting.cancel()
    assert sum(rounds.values()) == 100
    assert max(rounds.values()) <= MAX_RESOLVED_A_ROUND


async def test_a_refusal_fails_alone(writer: Writer) -> None:
    def refuse(connection: sqlite3.Connection) -> None:
        raise JournalConflict('r', 1)

    first, second, third = await queue_together(writer, insert(1), refuse, insert(3))
    assert (first, third) == (1, 3)
    assert isinstance(second, JournalConflict)
    assert await writer.do(count) == 2


async def test_an_error_after_a_write_rolls_back_only_that_write(writer: Writer) -> None:
    def stumble(connection: sqlite3.Connection) -> None:
        connection.execute('INSERT INTO t VALUES (50)')
        raise ZeroDivisionError

    ends = await queue_together(writer, insert(1), stumble, insert(1), insert(3))
    assert (ends[0], ends[3]) == (1, 3)
    assert isinstance(ends[1], ZeroDivisionError)
    assert isinstance(ends[2], JournalError)  # the key is taken
    assert await writer.do(lambda c: [row[0] for row in c.execute('SELECT x FROM t ORDER BY x')]) == [1, 3]


async def test_a_cancelled_caller_does_not_affect_the_others(writer: Writer) -> None:
    gate = Gate()
    blocker = asyncio.create_task(writer.do(gate.work))
    await asyncio.to_thread(gate.entered.wait, 10)
    cancelled, accepted = (asyncio.create_task(writer.do(insert(value))) for value in (1, 2))
    await asyncio.sleep(0)
    cancelled.cancel()
    gate.opened.set()
    assert await accepted == 2
    assert cancelled.cancelled() or await asyncio.wait({cancelled})
    await blocker
    assert await writer.do(count) == 2  # it was already queued


async def test_closing_flushes_the_queue(tmp_path: Path) -> None:
    settings = Settings(database=tmp_path / 'closing.db')
    prepare(settings)
    writer = Writer(settings, GilYielder())
    await writer.do(table)
    tasks = [asyncio.create_task(writer.do(insert(value))) for value in range(20)]
    await asyncio.sleep(0)
    await writer.close()
    assert await asyncio.gather(*tasks) == list(range(20))
    with closing(sqlite3.connect(tmp_path / 'closing.db')) as connection:
        assert connection.execute('SELECT count(*) FROM t').fetchone() == (20,)


async def test_the_loop_keeps_running_while_the_writer_is_stuck(writer: Writer) -> None:
    gate = Gate()
    blocker = asyncio.create_task(writer.do(gate.work))
    rounds = 0
    while rounds < 1000:
        await asyncio.sleep(0)
        rounds += 1
    assert not blocker.done()
    gate.opened.set()
    await blocker


async def test_the_loop_yields_only_while_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    stood: list[float] = []
    monkeypatch.setattr('storage.gil_yield.time.sleep', stood.append)
    loop, turns = asyncio.get_running_loop(), GilYielder()

    async def timers_pass() -> None:
        future = loop.create_future()
        loop.call_later(5 * YIELD_INTERVAL, future.set_result, None)
        await future

    stuck: asyncio.Future[int] = loop.create_future()
    waiting = asyncio.create_task(turns.wait(stuck))
    await timers_pass()
    assert stood and set(stood) == {YIELD_SECONDS}
    stuck.set_result(3)
    assert await waiting == 3
    await timers_pass()
    before = len(stood)
    await timers_pass()
    assert len(stood) == before


async def test_a_saturated_loop_does_not_starve_the_writer(writer: Writer) -> None:
    end = time.monotonic() + 20
    done = asyncio.create_task(writer.do(insert(1)))
    while not done.done() and time.monotonic() < end:
        busy = time.perf_counter() + 0.001
        while time.perf_counter() < busy:
            pass
        await asyncio.sleep(0)
    assert done.done()


async def test_a_value_that_is_not_json_is_refused_by_name(journal: SqlJournal) -> None:
    await journal.create(RunInfo(id=RunId('r'), pattern='p', title='t'), CHART)
    odd = Change(op='add', path='/memory/x', value={1, 2})
    step = Transition(run=RunId('r'), seq=1, time=1.0, event=Event(name='e'), changes=(odd,))
    with pytest.raises(JournalError, match='step 1 of run r cannot be stored'):
        await journal.append(await journal.info(RunId('r')), [step])
    assert await journal.transitions(RunId('r')) == []


async def test_a_lone_surrogate_is_refused(journal: SqlJournal) -> None:
    with pytest.raises(JournalError, match='surrogate'):
        await journal.create(RunInfo(id=RunId('r'), pattern='p', title='\ud800'), CHART)


async def test_a_history_takes_at_most_twice_the_size_of_its_text(tmp_path: Path) -> None:
    letters, chance = 'etaoinshrdlucmfwyp', random.Random(7)
    words = [''.join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(5000)]
    path = tmp_path / 'size.db'
    journal = await open_journal(path)
    info = RunInfo(id=RunId('r'), pattern='p', title='t')
    await journal.create(info, CHART)
    payload, steps = 0, []
    for seq in range(1, 501):
        text = ' '.join(chance.choices(words, k=150))[:1024]
        payload += len(text)
        message = {'role': 'assistant', 'author': 'arguing.pro', 'parts': [{'kind': 'text', 'text': text}]}
        change = Change(op='add', path='/agents/arguing.pro/messages/-', value=message)
        event = Event(name='done', data={'message': message})
        steps.append(Transition(run=info.id, seq=seq, time=1.0, event=event, changes=(change,)))
    await journal.append(info, steps)
    await journal.close()
    assert path.stat().st_size < 2 * payload


async def test_nothing_is_written_to_a_file_that_was_moved_away(writer: Writer, tmp_path: Path) -> None:
    path = tmp_path / 'writer.db'
    path.rename(away := tmp_path / 'away.db')
    for _ in range(2):  # first with no file of that name, then with another one
        for short in (None, lambda: True):
            with pytest.raises(JournalUnavailable, match='was moved, removed or replaced'):
                await writer.do(insert(1), is_short=short)
        path.touch()
    away.replace(path)
    assert await writer.do(insert(1)) == 1
    assert await writer.do(count) == 1
