"""Appends cache their run's row, but never ahead of what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from engine.errors import JournalUnavailable, StaleOwner, UnknownRun
from engine.records import Event, RunId, RunInfo, Shape, StatePath, Status, Transition
from storage import SqlJournal, open_journal
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.file import limit_size

RUN = RunId('r')
CHART = Shape(pattern='p', title='P', initial=StatePath('a'), states=(), edges=())


def step(seq: int, text: str = '') -> Transition:
    return Transition(run=RUN, seq=seq, time=1.0, event=Event(name='done', data={'text': text}))


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqlJournal]:
    journal = await open_journal(tmp_path / 'runs.db')
    await journal.create(RunInfo(id=RUN, pattern='p', title='T', created=1.0), CHART)
    yield journal
    await journal.close()


async def test_a_rolled_back_append_is_not_considered_stored(journal: SqlJournal) -> None:
    info = await journal.claim(RUN, 'me')
    database = journal.database
    assert isinstance(database, SqliteDatabase)
    await journal.append(info, [step(1)])
    await database._writer.do(lambda connection: limit_size(connection, 1))
    waiting = replace(info, status=Status.WAITING, waiting='approval')
    with pytest.raises(JournalUnavailable):
        await journal.append(waiting, [step(2, Random(0).randbytes(60_000).hex())])
    assert (await journal.info(RUN)).status is Status.RUNNING
    await database._writer.do(lambda connection: limit_size(connection, None))
    await journal.append(waiting, [step(2)])
    stored = await journal.info(RUN)
    assert (stored.status, stored.waiting, stored.seq) == (Status.WAITING, 'approval', 2)


async def test_a_cancelled_caller_forgets_its_write(journal: SqlJournal) -> None:
    info = await journal.claim(RUN, 'me')
    await journal.append(info, [step(1)])
    waiting = replace(info, status=Status.WAITING, waiting='approval')
    cancelled = asyncio.ensure_future(journal.append(waiting, [step(2)]))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    await journal.append(info, [step(3)])
    assert (await journal.info(RUN)).status is Status.RUNNING


async def test_rows_of_another_owner_or_a_missing_run_are_not_written(journal: SqlJournal) -> None:
    info = await journal.claim(RUN, 'me')
    await journal.append(info, [step(1)])
    epoch = await journal.claim(RUN, 'heir')
    with pytest.raises(StaleOwner):
        await journal.append(info, [step(2)])
    await journal.append(epoch, [step(2)])
    await journal.delete(RUN)
    # The next run, with as many steps, must not be mistaken for the deleted one.
    other = RunId('other')
    await journal.create(RunInfo(id=other, pattern='p', title='T', created=1.0), CHART)
    later = await journal.claim(other, 'heir')
    later = await journal.claim(other, 'heir')
    await journal.append(later, [replace(step(seq), run=other) for seq in (1, 2)])
    with pytest.raises(UnknownRun):
        await journal.append(epoch, [step(3)])
    assert (await journal.info(other)).seq == 2
