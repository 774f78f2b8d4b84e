"""Journal contents besides histories: stars, pins, notes on steps, the trash."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import UnknownNote, UnknownRun
from engine.journal.protocol import Journal
from engine.records import PURGING, Note, RunId, RunQuery, Status
from tests.contract.journal.test_journal import SHAPE, claim_run, list_runs, run, step

ONE = RunId('one')


async def note(journal: Journal, text: str, seq: int = 1, **fields: object) -> Note:
    return await journal.write_note(Note(run=ONE, seq=seq, text=text, **fields))  # type: ignore[arg-type]


async def texts(journal: Journal, name: str = 'one') -> list[tuple[int, str]]:
    return [(item.seq, item.text) for item in await journal.notes(RunId(name))]


async def test_a_new_run_has_neither_star_nor_pin_and_is_in_the_list(journal: Journal) -> None:
    info = await claim_run(journal)
    assert (info.starred, info.pinned, info.deleted) == (False, False, 0.0)
    starred = run('two', starred=True, pinned=True, deleted=5.5)
    await journal.create(starred, SHAPE)
    assert await journal.info(starred.id) == starred


async def test_stars_and_pins_persist_and_do_not_disturb_the_owner(journal: Journal) -> None:
    info = await claim_run(journal)
    assert await journal.annotate(ONE, starred=True) == replace(info, starred=True)
    assert await journal.annotate(ONE, pinned=True, title='x') == replace(
        info, starred=True, pinned=True, title='x'
    )
    await journal.append(replace(info, seq=1, status=Status.DONE), [step(1)])
    stored = await journal.info(ONE)
    assert (stored.starred, stored.pinned, stored.title, stored.status) == (True, True, 'x', Status.DONE)
    assert not (await journal.annotate(ONE, starred=False)).starred


async def test_lists_of_starred_and_of_pinned_runs(journal: Journal) -> None:
    for number, name in enumerate('abcd'):
        await journal.create(run(name, created=float(number)), SHAPE)
    await journal.annotate(RunId('a'), pinned=True)
    await journal.annotate(RunId('c'), pinned=True, starred=True)
    assert await list_runs(journal) == ['d', 'c', 'b', 'a']
    assert await list_runs(journal, pins_first=True) == ['c', 'a', 'd', 'b']
    assert await list_runs(journal, pins_first=True, limit=2, offset=1) == ['a', 'd']
    assert await list_runs(journal, starred=True) == ['c']
    assert await list_runs(journal, pinned=True) == ['c', 'a']
    assert await list_runs(journal, pinned=True, text='nothing') == []
    assert (await journal.runs(RunQuery(pinned=True, limit=1))).total == 2


async def test_deleted_runs_have_a_separate_list(journal: Journal) -> None:
    for number, name in enumerate('abcd'):
        await journal.create(run(name, created=float(number), tags=('t',)), SHAPE)
    await journal.annotate(RunId('a'), deleted=20.0)
    await journal.annotate(RunId('c'), deleted=10.0)
    await journal.annotate(RunId('d'), deleted=PURGING)
    assert await list_runs(journal) == await list_runs(journal, tag='t', text='debate') == ['b']
    assert await list_runs(journal, place='trash') == ['a', 'c']
    assert await list_runs(journal, place='purging') == ['d']
    assert [info.id for info in await journal.unfinished()] == ['b']
    assert (await journal.info(RunId('a'))).deleted == 20.0
    assert (await journal.info(RunId('d'))).deleted == PURGING
    await journal.annotate(RunId('a'), deleted=0.0)
    assert await list_runs(journal) == ['b', 'a']


async def test_notes_are_ordered_by_step(journal: Journal) -> None:
    await claim_run(journal, steps=3)
    first = await note(journal, 'on the third', 3, created=5.0)
    second = await note(journal, 'on the first', created=6.0)
    third = await note(journal, 'another on the first', created=7.0)
    assert first.id and len({first.id, second.id, third.id}) == 3
    assert await journal.notes(ONE) == [second, third, first]
    assert second == Note(id=second.id, run=ONE, seq=1, text='on the first', created=6.0)
    changed = await journal.write_note(replace(third, seq=9, text='better', created=99.0, edited=8.0))
    assert changed == replace(third, text='better', edited=8.0)  # step and creation time do not change
    await journal.delete_note(ONE, second.id)
    assert await journal.notes(ONE) == [changed, first]


async def test_notes_do_not_change_the_history(journal: Journal) -> None:
    info = await claim_run(journal, steps=2)
    before = await journal.transitions(ONE)
    await note(journal, 'a remark')
    assert await journal.transitions(ONE) == before
    assert await journal.info(ONE) == info
    await journal.append(replace(info, seq=3), [step(3)])


async def test_a_missing_note_is_named(journal: Journal) -> None:
    await claim_run(journal)
    await claim_run(journal, 'two')
    own_note = await note(journal, 'mine')
    for number in (own_note.id + 1, -1):
        with pytest.raises(UnknownNote, match=f'one has no note {number}'):
            await journal.delete_note(ONE, number)
    with pytest.raises(UnknownNote, match='two has no note'):
        await journal.delete_note(RunId('two'), own_note.id)
    with pytest.raises(UnknownNote, match='two has no note'):
        await journal.write_note(replace(own_note, run=RunId('two'), text='stolen'))
    assert await journal.notes(ONE) == [own_note]
    nobody = RunId('nobody')
    for call in (
        journal.notes(nobody),
        journal.write_note(Note(run=nobody, seq=1, text='x')),
        journal.delete_note(nobody, own_note.id),
        journal.annotate(nobody, starred=True),
    ):
        with pytest.raises(UnknownRun, match='nobody'):
            await call


async def test_search_finds_notes(journal: Journal) -> None:
    await claim_run(journal, title='Horses', note='for Monday')
    stored_note = await note(journal, 'a Zebra appears')
    await note(journal, 'the café closes')
    assert await list_runs(journal, text='zeb') == await list_runs(journal, text='café horses') == ['one']
    assert await list_runs(journal, text='monday zebra') == ['one']
    await journal.write_note(replace(stored_note, text='a donkey appears'))
    assert await list_runs(journal, text='zebra') == []
    await journal.annotate(ONE, title='Ponies')
    assert await list_runs(journal, text='donkey ponies') == ['one']
    await journal.delete_note(ONE, stored_note.id)
    assert await list_runs(journal, text='donkey') == []


async def test_notes_are_deleted_with_their_run_and_not_forked(journal: Journal) -> None:
    await claim_run(journal, steps=2)
    await note(journal, 'of the parent')
    await journal.fork(run('child', parent=ONE, parent_at=2, seq=2), SHAPE)
    assert await texts(journal, 'child') == []
    await journal.delete(ONE)
    await claim_run(journal)
    assert await texts(journal) == []
    assert await list_runs(journal, text='parent') == []
