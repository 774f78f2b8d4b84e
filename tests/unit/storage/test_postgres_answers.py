"""Appends to PostgreSQL whose reply is lost: each is recognized and stored once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

import psycopg
import pytest

from engine.errors import JournalConflict, JournalUnavailable, StaleOwner
from engine.records import Event, RunId, RunInfo, Shape, StatePath, Transition
from storage import SqlJournal, open_journal
from storage.postgres.append import APPEND
from storage.postgres.database import PostgresDatabase

SHAPE = Shape(pattern='p', title='P', initial=StatePath('a'), states=(), edges=())
RUN = RunId('one')


@pytest.fixture
async def journal(postgres_url: str) -> AsyncIterator[SqlJournal]:
    journal = await open_journal(postgres_url)
    await journal.create(RunInfo(id=RUN, pattern='p', title='P', created=100.0), SHAPE)
    yield journal
    await journal.close()


def steps(*numbers: int, name: str = 'done') -> list[Transition]:
    return [Transition(run=RUN, seq=seq, time=100.0 + seq, event=Event(name=name)) for seq in numbers]


def lose(
    journal: SqlJournal, monkeypatch: pytest.MonkeyPatch, *, when: Literal['before', 'after'], times: int = 1
) -> None:
    """Make the next appends fail, before they reach the server or after they are committed."""
    database = journal.database
    assert isinstance(database, PostgresDatabase)
    fetch, left = database._fetch, [times]

    async def cut(statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if statement != APPEND or not left[0]:
            return await fetch(statement, values)
        left[0] -= 1
        if when == 'after':
            await fetch(statement, values)
        raise psycopg.OperationalError('server closed the connection unexpectedly')

    monkeypatch.setattr(database, '_fetch', cut)


async def append(journal: SqlJournal, info: RunInfo, steps: list[Transition]) -> int:
    return await journal.append(replace(info, seq=steps[-1].seq), steps)


@pytest.mark.parametrize('when', ['before', 'after'])
async def test_a_retried_append_is_stored_once(
    journal: SqlJournal, monkeypatch: pytest.MonkeyPatch, when: Literal['before', 'after']
) -> None:
    info = await journal.claim(RUN, 'me')
    lose(journal, monkeypatch, when=when, times=2)
    for _ in range(2):
        with pytest.raises(JournalUnavailable, match='cannot be reached'):
            await append(journal, info, steps(1, 2))
    assert await append(journal, info, steps(1, 2)) > 0
    await append(journal, info, steps(3))
    assert await journal.transitions(RUN) == steps(1, 2, 3)


async def test_another_step_with_the_same_number_is_a_conflict(
    journal: SqlJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = await journal.claim(RUN, 'me')
    lose(journal, monkeypatch, when='after')
    with pytest.raises(JournalUnavailable):
        await append(journal, info, steps(1))
    with pytest.raises(JournalConflict):
        await append(journal, info, steps(1, name='failed'))
    assert await journal.transitions(RUN) == steps(1)


@pytest.mark.parametrize('when', ['before', 'after'])
async def test_a_retry_is_refused_once_another_owner_has_claimed_the_run(
    journal: SqlJournal, monkeypatch: pytest.MonkeyPatch, when: Literal['before', 'after']
) -> None:
    info = await journal.claim(RUN, 'me')
    lose(journal, monkeypatch, when=when)
    with pytest.raises(JournalUnavailable):
        await append(journal, info, steps(1))
    await journal.claim(RUN, 'another')
    with pytest.raises(StaleOwner):
        await append(journal, info, steps(1))
    assert await journal.transitions(RUN) == (steps(1) if when == 'after' else [])
