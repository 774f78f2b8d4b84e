"""Lists of runs, search, requests and entries: filters, sorting and reservations in every journal."""

from __future__ import annotations

import asyncio
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from engine.errors import EntryChanged
from engine.journal.documents import RESERVATION_SECONDS, Entry, EntryQuery, Reservation
from engine.journal.protocol import Journal
from engine.records import RunId, RunQuery, Status, Usage
from tests.contract.journal.test_journal import SHAPE, claim_run, list_runs, run, step


async def test_runs_are_filtered(journal: Journal) -> None:
    await journal.create(run('a', created=1.0, status=Status.DONE, tags=('x', 'y')), SHAPE)
    await journal.create(run('b', created=2.0, pattern='loop', version='f00', tags=('y',)), SHAPE)
    await journal.create(run('c', created=3.0, status=Status.FAILED), SHAPE)
    await journal.create(run('d', created=3.0, status=Status.WAITING), SHAPE)
    assert await list_runs(journal) == ['d', 'c', 'b', 'a']
    assert await list_runs(journal, pattern='loop') == ['b']
    assert await list_runs(journal, version='f00') == ['b']
    assert await list_runs(journal, version='f') == []
    assert (await journal.traffic(RunQuery())).versions == {'': 3, 'f00': 1}
    assert await list_runs(journal, status=(Status.DONE, Status.FAILED)) == ['c', 'a']
    assert await list_runs(journal, tag='y') == ['b', 'a']
    assert await list_runs(journal, tag='z') == []
    assert await list_runs(journal, without_tag='x') == ['d', 'c', 'b']
    assert await list_runs(journal, without_tag='_') == ['d', 'c', 'b', 'a']
    assert await list_runs(journal, since=2.0) == ['d', 'c', 'b']
    assert await list_runs(journal, until=2.0) == ['a']
    assert await list_runs(journal, since=1.5, until=3.0, pattern='loop', tag='y') == ['b']


async def test_a_page_of_runs_includes_the_total(journal: Journal) -> None:
    for number in range(5):
        await journal.create(run(f'r{number}', created=float(number)), SHAPE)
    assert await list_runs(journal, limit=2) == ['r4', 'r3']
    assert await list_runs(journal, limit=2, offset=4) == ['r0']
    assert await list_runs(journal, limit=2, offset=9) == []
    assert (await journal.runs(RunQuery(limit=0))).total == 5
    assert (await journal.runs(RunQuery(since=3.0, limit=1))).total == 2


LARGEST_FIRST = {
    'created': ['c', 'b', 'a'],
    'title': ['b', 'c', 'a'],
    'bytes': ['b', 'a', 'c'],
    'steps': ['b', 'a', 'c'],
    'tokens': ['a', 'b', 'c'],
    'duration': ['b', 'c', 'a'],
}


async def test_a_list_is_sorted_and_totaled(journal: Journal) -> None:
    for name, title, created, updated, steps, usage in (
        ('a', 'apples', 1.0, 2.0, 2, Usage(input=9, output=1, dollars=0.5)),
        ('b', 'Zebras', 2.0, 9.0, 3, Usage(input=1, output=2, unpriced=1)),
        ('c', 'bears', 3.0, 6.0, 1, Usage(output=1, dollars=0.25)),
    ):
        await claim_run(journal, name, steps, title=title, created=created)
        info = replace(await journal.info(RunId(name)), updated=updated, usage=usage)
        await journal.append(replace(info, seq=steps + 1), [step(steps + 1, name)])
    for sort, expected in LARGEST_FIRST.items():
        assert await list_runs(journal, sort=sort) == expected, sort
        assert await list_runs(journal, sort=sort, ascending=True) == expected[::-1], sort
        assert await list_runs(journal, sort=sort, offset=1, limit=1) == expected[1:2], sort
    page = await journal.runs(RunQuery(limit=1, totals=True, since=2.0))
    assert page.usage == Usage(input=1, output=3, dollars=0.25, unpriced=1)
    assert (await journal.runs(RunQuery())).usage is None


