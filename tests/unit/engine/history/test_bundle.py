"""Bundles: export and import without loss, redaction of secrets, and crashes during an import."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import hashlib
import io
import json
import os
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Conductor, LocalConductor, Status
from engine.errors import BundleError, UnknownRun
from engine.history import Redaction
from engine.history.bundle import reader
from engine.history.bundle.closing import CLOSED_REASON
from engine.history.bundle.staging import STAGING_PREFIX, Staging, sweep
from engine.journal import Journal, MemoryJournal
from engine.models.recording.exchange import read_exchanges
from engine.records import RunId, RunQuery
from storage import open_journal
from tests.support.harness import (
    FakeModel,
    HastyClock,
    Lone,
    calls,
    catalog,
    pipeline_reply,
    to_the_end,
    wait_for_state,
)
from tests.unit.engine.workspace.test_run_files import Pair, jot

SECRET = 'sk-first-secret-of-all-12345'
TAKE = {
    'state': 'researching.thinking', 'step': 2, 'model': 'far/m', 'wire': 'm', 'endpoint': {'url': 'http://far'},
    'key': 'k', 'method': 'POST', 'url': 'http://far/x', 'body': {'messages': []}, 'status': 200,
    'headers': {'content-type': 'text/event-stream'}, 'pieces': [[0.1, 'data: x']], 'end': '',
}  # fmt: skip


def reply(request: Any) -> Any:
    if request.hints.role in ('one', 'two'):
        return calls(('jot', {'name': f'{request.hints.role}.txt'})) if not request.hints.turn else 'done'
    return pipeline_reply(request)


def make_conductor(home: Path, journal: Journal | None = None) -> Conductor:
    patterns = catalog(FakeModel(reply), Lone, Pair, tools=(jot,))
    return LocalConductor(journal or MemoryJournal(), catalog=patterns, clock=HastyClock(), workspaces=home)


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Conductor]:
    async with make_conductor(tmp_path / 'here') as conductor:
        yield conductor


@pytest.fixture(params=['memory', 'sql'])
async def destination(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Conductor]:
    journal = MemoryJournal() if request.param == 'memory' else await open_journal(tmp_path / 'runs.db')
    async with make_conductor(tmp_path / 'there', journal) as conductor:
        yield conductor


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Conductor]:
    async with make_conductor(tmp_path / 'target') as conductor:
        yield conductor


async def whole(conductor: Conductor, *runs: RunId, compressed: bool = False, **options: Any) -> bytes:
    pieces = [piece async for piece in conductor.export_bundle(runs, compressed=compressed, **options)]
    return b''.join(pieces)


async def pipeline(conductor: Conductor, **options: Any) -> RunId:
    run = (await conductor.start('pipeline', {'task': 'Which database?'}, **options)).id
    await to_the_end(conductor, run)
    return run


async def run_pair(conductor: Conductor) -> RunId:
    run = (await conductor.start('pair')).id
    await to_the_end(conductor, run)
    return run


def seal(lines: list[dict[str, Any]]) -> bytes:
    """Return lines as a file with a valid checksum."""
    text = b''.join(json.dumps(line).encode() + b'\n' for line in lines if line.get('kind') != 'end')
    digest = hashlib.sha256(text).hexdigest()
    end = {'kind': 'end', 'lines': text.count(b'\n'), 'sha256': digest, 'hidden': 0}
    return text + json.dumps(end).encode() + b'\n'


def lines_of(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


async def nothing_in(conductor: Conductor) -> None:
    assert (await conductor.runs(RunQuery())).total == 0
    root = conductor.workspaces.root
    assert not root.exists() or await asyncio.to_thread(os.listdir, root) == []


async def same(source: Conductor, destination: Conductor, run: RunId, copy: RunId | None = None) -> None:
    """Compare the info, shape, steps, views at every step, files and recordings of both runs."""
    other = copy or run
    before, after = await source.info(run), await destination.info(other)
    assert after == replace(before, id=other, parent=after.parent, owner='', epoch=0, bytes=after.bytes)
    assert after.bytes > 0
    notes = [replace(note, id=0, run=run) for note in await destination.journal.notes(other)]
    assert notes == [replace(note, id=0) for note in await source.journal.notes(run)]
    assert await destination.shape(other) == await source.shape(run)
    steps = [replace(step, run=run) for step in await destination.transitions(other)]
    assert steps == await source.transitions(run)
    for at in range(before.seq + 1):
        assert replace(await destination.view(other, at), run=run) == await source.view(run, at)
    for snapshot in (await source.view(run)).files.values():
        files = await source.workspaces.files(run, snapshot)
        assert files and await destination.workspaces.files(other, snapshot) == files
        for file in files:
            content = await source.workspaces.content(run, file.digest)
            assert await destination.workspaces.content(other, file.digest) == content
    for path in (source.recordings.path(run), source.recordings.replayed_path(run)):
        copied = destination.workspaces.home(other) / path.name
        assert copied.exists() == path.exists()
        assert not path.exists() or read_exchanges(copied) == read_exchanges(path)


async def test_nothing_is_lost(source: Conductor, destination: Conductor) -> None:
    run = await pipeline(source, title='A title', tags=('b', 'a'), seed=2**31 - 1)
    await source.annotate(run, note='Two\nlines', starred=True, pinned=True, private=True)
    await source.write_note(run, 'A note', at=3)
    source.recordings.path(run).parent.mkdir(parents=True, exist_ok=True)
    source.recordings.path(run).write_text(json.dumps(TAKE) + '\n')
    pair = await run_pair(source)
    for one, compressed in ((run, True), (pair, False)):
        [imported] = await destination.import_bundle(
            io.BytesIO(await whole(source, one, compressed=compressed))
        )
        assert (imported.id, imported.origin, imported.outcome, imported.closed) == (one, one, 'new', False)
        await same(source, destination, one)
        assert await destination.audit(one) == (await source.info(one)).seq


async def test_long_histories_get_snapshots(
    source: Conductor, destination: Conductor, monkeypatch: Any
) -> None:
    monkeypatch.setattr(reader, 'SNAPSHOT_STEPS', 5)
    run = await pipeline(source)
    await destination.import_bundle(io.BytesIO(await whole(source, run)))
    assert await destination.journal.snapshot(run, (await source.info(run)).seq)
    await same(source, destination, run)


async def test_existing_runs_are_not_changed(source: Conductor, destination: Conductor) -> None:
    run = await pipeline(source)
    bundle = await whole(source, run)
    await destination.import_bundle(io.BytesIO(bundle))
    await destination.annotate(run, title='Mine')
    [imported] = await destination.import_bundle(io.BytesIO(bundle))
    assert (imported.outcome, imported.id) == ('known', run)
    assert (await destination.info(run)).title == 'Mine'
    lines = lines_of(bundle)
    altered = seal(
        [line if line.get('kind') != 'step' else line | {'time': line['time'] + 1} for line in lines]
    )
    [other] = await destination.import_bundle(io.BytesIO(altered))
    assert other.outcome == 'renamed' and other.id != run and other.origin == run
    assert (await destination.runs(RunQuery())).total == 2
    assert (await destination.transitions(run)) == await source.transitions(run)


async def test_a_family_keeps_its_links(source: Conductor, destination: Conductor) -> None:
    parent = await run_pair(source)
    fork = await source.fork(parent, 2)
    await to_the_end(source, fork)
    grandchild = await source.fork(fork, 3)
    await to_the_end(source, grandchild)
    await run_pair(source)
    runs = await source.family(fork)
    assert runs == [parent, fork, grandchild]
    bundle = await whole(source, *runs)
    assert any(line.get('kind') == 'same' for line in lines_of(bundle))
    imported = await destination.import_bundle(io.BytesIO(bundle))
    assert [item.id for item in imported] == runs
    for run in runs:
        await same(source, destination, run)
    assert (await destination.info(grandchild)).parent == fork
    # Imported alone, it names a parent that need not exist.
    async with make_conductor(destination.workspaces.root.parent / 'third') as third:
        await third.import_bundle(io.BytesIO(await whole(source, grandchild)))
        assert (await third.info(grandchild)).parent == fork


async def test_forks_follow_a_renamed_parent(source: Conductor, destination: Conductor) -> None:
    parent = await run_pair(source)
    fork = await source.fork(parent, 2)
    await to_the_end(source, fork)
    existing = await pipeline(destination)
    renamed = (await whole(source, parent, fork)).replace(parent.encode(), existing.encode())
    imported = await destination.import_bundle(io.BytesIO(seal(lines_of(renamed))))
    assert [item.outcome for item in imported] == ['renamed', 'new']
    assert (await destination.info(fork)).parent == imported[0].id != existing


async def test_an_imported_unfinished_run_is_closed_and_can_be_forked(
    source: Conductor, destination: Conductor
) -> None:
    run = (await source.start('pipeline', {'task': 'Which database?'})).id
    await wait_for_state(source, run, 'reviewing.thinking')
    await source.pause(run)
    bundle = await whole(source, run)
    seq = next(line['info']['seq'] for line in lines_of(bundle) if line.get('kind') == 'run')
    [imported_again] = await destination.import_bundle(io.BytesIO(bundle))
    assert imported_again.closed
    info = await destination.info(run)
    assert (info.status, info.seq, info.error) == (Status.CANCELLED, seq + 1, CLOSED_REASON)
    assert (await destination.transitions(run))[:-1] == (await source.transitions(run, until=seq))
    assert await destination.recover() == [] and await destination.journal.unfinished() == []
    assert not destination.can_control(run)
    [imported] = await destination.import_bundle(io.BytesIO(bundle))
    assert imported.outcome == 'known'
    [imported] = await source.import_bundle(io.BytesIO(bundle))
    assert (imported.outcome, imported.closed) == ('known', False), 'it is further here'
    fork = await destination.fork(run, seq)
    assert (await to_the_end(destination, fork)).status is Status.DONE


async def test_statuses_claimed_by_a_file_are_recomputed(source: Conductor, destination: Conductor) -> None:
    run = await pipeline(source)
    lines = lines_of(await whole(source, run))
    lines[1]['info'] |= {'status': 'running', 'waiting': 'your password', 'error': 'x'}
    lines[1]['info']['usage']['dollars'] = -5.0
    await destination.import_bundle(io.BytesIO(seal(lines)))
    await same(source, destination, run)


# Secrets


async def test_secrets_are_redacted(source: Conductor, destination: Conductor, tmp_path: Path) -> None:
    run = await run_pair(source)
    await source.annotate(run, note=f'with {SECRET} in it', title='ghp_' + 'a' * 36)
    workspace = source.workspaces.of(run, 'both.one')
    await workspace.write('deep/key.txt', f'the key: {SECRET}'.encode())
    snapshot = await workspace.snapshot()
    steps = await source.transitions(run)
    at = next(step.seq for step in steps if step.event.data.get('snapshots'))
    old = next(iter(steps[at - 1].event.data['snapshots'].values()))
    forged = [
        json.loads(json.dumps(line).replace(old, snapshot)) for line in lines_of(await whole(source, run))
    ]
    objects = source.workspaces.objects(run)
    contents = [
        {'kind': 'object', 'digest': name, 'data': base64.b64encode(objects.get(name)).decode()}
        for name in (f'{path.parent.name}{path.name}' for path in objects.root.glob('??/*'))
    ]
    forged = [line for line in forged if line.get('kind') != 'object'] + contents
    forged[1]['info']['note'] = f'with {SECRET} in it'
    async with make_conductor(tmp_path / 'middle') as middle:
        await middle.import_bundle(io.BytesIO(seal(forged)))
        bundle = await whole(
            middle, run, redaction=Redaction([lambda text: text.replace(SECRET, '[hidden]')])
        )
    assert SECRET.encode() not in bundle and b'ghp_' not in bundle
    assert lines_of(bundle)[-1]['hidden'] >= 3
    assert all(SECRET.encode() not in base64.b64decode(line.get('data', '')) for line in lines_of(bundle))
    [imported] = await destination.import_bundle(io.BytesIO(bundle))
    assert imported.hidden >= 3
    views = await destination.view(run, at)
    files = [file for tree in views.files.values() for file in await destination.workspaces.files(run, tree)]
    hidden = next(file for file in files if file.path == 'deep/key.txt')
    content = await destination.workspaces.content(run, hidden.digest)
    assert content == b'the key: [hidden]' and hidden.size == len(content)


def test_secrets_of_this_process_are_redacted() -> None:
    environment = {
        'WORK_KEY': 'a-long-secret-value',
        'SHORT_KEY': 'word',
        'KEY_PATH_KEY': '/etc/some/long/path',
    }
    redaction = Redaction.for_catalog(catalog(FakeModel()), environment)
    value = {'a-long-secret-value': ['x a-long-secret-value', 3], 'word': '/etc/some/long/path'}
    assert redaction.redact_value(value) == {'[hidden]': ['x [hidden]', 3], 'word': '/etc/some/long/path'}
    assert redaction.found == 2


@pytest.mark.parametrize(
    'text', ['task-management-for-everybody-in-town', 'a' * 64, 'sk-short', 'risk-' + 'a' * 30]
)
def test_text_that_only_resembles_a_key_is_not_redacted(text: str) -> None:
    assert Redaction().redact_text(text) == text


# Crashes


async def test_an_import_refused_by_the_journal_leaves_nothing(
    source: Conductor, target: Conductor, monkeypatch: Any
) -> None:
    bundle = await whole(source, await run_pair(source))

    async def fail(*args: Any) -> None:
        raise OSError(28, 'No space left on device')

    with monkeypatch.context() as patch:
        patch.setattr(target.journal, 'import_runs', fail)
        with pytest.raises(BundleError, match='No space left'):
            await target.import_bundle(io.BytesIO(bundle))
    await nothing_in(target)
    await target.import_bundle(io.BytesIO(bundle))


async def test_leftovers_of_a_dead_process_are_removed(source: Conductor, target: Conductor) -> None:
    run = await run_pair(source)
    root = target.workspaces.root
    await asyncio.to_thread((root / f'{STAGING_PREFIX}dead' / '0').mkdir, parents=True)
    (root / run / 'objects').mkdir(parents=True)  # files stored before a power failure
    living = Staging(root)
    await target.import_bundle(io.BytesIO(await whole(source, run)))
    await same(source, target, run)
    assert sorted(path.name for path in root.iterdir()) == sorted([run, living.folder.name])
    living.close()


async def test_a_staging_folder_is_not_removed_before_it_is_locked(
    target: Conductor, monkeypatch: Any
) -> None:
    root, lock = target.workspaces.root, fcntl.flock

    def other_process() -> None:
        asyncio.run(sweep(root, lambda run: asyncio.sleep(0, result=False)))

    sweeping = threading.Thread(target=other_process)

    def lock_late(folder: int, flags: int) -> None:
        if threading.current_thread() is threading.main_thread() and list(root.iterdir()):
            monkeypatch.undo()
            sweeping.start()
            sweeping.join(timeout=0.5)
        lock(folder, flags)

    monkeypatch.setattr(fcntl, 'flock', lock_late)
    living = Staging(root)
    sweeping.join()
    assert living.folder.is_dir()
    living.close()
    assert list(root.iterdir()) == []


async def test_files_of_a_run_that_another_database_knows_are_not_replaced(
    source: Conductor, target: Conductor
) -> None:
    run = await run_pair(source)
    theirs = target.workspaces.root / run / 'objects' / 'theirs'
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    (imported,) = await target.import_bundle(io.BytesIO(await whole(source, run)))
    assert (imported.outcome, imported.origin) == ('renamed', run)
    await same(source, target, run, imported.id)
    await target.delete(imported.id)
    await target.purge(imported.id)
    assert theirs.exists()


@pytest.mark.parametrize('is_committed', [False, True], ids=['before', 'after'])
async def test_an_import_killed_around_the_journal_entry_leaves_no_files_without_a_run(
    source: Conductor, target: Conductor, is_committed: bool, monkeypatch: Any
) -> None:
    run, root, put = await run_pair(source), target.workspaces.root, target.journal.import_runs
    bundle = await whole(source, run)

    async def die(*args: Any) -> None:
        if is_committed:
            await put(*args)
        raise OSError('killed')

    with monkeypatch.context() as patch:
        patch.setattr(target.journal, 'import_runs', die)
        patch.setattr(Staging, 'roll_back', lambda staging: None)
        patch.setattr(Staging, 'close', lambda staging: os.close(staging._lock))
        with pytest.raises(BundleError):
            await target.import_bundle(io.BytesIO(bundle))
    assert len(os.listdir(root)) == 2, 'the files, and the folder they came from'
    await target.clean_up()
    if is_committed:
        await same(source, target, run)
    else:
        await nothing_in(target)
    assert os.listdir(root) == [run] * is_committed
    await target.import_bundle(io.BytesIO(bundle))
    await same(source, target, run)


async def test_a_cancelled_import_leaves_nothing(source: Conductor, target: Conductor) -> None:
    bundle = await whole(source, await run_pair(source))
    importing = asyncio.ensure_future(target.import_bundle(io.BytesIO(bundle)))
    await asyncio.sleep(0)
    importing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await importing
    await nothing_in(target)


async def test_progress_is_reported(source: Conductor, target: Conductor) -> None:
    progress: list[int] = []
    bundle = await whole(source, *[await pipeline(source) for _ in range(6)])
    await target.import_bundle(io.BytesIO(bundle), progress=progress.append)
    assert progress == sorted(progress) and 0 < progress[-1] <= len(bundle)


async def test_an_unknown_run_is_named(source: Conductor) -> None:
    with pytest.raises(UnknownRun):
        await whole(source, RunId('nobody'))
    with pytest.raises(UnknownRun):
        await source.family(RunId('nobody'))
