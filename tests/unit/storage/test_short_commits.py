"""A single short job is committed on the event loop, unless it would have to wait there."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import JournalError
from engine.host.clock import settle
from storage import Settings
from storage.gil_yield import GilYielder
from storage.sqlite import writer as writer_module
from storage.sqlite.file import prepare
from storage.sqlite.writer import CHECKPOINT, THREAD_COMMIT_INTERVAL, Writer
from tests.support.harness import until


def short() -> bool:
    return True


def where(connection: sqlite3.Connection) -> str:
    """Insert a row and return the name of the thread that does it."""
    connection.execute(
        'INSERT INTO tag (run, position, label) VALUES (1, (SELECT count(*) FROM tag), ?)', ('x',)
    )
    return threading.current_thread().name


@pytest.fixture
async def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Writer]:
    monkeypatch.setattr(writer_module, 'SLOW', 60.0)  # a busy disk must not change which thread writes
    writer = open_writer(tmp_path)
    yield writer
    await writer.close()


def open_writer(folder: Path, **settings: Any) -> Writer:
    chosen = Settings(database=folder / 'w.db', **settings)
    prepare(chosen)
    writer = Writer(chosen, GilYielder())
    writer._connection.execute('PRAGMA foreign_keys = OFF')
    return writer


async def test_a_short_single_append_is_committed_on_the_loop(writer: Writer) -> None:
    assert await writer.do(where, is_short=short) == threading.current_thread().name
    assert await writer.do(where) == 'journal-writer'
    assert await writer.do(where, is_short=lambda: False) == 'journal-writer'
    assert await writer.do(where, is_short=short) == threading.current_thread().name
    assert await writer.do(lambda c: c.execute('SELECT count(*) FROM tag').fetchone()) == (4,)


async def test_concurrent_appends_are_committed_by_the_thread(writer: Writer) -> None:
    many = await asyncio.gather(*(writer.do(where, is_short=short) for _ in range(9)))
    assert set(many) == {'journal-writer'}
    begun, free = threading.Event(), threading.Event()

    def slowly(connection: sqlite3.Connection) -> None:
        begun.set()
        free.wait(60)

    slow = asyncio.ensure_future(writer.do(slowly))
    await until(begun.is_set)
    behind = asyncio.ensure_future(writer.do(where, is_short=short))
    await settle()
    assert not behind.done()
    free.set()
    assert await behind == 'journal-writer'
    await slow


async def test_synced_commits_are_made_by_the_thread(tmp_path: Path) -> None:
    writer = open_writer(tmp_path, synchronous='full')
    assert await writer.do(where, is_short=short) == 'journal-writer'
    await writer.close()


async def test_the_thread_waits_for_another_processes_lock(writer: Writer, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / 'w.db', isolation_level=None)
    await writer.do(where, is_short=short)
    other.execute('BEGIN IMMEDIATE')
    begun = time.monotonic()
    waiting = asyncio.ensure_future(writer.do(where, is_short=short))
    await settle()
    assert time.monotonic() - begun < 5 and not waiting.done()  # The loop was not blocked.
    other.execute('COMMIT')
    other.close()
    assert await waiting == 'journal-writer'


async def test_after_a_slow_commit_the_thread_takes_over_for_a_while(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, 'SLOW', 0.005)
    now = 1_000.0
    monkeypatch.setattr(writer_module.time, 'monotonic', lambda: now)

    def slow(connection: sqlite3.Connection) -> str:
        nonlocal now
        now += 0.02
        return threading.current_thread().name

    thread = threading.current_thread().name
    assert [await writer.do(slow, is_short=short), await writer.do(where, is_short=short)] == [thread, thread]
    assert [await writer.do(slow, is_short=short) for _ in range(3)] == [thread, thread, 'journal-writer']
    now += 0.02 * writer_module.RESPITE - 0.1
    assert await writer.do(where, is_short=short) == 'journal-writer'
    now += 0.2
    assert await writer.do(where, is_short=short) == thread


async def test_the_wal_is_still_checkpointed(writer: Writer, tmp_path: Path) -> None:
    threads = [await writer.do(where, is_short=short) for _ in range(5 * THREAD_COMMIT_INTERVAL)]
    assert threads.count('journal-writer') >= 5
    pages = (tmp_path / 'w.db-wal').stat().st_size / 4096
    assert pages < 2 * CHECKPOINT


async def test_a_refusal_is_raised_and_nothing_is_written(writer: Writer) -> None:
    def refuse(connection: sqlite3.Connection) -> None:
        raise JournalError('no')

    with pytest.raises(JournalError, match='no'):
        await writer.do(refuse, is_short=short)
    assert await writer.do(where, is_short=short) == threading.current_thread().name


async def test_closing_writes_the_last_appends(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    last = asyncio.ensure_future(writer.do(where, is_short=short))
    await asyncio.sleep(0)
    await writer.close()
    assert await last in ('journal-writer', threading.current_thread().name)