async def test_search_matches_prefixes_of_words(journal: Journal) -> None:
    await journal.create(run('a', title='Zebras are striped', parameters={'motion': 'Ban the café'}), SHAPE)
    await journal.create(run('b', title='Horses', tags=('four-legged',), note='see zebras_too'), SHAPE)
    assert await list_runs(journal, text='zebra') == ['b', 'a']
    assert await list_runs(journal, text='STRIPED zeb') == ['a']
    assert await list_runs(journal, text='ebra') == []
    assert await list_runs(journal, text='zebra unicorn') == []
    assert await list_runs(journal, text='ban café') == ['a']
    assert await list_runs(journal, text='legged') == ['b']
    assert await list_runs(journal, text='too') == ['b']
    assert await list_runs(journal, text='debate') == ['b', 'a']
    assert await list_runs(journal, text='horses', tag='four-legged') == ['b']


async def test_search_does_not_mind_how_accents_are_encoded(journal: Journal) -> None:
    """As a letter (NFC), or as a letter and a mark (NFD), as file names of macOS have them."""
    for id, form in (('a', 'NFC'), ('b', 'NFD')):
        await journal.create(run(id, title=unicodedata.normalize(form, 'Die Übung')), SHAPE)
        assert len(await list_runs(journal, text=unicodedata.normalize(form, 'übu'))) == (
            1 if id == 'a' else 2
        )


async def test_search_follows_edits(journal: Journal) -> None:
    info = await claim_run(journal, title='before', tags=('old',))
    await journal.annotate(info.id, title='after', tags=['new'])
    assert await list_runs(journal, text='before') == await list_runs(journal, text='old') == []
    assert await list_runs(journal, text='after new') == ['one']
    await journal.delete(info.id)
    assert await list_runs(journal, text='after') == []


OPERATORS = [
    *('a" OR "b', 'title:x', '^x', 'NEAR(a b)', 'AND', 'x AND', 'a*b', '{x y}: z'),
    *("'; DROP TABLE run", '日本'),
]
NO_WORDS = ['"', "'", '""', '*', '-', '(', '\0', '🎉', '\\', '', '   ', '\ud800', '%', '_', '☂ ' * 200]


async def test_no_character_is_a_search_operator(journal: Journal) -> None:
    await journal.create(run(title='umbrella'), SHAPE)
    for text in OPERATORS:
        await journal.create(run('other', title=text), SHAPE)
        assert await list_runs(journal, text=text) == ['other'], text
        await journal.delete(RunId('other'))


async def test_a_text_without_words_restricts_nothing(journal: Journal) -> None:
    await journal.create(run(title='umbrella'), SHAPE)
    for text in NO_WORDS:
        assert await list_runs(journal, text=text) == ['one'], text


async def test_unfinished_runs_are_listed_oldest_first(journal: Journal) -> None:
    for number, status in enumerate(Status):
        await journal.create(run(status, created=float(-number), status=status), SHAPE)
    info = await journal.claim(RunId('running'), 'me')
    assert [info.id for info in await journal.unfinished()] == ['waiting', 'paused', 'running']
    await journal.append(replace(info, status=Status.CANCELLED), [step(1, 'running')])
    assert [info.id for info in await journal.unfinished()] == ['waiting', 'paused']


async def test_a_request_is_reserved_once_and_its_reply_stored(journal: Journal):
    reservation = Reservation(key='k', digest='d', run=RunId('one'), created=100.0)
    assert await journal.documents.reserve(reservation) == reservation
    other = replace(reservation, digest='e', run=RunId('two'), created=101.0)
    assert await journal.documents.reserve(other) == reservation
    await journal.documents.finish_reservation('k', '201 {}')
    assert await journal.documents.reserve(other) == replace(reservation, reply='201 {}')
    await journal.documents.finish_reservation('k', None)
    assert await journal.documents.reserve(other) == other
    late = replace(other, key='l', created=101.1 + RESERVATION_SECONDS)
    await journal.documents.reserve(late)
    reservation_again = replace(reservation, created=late.created)
    assert (
        await journal.documents.reserve(reservation_again) == reservation_again
    )  # The earlier one had expired.


