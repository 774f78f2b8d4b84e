"""The contract of a journal: one suite for memory, SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import EntryChanged, JournalConflict, StaleOwner, UnknownRun
from engine.journal.documents import Entry
from engine.journal.protocol import Journal, WholeRun
from engine.records import (
    Budget,
    Change,
    Edge,
    EdgeShape,
    Event,
    GuardResult,
    Note,
    RunId,
    RunInfo,
    RunQuery,
    Shape,
    Snapshot,
    StatePath,
    StateShape,
    Status,
    Transition,
    Usage,
)

SHAPE = Shape(
    pattern='debate',
    title='Debate',
    initial=StatePath('arguing'),
    states=(
        StateShape(
            path=StatePath('arguing'),
            name='arguing',
            parent=StatePath(''),
            kind='parallel',
            initial=(StatePath('arguing.pro'), StatePath('arguing.con')),
            within=60.5,
        ),
        StateShape(path=StatePath('arguing.pro'), name='pro', parent=StatePath('arguing'), kind='atomic'),
    ),
    edges=(EdgeShape(trigger='done', source=StatePath('arguing'), dest='judging', unless=('spent',)),),
    answer='verdict',
)


def run(name: str = 'one', **fields: Any) -> RunInfo:
    plain: dict[str, Any] = {'id': RunId(name), 'pattern': 'debate', 'title': 'A debate', 'created': 100.0}
    return RunInfo(**(plain | fields))


def step(seq: int, name: str = 'one', **fields: Any) -> Transition:
    plain: dict[str, Any] = {'run': RunId(name), 'seq': seq, 'time': 100.0 + seq, 'event': Event(name='done')}
    return Transition(**(plain | fields))


async def claim_run(journal: Journal, name: str = 'one', steps: int = 0, **fields: Any) -> RunInfo:
    """Create and claim a run, and append some steps."""
    await journal.create(run(name, **fields), SHAPE)
    info = await journal.claim(RunId(name), 'me')
    if steps:
        await journal.append(replace(info, seq=steps), [step(seq, name) for seq in range(1, steps + 1)])
    return await journal.info(info.id)


async def list_runs(journal: Journal, **fields: Any) -> list[str]:
    return [info.id for info in (await journal.runs(RunQuery(**fields))).runs]


async def seqs(journal: Journal, name: str = 'one', **fields: Any) -> list[int]:
    return [step.seq for step in await journal.transitions(RunId(name), **fields)]


# Runs


async def test_a_run_is_stored_as_created(journal: Journal) -> None:
    full = run(
        parameters={'motion': 'Ünïcode ☂ 日本', 'rounds': 3, 'deep': [{'x': None}, 1.5, 2**70, '\ud800']},
        models={'': 'scripted', 'judge': 'other'},
        seed=2**80,
        options={'approvals': 'all'},
        status=Status.WAITING,
        updated=101.25,
        usage=Usage(input=1, output=2, calls=3, cached=4, written=5, reasoning=6, dollars=0.25, unpriced=1),
        budget=Budget(tokens=5, cost=0.5, seconds=60.5, warn=0.5, grace=1),
        error='it broke',
        waiting='approval',
        simulated=False,
        tags=('b', 'a', 'b', "it's"),
        note='a note\nof two lines',
        parent=RunId('elsewhere'),
        parent_at=7,
        owner='me',
        epoch=3,
    )
    await journal.create(full, SHAPE)
    assert await journal.info(full.id) == full
    assert await journal.shape(full.id) == SHAPE
    assert await journal.transitions(full.id) == []
    assert await journal.snapshot(full.id, 99) is None


async def test_read_only_mappings_are_stored(journal: Journal) -> None:
    await journal.create(run(parameters=MappingProxyType({'a': MappingProxyType({'b': 1})})), SHAPE)
    assert (await journal.info(RunId('one'))).parameters == {'a': {'b': 1}}


async def test_an_id_is_unique(journal: Journal) -> None:
    await journal.create(run(title='first'), SHAPE)
    with pytest.raises(JournalConflict, match='one'):
        await journal.create(run(title='second'), SHAPE)
    assert (await journal.info(RunId('one'))).title == 'first'


async def test_an_unknown_run_is_named(journal: Journal) -> None:
    nobody = RunId('nobody')
    for call in (
        journal.info(nobody),
        journal.shape(nobody),
        journal.transitions(nobody),
        journal.snapshot(nobody, 1),
        journal.claim(nobody, 'me'),
        journal.annotate(nobody, title='x'),
        journal.delete(nobody),
        journal.append(run('nobody'), [step(1, 'nobody')]),
        journal.fork(run('child', parent=nobody), SHAPE),
    ):
        with pytest.raises(UnknownRun, match='nobody'):
            await call
    assert await list_runs(journal) == []


# Whole runs


def make_whole_run(name: str, *history: Transition | Snapshot, **fields: Any) -> WholeRun:
    return WholeRun(info=run(name, status=Status.DONE, **fields), shape=SHAPE, history=iter(history))


async def test_whole_runs_are_stored(journal: Journal) -> None:
    picture = Snapshot(run=RunId('one'), seq=2, state={'deep': [1, {'x': None}]})
    await journal.import_runs(
        [
            replace(
                make_whole_run(
                    'one', step(1), step(2), picture, step(3), tags=('b', 'a'), parent=RunId('gone')
                ),
                notes=[Note(run=RunId('other'), seq=2, text='noted', created=5.0)],
            ),
            make_whole_run('two', step(1, 'two')),
        ]
    )
    info = await journal.info(RunId('one'))
    [note] = await journal.notes(info.id)
    assert note == Note(id=note.id, run=info.id, seq=2, text='noted', created=5.0) and note.id
    assert await list_runs(journal, text='noted') == ['one']
    assert info.bytes > 0
    assert info == run('one', status=Status.DONE, tags=('b', 'a'), parent='gone', seq=3, bytes=info.bytes)
    assert await journal.transitions(info.id) == [step(1), step(2), step(3)]
    assert await journal.snapshot(info.id, 2) == picture and await journal.snapshot(info.id, 1) is None
    assert await seqs(journal, 'two') == [1]
    assert await list_runs(journal, text='debate', tag='a') == ['one']
    assert await journal.unfinished() == []
    await journal.delete(info.id)
    assert await list_runs(journal) == ['two']


async def test_a_whole_run_without_steps_is_stored(journal: Journal) -> None:
    await journal.import_runs([make_whole_run('one')])
    assert (await journal.info(RunId('one'))).seq == 0


async def test_whole_runs_are_stored_all_or_none(journal: Journal) -> None:
    await claim_run(journal, 'there', steps=2)
    for problem, name, steps in (
        ('taken', 'there', (1,)),
        ('twice', 'one', (1,)),
        ('a gap', 'two', (1, 3)),
        ('no first step', 'two', (2,)),
    ):
        second = make_whole_run(name, *(step(seq, name) for seq in steps))
        with pytest.raises(JournalConflict):
            await journal.import_runs([make_whole_run('one', step(1)), second])
        assert await list_runs(journal) == ['there'], problem
        assert await seqs(journal, 'there') == [1, 2], problem


async def test_entries_are_stored_with_the_runs_they_belong_to_or_not_at_all(journal: Journal) -> None:
    documents = journal.documents
    old = Entry(kind='note', key='old', body={'n': 1}, state='new', rank=2.5, about='one')
    await documents.write([old])
    new = replace(old, key='new', body={'deep': [1, {'x': None}]})
    whole_run = make_whole_run('one', step(1))
    with pytest.raises(EntryChanged):  # The version of an entry that nobody has read.
        await journal.import_runs([whole_run], iter([new, old]))
    with pytest.raises(JournalConflict):
        await journal.import_runs([make_whole_run('one', step(2))], iter([new]))
    assert await list_runs(journal) == [] and await documents.get('note', 'new') is None
    read = replace(old, version=1)
    await journal.import_runs([make_whole_run('one', step(1))], iter([new, replace(read, body={'n': 2})]))
    assert await list_runs(journal) == ['one']
    assert await documents.get('note', 'new') == replace(new, version=1)
    assert await documents.get('note', 'old') == replace(read, body={'n': 2}, version=2)


async def test_an_incomplete_history_leaves_nothing(journal: Journal) -> None:
    def break_off() -> Iterator[Transition]:
        yield step(1)
        raise ValueError('cut off')

    whole_run = WholeRun(info=run(), shape=SHAPE, history=break_off())
    with pytest.raises(ValueError, match='cut off'):
        await journal.import_runs([whole_run])
    assert await list_runs(journal) == []


# Appending


async def test_only_changed_fields_are_updated(journal: Journal) -> None:
    info = await claim_run(journal, parameters={'a': 1})
    await journal.annotate(info.id, title='Renamed', tags=['x'], note='n')
    moved = replace(
        info,
        status=Status.FAILED,
        updated=200.5,
        usage=Usage(input=5, output=6, calls=7, source='estimated', dollars=1.5),
        budget=Budget(tokens=7),
        error='e',
        waiting='w',
        title='no',
        tags=('no',),
        note='no',
        owner='no',
        seq=1,
    )
    size = await journal.append(moved, [step(1)])
    assert size > 0
    renamed = replace(moved, title='Renamed', tags=('x',), note='n', owner='me', bytes=size)
    assert await journal.info(info.id) == renamed
    assert await journal.append(replace(moved, status=Status.DONE), []) == 0
    assert await journal.info(info.id) == replace(renamed, status=Status.DONE)


async def test_bytes_are_counted(journal: Journal) -> None:
    info = await claim_run(journal)
    sizes = [
        await journal.append(replace(info, seq=2), [step(1), step(2)]),
        await journal.append(replace(info, seq=3), [step(3)]),
    ]
    assert (await journal.info(info.id)).bytes == sum(sizes)
    assert (await journal.info(info.id)).seq == 3


async def test_a_stale_owner_writes_nothing(journal: Journal) -> None:
    old = await claim_run(journal)
    new = await journal.claim(old.id, 'another')
    assert (new.owner, new.epoch) == ('another', old.epoch + 1)
    with pytest.raises(StaleOwner, match='one') as caught:
        await journal.append(
            replace(old, status=Status.DONE), [step(1)], Snapshot(run=old.id, seq=1, state={})
        )
    assert (caught.value.run, caught.value.epoch) == ('one', old.epoch)
    assert await journal.info(old.id) == new
    assert await seqs(journal) == []
    assert await journal.snapshot(old.id, 1) is None
    await journal.append(new, [step(1)])
    assert await seqs(journal) == [1]


async def test_a_wrong_seq_writes_nothing(journal: Journal) -> None:
    info = await claim_run(journal, steps=2)
    for seq in (1, 2, 4, 5):
        with pytest.raises(JournalConflict) as caught:
            await journal.append(replace(info, status=Status.DONE), [step(seq)])
        assert (caught.value.run, caught.value.seq) == ('one', seq)
        assert await seqs(journal) == [1, 2]
        assert await journal.info(info.id) == info


async def test_transitions_are_appended_all_or_none(journal: Journal) -> None:
    info = await claim_run(journal, steps=1)
    with pytest.raises(JournalConflict):
        await journal.append(info, [step(2), step(3), step(3)], Snapshot(run=info.id, seq=2, state={}))
    assert await seqs(journal) == [1]
    assert await journal.snapshot(info.id, 9) is None
    await journal.append(info, [step(2), step(3), step(4)])
    assert await seqs(journal) == [1, 2, 3, 4]


async def test_concurrent_appends_fail_only_for_runs_with_a_new_owner(journal: Journal) -> None:
    infos = [await claim_run(journal, f'run{number}') for number in range(50)]
    stale = {info.id for info in infos[::7]}
    for name in stale:
        await journal.claim(name, 'another')

    async def live(info: RunInfo) -> None:
        for seq in range(1, 6):
            await journal.append(replace(info, updated=float(seq), seq=seq), [step(seq, info.id)])

    ends = await asyncio.gather(*map(live, infos), return_exceptions=True)
    assert {info.id for info, end in zip(infos, ends, strict=True) if isinstance(end, StaleOwner)} == stale
    assert [end for end in ends if end is not None and not isinstance(end, StaleOwner)] == []
    for info in infos:
        assert await seqs(journal, info.id) == ([] if info.id in stale else [1, 2, 3, 4, 5])


async def test_two_writers_of_one_step_cannot_both_win(journal: Journal) -> None:
    info = await claim_run(journal)
    tries = (journal.append(info, [step(1, event=Event(name=f'by{n}'))]) for n in range(9))
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(end, JournalConflict) for end in ends) == 8
    assert await seqs(journal) == [1]


# Reading


async def test_steps_are_read_in_ranges(journal: Journal) -> None:
    await claim_run(journal, steps=5)
    assert await seqs(journal) == [1, 2, 3, 4, 5]
    assert await seqs(journal, after=2) == [3, 4, 5]
    assert await seqs(journal, until=2) == [1, 2]
    assert await seqs(journal, after=1, until=4, limit=2) == [2, 3]
    assert await seqs(journal, after=5) == []
    assert await seqs(journal, until=0) == []
    assert await seqs(journal, after=4, until=99) == [5]
    assert await seqs(journal, limit=0) == []


async def test_the_latest_snapshot_before_a_step(journal: Journal) -> None:
    info = await claim_run(journal)
    for seq in range(1, 7):
        picture = Snapshot(run=info.id, seq=seq, state={'at': seq, 'x': ['☂']}) if seq % 2 == 0 else None
        await journal.append(info, [step(seq)], picture)
    assert await journal.snapshot(info.id, 1) is None
    assert await journal.snapshot(info.id, 2) == Snapshot(run=info.id, seq=2, state={'at': 2, 'x': ['☂']})
    assert (await journal.snapshot(info.id, 5) or pytest.fail()).seq == 4
    assert (await journal.snapshot(info.id, 999) or pytest.fail()).seq == 6


async def test_a_transition_keeps_every_field(journal: Journal) -> None:
    full = step(
        1,
        time=1760000000.123456,
        event=Event(
            name='done', at=StatePath('a.b'), data={'text': 'x' * 5000}, attempt=3, since=9, played=17
        ),
        raised=True,
        left=(StatePath('a.b'), StatePath('a')),
        entered=(StatePath('c'),),
        active=(StatePath('c'), StatePath('d.e')),
        edges=(Edge(source=StatePath('a'), dest='c'), Edge(source=StatePath('d'), dest='')),
        guards=(GuardResult(name='split', value=True, wanted=False, source=StatePath('a'), dest='c'),),
        changes=(
            Change(op='add', path='/memory/said/-', value={'text': 'x' * 5000}),
            Change(op='remove', path='/memory/round'),
            Change(op='replace', path='', value=None),
        ),
    )
    info = await claim_run(journal)
    await journal.append(info, [full, step(2)])
    assert await journal.transitions(info.id) == [full, step(2)]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**63 - 2, max_value=2**90)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None))
    | st.sampled_from(['x' * 600, '☂' * 300]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None)
@given(data=st.dictionaries(st.text(), JSON), value=JSON)
async def test_json_survives_a_round_trip(journal: Journal, data: Any, value: Any) -> None:
    """All examples are steps of one run, which the first creates."""
    runs = (await journal.runs(RunQuery(limit=1))).runs
    info = runs[0] if runs else await claim_run(journal)
    seq = info.seq + 1
    sent = step(seq, event=Event(name='e', data=data), changes=(Change(op='add', path='/x', value=value),))
    await journal.append(replace(info, seq=seq), [sent], Snapshot(run=info.id, seq=seq, state=data))
    (got,) = await journal.transitions(info.id, after=seq - 1)
    picture = await journal.snapshot(info.id, seq)
    # Compared as text, since 1 == 1.0 == True.
    assert repr(got) == repr(sent)
    assert picture is not None and repr(picture.state) == repr(data)


# Forks, notes, lists


async def test_a_fork_starts_with_its_parents_steps(journal: Journal) -> None:
    parent = await claim_run(journal)
    for seq in range(1, 5):
        await journal.append(parent, [step(seq)], Snapshot(run=parent.id, seq=seq, state={'at': seq}))
    child = run('child', parent=parent.id, parent_at=3, seq=3, tags=('forked',))
    await journal.fork(child, SHAPE)
    assert await journal.transitions(child.id) == [step(seq, 'child') for seq in (1, 2, 3)]
    assert await journal.snapshot(child.id, 9) == Snapshot(run=child.id, seq=3, state={'at': 3})
    stored = await journal.info(child.id)
    assert (stored.seq, stored.parent, stored.parent_at, stored.tags) == (3, 'one', 3, ('forked',))
    assert 0 < stored.bytes < (await journal.info(parent.id)).bytes
    info = await journal.claim(child.id, 'me')
    await journal.append(info, [step(4, 'child', event=Event(name='other'))])
    assert (await journal.transitions(parent.id))[3].event.name == 'done'
    with pytest.raises(JournalConflict):
        await journal.fork(child, SHAPE)
    await journal.delete(parent.id)
    assert await seqs(journal, 'child') == [1, 2, 3, 4]


async def test_a_family_is_found_from_each_member(journal: Journal) -> None:
    for name, parent, created in [
        ('root', None, 1.0),
        ('left', 'root', 3.0),
        ('right', 'root', 2.0),
        ('leaf', 'left', 4.0),
        ('stranger', None, 5.0),
        ('orphan', 'gone', 6.0),
        ('its-fork', 'orphan', 7.0),
    ]:
        await journal.create(run(name, parent=parent and RunId(parent), created=created), SHAPE)

    async def family(of: str) -> list[str]:
        return [info.id for info in await journal.family(RunId(of))]

    for name in ('root', 'left', 'right', 'leaf'):
        assert await family(name) == ['root', 'right', 'left', 'leaf']
    assert await family('stranger') == ['stranger']
    assert await family('its-fork') == ['orphan', 'its-fork']
    with pytest.raises(UnknownRun):
        await journal.family(RunId('nobody'))


async def test_forks_of_the_same_moment_stay_in_their_order(journal: Journal) -> None:
    names = ['root', 'zebra', 'mule', 'ant']
    for name in names:
        await journal.create(run(name, parent=RunId('root') if name != 'root' else None, created=1.0), SHAPE)
    assert [info.id for info in await journal.family(RunId('mule'))] == names


async def test_annotating_changes_only_the_given_fields(journal: Journal) -> None:
    info = await claim_run(journal, tags=('a', 'b'), note='old')
    assert await journal.annotate(info.id, title='New') == replace(info, title='New')
    assert await journal.annotate(info.id, tags=['c'], note='') == replace(
        info, title='New', tags=('c',), note=''
    )
    assert await journal.annotate(info.id, tags=[]) == replace(info, title='New', tags=(), note='')
    assert await list_runs(journal, tag='c') == []
    await journal.append(info, [step(1)])  # a person's changes do not fence the owner


async def test_a_deleted_run_is_gone(journal: Journal) -> None:
    info = await claim_run(journal, steps=3, tags=('t',))
    other = await claim_run(journal, 'other', steps=1)
    await journal.delete(info.id)
    with pytest.raises(UnknownRun):
        await journal.info(info.id)
    with pytest.raises(UnknownRun):
        await journal.append(info, [step(4)])
    assert await list_runs(journal) == ['other']
    assert await list_runs(journal, tag='t') == []
    assert await seqs(journal, 'other') == [1]
    claimed = await claim_run(journal)
    assert (await seqs(journal), claimed.tags, claimed.seq) == ([], (), 0)
    assert (await journal.info(other.id)).seq == 1
