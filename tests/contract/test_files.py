"""The contract of stores for agents' files: a local folder, or storage that all machines share."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import Workspaces
from engine.workspace.object_store import SMALL_BYTES, ObjectStore
from storage.s3.files import S3Files

RUN, FORK = RunId('run'), RunId('fork')
LONG = b'long' * SMALL_BYTES
Machine = Callable[[], Workspaces]


@pytest.fixture(params=['folder', 's3'])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """Create the workspaces of another process: in the same folder, or in a new one with the same bucket."""
    if request.param == 'folder':
        return lambda: Workspaces(tmp_path)
    url = request.getfixturevalue('s3').bucket()
    folders = iter(range(100))
    return lambda: Workspaces(tmp_path / str(next(folders)), S3Files(url))


async def upload(spaces: Workspaces, *contents: bytes) -> list[str]:
    digests = [spaces.objects(RUN).put(data) for data in contents]
    await spaces.upload(RUN)
    return digests


async def test_stored_files_are_found_by_another_process(machine: Machine) -> None:
    first = machine()
    short, empty = await upload(first, b'short', b'')
    long = first.objects(RUN).put_file(io.BytesIO(LONG))
    await first.upload(RUN)
    assert short == hashlib.sha256(b'short').hexdigest()
    objects = machine().objects(RUN)
    assert (objects.get(short), objects.get(empty), objects.get(long)) == (b'short', b'', LONG)
    assert (objects.size(short), objects.size(long)) == (5, len(LONG))
    assert machine().objects(RUN).size(long) == len(LONG)  # without reading it
    assert short in objects and long in machine().objects(RUN)


async def test_missing_files_are_reported(machine: Machine) -> None:
    objects, missing = machine().objects(RUN), '0' * 64
    for look in (objects.get, objects.open, objects.size):
        with pytest.raises(WorkspaceError, match='the content 000000000000 is no longer kept'):
            look(missing)
    assert missing not in objects
    with pytest.raises(WorkspaceError, match='is not a valid digest'):
        objects.get('../../etc/passwd')


async def test_a_snapshot_is_restored_by_another_process(machine: Machine) -> None:
    first = machine()
    workspace = first.of(RUN, 'one')
    await workspace.write('src/a.py', b'print(1)')
    await workspace.write('run.sh', b'#!/bin/sh', executable=True)
    snapshot = await workspace.snapshot()
    await first.upload(RUN)
    second = machine()
    await second.restore(RUN, {'one': snapshot})
    again = second.of(RUN, 'one')
    assert await again.read('src/a.py') == b'print(1)'
    assert (again.folder / 'run.sh').stat().st_mode & 0o100
    await again.write('src/b.py', b'print(2)')
    later = await again.snapshot()
    await second.upload(RUN)
    third = machine()
    assert [file.path for file in await third.files(RUN, later)] == ['run.sh', 'src/a.py', 'src/b.py']
    assert [change.path for change in await third.diff(RUN, snapshot, later)] == ['src/b.py']


async def test_a_snapshot_is_exported_by_another_process(machine: Machine, tmp_path: Path) -> None:
    first = machine()
    await first.of(RUN, 'one').write('a.txt', b'said')
    snapshot = await first.of(RUN, 'one').snapshot()
    await first.upload(RUN)
    await machine().export(RUN, snapshot, tmp_path / 'files.zip')
    assert (tmp_path / 'files.zip').stat().st_size


async def test_a_fork_keeps_its_files_when_its_parent_is_deleted(machine: Machine) -> None:
    first = machine()
    await first.of(RUN, 'one').write('a.txt', b'said')
    snapshot = await first.of(RUN, 'one').snapshot()
    (artifact,) = await upload(first, b'an artifact')
    second = machine()
    await second.fork(RUN, FORK, [snapshot])
    await second.upload(FORK)
    await machine().delete(RUN)
    third = machine()
    assert await third.content(FORK, artifact) == b'an artifact'
    await third.restore(FORK, {'one': snapshot})
    assert await third.of(FORK, 'one').read('a.txt') == b'said'
    with pytest.raises(WorkspaceError, match='is no longer kept'):
        await machine().content(RUN, artifact)
    with pytest.raises(WorkspaceError, match='of run run is no longer kept'):
        await machine().fork(RUN, RunId('late'), ['1' * 64])


async def test_an_object_is_stored_once(machine: Machine) -> None:
    first = machine()
    assert await upload(first, b'same') == await upload(first, b'same')
    assert await upload(machine(), b'same') == [hashlib.sha256(b'same').hexdigest()]


async def test_a_plain_folder_has_the_layout_of_old_homes(tmp_path: Path) -> None:
    digest = Workspaces(tmp_path).objects(RUN).put(b'x')
    assert (tmp_path / 'run' / 'objects' / digest[:2] / digest[2:]).read_bytes() == b'x'
    assert type(Workspaces(tmp_path).objects(RUN)) is ObjectStore