@pytest.mark.parametrize('place', ['list', 'trash'])
async def test_a_page_starts_after_a_given_run(journal: Journal, place: str):
    for number in range(4):
        await journal.create(run(f'r{number}', created=100.0 + number // 2), SHAPE)
        if place == 'trash':
            await journal.annotate(RunId(f'r{number}'), deleted=200.0 + number // 3)
    first = await journal.runs(RunQuery(place=place, limit=2))
    last = first.runs[-1]
    assert [info.id for info in first.runs] == ['r3', 'r2']
    rest = await journal.runs(RunQuery(place=place, beyond=(last.deleted, last.created, last.id)))
    assert [info.id for info in rest.runs] == ['r1', 'r0']
    assert rest.total == 4


def entry(key: str, **fields: Any) -> Entry:
    return Entry(kind='message', key=key, **fields)


async def test_an_entry_is_written_read_and_deleted(journal: Journal):
    assert await journal.documents.get('message', 'a') is None
    first = entry('a', body={'text': 'é\n', 'n': 1.5}, state='due', rank=2.5, about='one')
    await journal.documents.write([first])
    stored = await journal.documents.get('message', 'a')
    assert stored == replace(first, version=1)
    assert await journal.documents.get('other', 'a') is None
    await journal.documents.write([replace(stored, body={}, state='sent')])
    assert await journal.documents.get('message', 'a') == replace(first, body={}, state='sent', version=2)
    await journal.documents.write([], [replace(stored, version=2)])
    assert await journal.documents.find(EntryQuery(kind='message')) == []


async def test_entries_are_written_all_or_none(journal: Journal):
    await journal.documents.write([entry('a'), entry('b')])
    for stale in (entry('a'), entry('a', version=2), entry('c', version=1)):
        with pytest.raises(EntryChanged):
            await journal.documents.write([entry('new'), stale])
    with pytest.raises(EntryChanged):
        await journal.documents.write([entry('new')], [entry('b', version=7)])
    assert [message.key for message in await journal.documents.find(EntryQuery(kind='message'))] == ['a', 'b']


async def test_concurrent_writes_of_an_entry_conflict(journal: Journal):
    await journal.documents.write([entry('a')])
    both = [journal.documents.write([entry('a', version=1, state=who)]) for who in ('x', 'y')]
    ended = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(item).__name__ for item in ended) == ['EntryChanged', 'NoneType']


async def test_entries_are_selected_and_sorted(journal: Journal):
    await journal.documents.write(
        [
            entry('c', state='due', rank=3.0, about='one'),
            entry('b', state='due', rank=1.0, about='two'),
            entry('a', state='due', rank=3.0, about='two'),
            entry('d', state='sent', rank=2.0, about='one'),
            Entry(kind='other', key='x', state='due', rank=0.0),
        ]
    )

    async def keys(**fields: Any) -> str:
        return ''.join(
            message.key for message in await journal.documents.find(EntryQuery(kind='message', **fields))
        )

    assert await keys() == 'bdac'
    assert await keys(newest=True) == 'cadb'
    assert await keys(state='due') == 'bac'
    assert await keys(about='one') == 'dc'
    assert await keys(until=2.0) == 'bd'
    assert await keys(state='due', about='two', limit=1) == 'b'
    assert await journal.documents.forget(EntryQuery(kind='message', state='due', until=1.0)) == 1
    assert await keys() == 'dac'
    assert await journal.documents.forget(EntryQuery(kind='message')) == 3
    assert len(await journal.documents.find(EntryQuery(kind='other'))) == 1


async def test_runs_newer_than_an_entry_are_found(journal: Journal):
    for number, name in enumerate(('one', 'two', 'none')):
        info = await claim_run(journal, name)
        if name != 'none':
            steps = [step(seq, name) for seq in (1, 2)]
            await journal.append(replace(info, seq=2, updated=200.0 - number), steps)
    assert await journal.documents.runs_beyond('seen', 0.0) == ['two', 'one']
    assert await journal.documents.runs_beyond('seen', 199.5) == ['one']
    await journal.documents.write(
        [Entry(kind='seen', key='one', rank=2.0), Entry(kind='seen', key='two', rank=1.0)]
    )
    assert await journal.documents.runs_beyond('seen', 0.0) == ['two']
    assert await journal.documents.runs_beyond('other', 0.0) == ['two', 'one']
