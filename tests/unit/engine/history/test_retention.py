"""Trash, purge, retention and notes of the conductor, with a simulated clock and both journals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, Conductor, EventRefused, InvalidInput, LocalConductor, SimulatedClock, Status
from engine.errors import UnknownNote, UnknownRun, UnknownStep
from engine.journal import Journal, Retention
from engine.records import Note, RunId, RunInfo, RunQuery
from tests.support.harness import FakeModel, catalog, nest

DAY = 86_400.0


@pytest.fixture
async def keeper(journal: Journal, tmp_path: Path) -> AsyncIterator[Conductor]:
    async with LocalConductor(
        journal, catalog=Catalog.load(), clock=SimulatedClock(), workspaces=tmp_path / 'files'
    ) as conductor:
        yield conductor


async def keep(keeper: Conductor, name: str, days: float = 0, files: int = 0, **fields: Any) -> RunId:
    """Store a run that ended this many days ago, with `files` bytes of files."""
    at = keeper.clock.now() - days * DAY
    plain = {
        'pattern': 'pipeline',
        'title': name,
        'status': Status.DONE,
        'created': at,
        'updated': at,
        'seq': 3,
    }
    info = RunInfo(id=RunId(name), **(plain | fields))
    await keeper.journal.create(info, keeper.catalog.draw('pipeline'))
    home = keeper.workspaces.home(info.id)
    (home / 'agents' / 'one').mkdir(parents=True)
    (home / 'agents' / 'one' / 'data').write_bytes(b'x' * files)
    return info.id


async def names(keeper: Conductor, place: Any = 'list') -> str:
    return ''.join(sorted([info.id async for info in keeper.iter_runs(place)]))


def folders(keeper: Conductor) -> str:
    return ''.join(sorted(path.name for path in keeper.workspaces.root.iterdir()))


async def test_a_deleted_run_is_hidden_and_restored_completely(keeper: Conductor) -> None:
    run = await keep(keeper, 'a', files=5, tags=('t',))
    await keeper.write_note(run, 'see here', at=2)
    await keeper.delete(run)
    assert (await names(keeper), await names(keeper, 'trash'), folders(keeper)) == ('', 'a', 'a')
    assert (await keeper.info(run)).deleted == keeper.clock.now()
    assert (await keeper.restore(run)).tags == ('t',)
    assert (await names(keeper), await names(keeper, 'trash')) == ('a', '')
    assert [note.text for note in await keeper.notes(run)] == ['see here']
    with pytest.raises(EventRefused, match='it was not deleted'):
        await keeper.restore(run)


async def test_only_deleted_runs_are_purged(keeper: Conductor) -> None:
    run = await keep(keeper, 'a', files=5)
    with pytest.raises(EventRefused, match='delete it first'):
        await keeper.purge(run)
    await keeper.delete(run)
    await keeper.purge(run)
    assert folders(keeper) == ''
    for action in (keeper.info(run), keeper.purge(run), keeper.restore(run), keeper.delete(run)):
        with pytest.raises(UnknownRun):
            await action


async def test_an_unfinished_run_is_cancelled_before_deletion() -> None:
    async with LocalConductor(catalog=catalog(model=FakeModel(asyncio.Event()))) as conductor:
        run = (await conductor.start('pipeline', {'task': 'A task to be cancelled'})).id
        with pytest.raises(EventRefused, match='cancel it first'):
            await conductor.delete(run)
        await conductor.delete(run, cancel=True)
        info = await conductor.info(run)
        assert (info.status, bool(info.deleted)) == (Status.CANCELLED, True)
        assert (await conductor.runs()).total == 0


async def test_deeply_nested_folders_are_purged(swept: Path) -> None:
    async with LocalConductor(catalog=Catalog.load(), workspaces=swept) as conductor:
        run = await keep(conductor, 'a', files=10)
        home = conductor.workspaces.home(run)
        nest(home / 'agents' / 'pipeline', 1_500)
        assert (await conductor.disk_usage([await conductor.info(run)]))[run].total
        await conductor.delete(run)
        await conductor.purge(run)
        assert not home.exists()


async def test_the_trash_is_purged_after_its_retention_time(keeper: Conductor) -> None:
    for name in 'ab':
        await keep(keeper, name)
    await keeper.delete(RunId('a'))
    await keeper.clock.advance(6.9 * DAY)  # type: ignore[attr-defined]
    await keeper.delete(RunId('b'))
    assert (await keeper.clean_up(Retention())).purged == ()
    await keeper.clock.advance(0.2 * DAY)  # type: ignore[attr-defined]
    assert (await keeper.clean_up(Retention())).purged == ('a',)
    assert (await names(keeper, 'trash'), folders(keeper)) == ('b', 'b')


async def test_the_policy_moves_runs_to_the_trash_first(keeper: Conductor) -> None:
    await keep(keeper, 'a', 40)
    await keep(keeper, 'b', 1)
    policy = Retention(days=30)
    (expired,) = await keeper.preview_cleanup(policy)
    assert expired.info.id == 'a' and await names(keeper) == 'ab'
    done = await keeper.clean_up(policy)
    assert [item.info.id for item in done.taken] == ['a'] and done.purged == ()
    assert (await names(keeper), await names(keeper, 'trash'), folders(keeper)) == ('b', 'a', 'ab')
    await keeper.clock.advance(7 * DAY)  # type: ignore[attr-defined]
    assert (await keeper.clean_up(policy)).purged == ('a',)


async def test_the_size_limit_counts_files_history_and_recordings(keeper: Conductor) -> None:
    for number, name in enumerate('abc'):
        await keep(keeper, name, 9 - number, files=1_000, bytes=50)
    recording = keeper.workspaces.home(RunId('a')) / 'recording.jsonl'
    recording.write_bytes(b'y' * 200)
    info = await keeper.info(RunId('a'))
    weight = (await keeper.disk_usage([info]))[info.id]
    assert (weight.history, weight.files, weight.recording, weight.total) == (50, 1_000, 200, 1_250)
    assert [item.info.id for item in await keeper.preview_cleanup(Retention(size=3_350))] == []
    (expired,) = await keeper.preview_cleanup(Retention(size=3_349))
    assert (expired.info.id, expired.bytes) == ('a', 1_250)


async def test_files_shared_with_a_fork_are_counted_once(keeper: Conductor) -> None:
    run = await keep(keeper, 'a')
    keeper.workspaces.objects(run).put(b'z' * 600)
    await keep(keeper, 'b', parent=run)
    keeper.workspaces.objects(run).link_all(keeper.workspaces.objects(RunId('b')))
    weights = await keeper.disk_usage([await keeper.info(RunId(name)) for name in 'ab'])
    assert [weight.files for weight in weights.values()] == [300, 300]


async def test_a_run_without_files_counts_its_history(keeper: Conductor) -> None:
    info = RunInfo(id=RunId('x'), pattern='p', title='', bytes=7)
    assert (await keeper.disk_usage([info]))[info.id].total == 7


@pytest.mark.parametrize('cut', ['files', 'journal'])
async def test_an_interrupted_purge_is_finished_later(
    keeper: Conductor, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    run = await keep(keeper, 'a', files=9)
    await keep(keeper, 'b')
    await keeper.delete(run)
    with monkeypatch.context() as broken, pytest.raises(OSError, match='power'):
        place: Any = keeper.workspaces if cut == 'files' else keeper.journal

        async def fails(run: RunId) -> None:
            raise OSError('power')

        broken.setattr(place, 'delete', fails)
        await keeper.purge(run)
    assert (await names(keeper), await names(keeper, 'trash')) == ('b', '')
    with pytest.raises(UnknownRun):
        await keeper.restore(run)
    assert [info.id for info in await keeper.journal.unfinished()] == []
    assert (await keeper.clean_up(Retention())).purged == ('a',)
    assert (await names(keeper, 'purging'), folders(keeper)) == ('', 'b')


async def test_a_fork_outlives_its_purged_parent(keeper: Conductor) -> None:
    parent = (await keeper.start('pipeline', {'task': 'Which database suits a small shop?'})).id
    await keeper.cancel(parent)
    fork = await keeper.fork(parent, 2, paused=True)
    before = await keeper.transitions(fork)
    await keeper.delete(parent)
    await keeper.purge(parent)
    assert await keeper.transitions(fork) == before
    await keeper.resume(fork)
    assert (await keeper.result(fork)).status is Status.DONE
    assert await keeper.audit(fork) == (await keeper.info(fork)).seq
    assert (await keeper.info(fork)).parent == parent


async def test_a_fork_inherits_neither_star_nor_pin(keeper: Conductor) -> None:
    parent = (await keeper.start('pipeline', {'task': 'Which database suits a small shop?'})).id
    await keeper.cancel(parent)
    await keeper.annotate(parent, starred=True, pinned=True)
    info = await keeper.info(await keeper.fork(parent, 1, paused=True))
    assert (info.starred, info.pinned, info.deleted) == (False, False, 0.0)


async def test_notes_are_written_changed_and_deleted(keeper: Conductor) -> None:
    run = await keep(keeper, 'a')
    note = await keeper.write_note(run, '  why so slow?\n', at=2)
    assert note == Note(id=note.id, run=run, seq=2, text='why so slow?', created=keeper.clock.now())
    await keeper.clock.advance(60)  # type: ignore[attr-defined]
    changed = await keeper.write_note(run, 'it waited', note=note.id)
    assert (changed.seq, changed.text, changed.created) == (2, 'it waited', note.created)
    assert changed.edited == keeper.clock.now()
    assert (await keeper.runs(RunQuery(text='waited'))).total == 1
    await keeper.delete_note(run, note.id)
    assert await keeper.notes(run) == []


async def test_a_note_needs_a_text_and_a_step(keeper: Conductor) -> None:
    run = await keep(keeper, 'a')
    for text in ('', ' \n ', 'x' * 10_001):
        with pytest.raises(InvalidInput, match='note: it needs 1 to 10,000 characters'):
            await keeper.write_note(run, text, at=1)
    for step in (0, -1, 4):
        with pytest.raises(UnknownStep):
            await keeper.write_note(run, 'x', at=step)
    with pytest.raises(UnknownNote):
        await keeper.write_note(run, 'x', note=7)
    with pytest.raises(UnknownRun):
        await keeper.write_note(RunId('nobody'), 'x', at=1)
    assert await keeper.notes(run) == []
