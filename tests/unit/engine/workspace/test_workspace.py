"""Workspaces: snapshots cost only what changed, diffs, and restoring any snapshot."""

from __future__ import annotations

import asyncio
import os
import zipfile
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import Workspace, Workspaces, snapshots
from engine.workspace.object_store import ObjectStore
from engine.workspace.workspaces import folder_name
from tests.support.harness import nest
from tests.support.teams.merging import git

RUN = RunId('r1')


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path)


@pytest.fixture
def workspace(workspaces: Workspaces) -> Workspace:
    return workspaces.of(RUN, 'one')


def count_objects(objects: ObjectStore) -> int:
    return sum(1 for path in objects.root.glob('??/*'))


async def test_unchanged_files_are_stored_once_and_not_reread(
    workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, reads = workspaces.of(RUN, 'one'), 0
    for number in range(20):
        await workspace.write(f'a/{number % 4}/file{number}', f'{number}'.encode() * 99)
    put = ObjectStore.put_file

    def count_and_put(self: ObjectStore, file: object) -> str:
        nonlocal reads
        reads += 1
        return put(self, file)  # type: ignore[arg-type]

    monkeypatch.setattr(ObjectStore, 'put_file', count_and_put)
    monkeypatch.setattr('engine.workspace.snapshots.RACY_NS', 0)
    await asyncio.sleep(0.02)  # longer than a tick of the file system's timestamps
    first = await workspace.snapshot()
    total = count_objects(workspace.objects)
    assert total == 20 + 4 + 2 and reads == 20
    assert await workspace.snapshot() == first and count_objects(workspace.objects) == total and reads == 20
    await workspace.write('a/0/file0', b'new')
    second = await workspace.snapshot()
    assert second != first and count_objects(workspace.objects) == total + 4 and reads == 21
    other = workspaces.of(RUN, 'two')
    await other.restore(first)
    assert await other.snapshot() == first and count_objects(workspace.objects) == total + 4


async def test_a_change_within_one_timestamp_tick_is_detected(workspace: Workspace) -> None:
    await workspace.write('file', b'aaaa')
    distinct = {await workspace.snapshot()}
    for text in (b'bbbb', b'cccc', b'dddd'):
        with (workspace.folder / 'file').open('r+b') as file:  # in place: the same inode and size
            file.write(text)
        os.utime(workspace.folder / 'file', ns=(1, 1))
        distinct.add(await workspace.snapshot())
    assert len(distinct) == 4


Files = dict[str, tuple[bytes, bool]]
"""The content of each file, and whether it is executable."""
FILES = st.dictionaries(
    st.sampled_from(['a', 'b', 'd/a', 'd/b', 'd/e/f', 'é', 'Ä/x', 'a b']),
    st.tuples(st.binary(max_size=20), st.booleans()),
    max_size=5,
)


def read_files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), os.access(path, os.X_OK))
        for path in folder.rglob('*')
        if path.is_file()
    }


async def test_files_deleted_during_a_snapshot_are_left_out(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await workspace.write('stays', b'1')
    await workspace.write('goes', b'2')
    await workspace.write('folder/inner', b'3')
    opened = snapshots.open_file

    def late(name: str, around: int) -> BinaryIO:
        if name == 'goes':
            os.unlink(name, dir_fd=around)
        return opened(name, around)

    monkeypatch.setattr(snapshots, 'open_file', late)
    snapshot = await workspace.snapshot()
    assert [file.path for file in await workspace.snapshot_files(snapshot)] == ['folder/inner', 'stays']


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=FILES, second=FILES)
async def test_a_restored_folder_has_exactly_its_files(
    workspaces: Workspaces,
    workspace: Workspace,
    first: dict[str, tuple[bytes, bool]],
    second: dict[str, tuple[bytes, bool]],
) -> None:
    snapshots = []
    for files in (first, second):
        await workspaces.restore(RUN, {})
        for path, (data, executable) in files.items():
            await workspace.write(path, data, executable=executable)
        snapshots.append(await workspace.snapshot())
    for snapshot, files in (*zip(snapshots, (first, second), strict=True), (snapshots[0], first)):
        await workspace.restore(snapshot)
        assert read_files(workspace.folder) == {
            path: (data, executable or (os.geteuid() == 0 and executable))
            for path, (data, executable) in files.items()
        }
        assert await workspace.snapshot() == snapshot
    changes = {change.path for change in await workspaces.diff(RUN, *snapshots)}
    assert changes == {path for path in first.keys() | second.keys() if first.get(path) != second.get(path)}


async def test_versions_and_agents_are_compared(workspaces: Workspaces) -> None:
    one, two = workspaces.of(RUN, 'one'), workspaces.of(RUN, 'two')
    await one.write('code.py', b'a\nb\nc\n')
    await one.write('old', b'gone\n')
    await one.write('data', b'\0\1')
    await one.write('same/file', b'x')
    await one.write('page', b'one\x0ctwo\r\nthree\n')
    first = await one.snapshot()
    await two.restore(first)
    (two.folder / 'old').unlink()
    await two.write('code.py', b'a\nB\nc')
    await two.write('data', b'\0\2')
    await two.write('new', 'ü\n'.encode())
    await two.write('same/file', b'x', executable=True)
    await two.write('page', b'one\x0ctwo\r\n3\n')
    (two.folder / 'link').symlink_to('code.py')
    changes = {change.path: change for change in await workspaces.diff(RUN, first, await two.snapshot())}
    assert {path: change.kind for path, change in changes.items()} == {
        'code.py': 'changed',
        'data': 'changed',
        'link': 'added',
        'new': 'added',
        'old': 'removed',
        'page': 'changed',
        'same/file': 'changed',
    }
    assert changes['code.py'].text == (
        '--- a/code.py\n+++ b/code.py\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+c\n\\ No newline at end of file\n'
    )
    assert (changes['code.py'].added, changes['code.py'].removed) == (2, 2)
    assert changes['data'].binary and changes['data'].text == ''
    assert changes['new'].text == '--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+ü\n'
    assert changes['old'].text.startswith('--- a/old\n+++ /dev/null\n')
    assert changes['link'].text.endswith('+link to code.py\n')
    assert changes['same/file'].text == '' and not changes['same/file'].binary
    assert changes['page'].text.endswith('@@ -1,2 +1,2 @@\n one\x0ctwo\r\n-three\n+3\n')
    assert len(await workspaces.diff(RUN, '', first)) == 5


async def test_long_files_are_not_compared_line_by_line(workspaces: Workspaces, workspace: Workspace) -> None:
    await workspace.write('long', b'x\n' * 30_000)
    (change,) = await workspaces.diff(RUN, '', await workspace.snapshot())
    assert change.text == '' and not change.binary


async def test_an_export_holds_the_files_without_escaping_links(
    workspaces: Workspaces, workspace: Workspace, tmp_path: Path
) -> None:
    await workspace.write('d/run', b'#!', executable=True)
    for name, target in (
        ('in', 'd/run'),
        ('d/up', '../d'),
        ('out', '../x'),
        ('d/out', '../../x'),
        ('a', '/x'),
    ):
        (workspace.folder / name).symlink_to(target)
    snapshot = await workspace.snapshot()
    for name in ('a.zip', 'b.zip'):
        await workspaces.export(RUN, snapshot, tmp_path / name)
    assert (tmp_path / 'a.zip').read_bytes() == (tmp_path / 'b.zip').read_bytes()
    with zipfile.ZipFile(tmp_path / 'a.zip') as archive:
        assert sorted(archive.namelist()) == ['d/run', 'd/up', 'in']
        assert archive.getinfo('d/run').external_attr >> 16 == 0o100755 and archive.read('d/run') == b'#!'


async def test_an_unpacked_export_runs_nothing(
    workspaces: Workspaces, workspace: Workspace, tmp_path: Path
) -> None:
    ran, source, out = tmp_path / 'ran', tmp_path / 'in', tmp_path / 'out'
    source.mkdir()
    (source / 'a.py').write_text('1')
    for step in (['init', '-q'], ['add', '.'], ['commit', '-qm', 'first']):
        git(source, *step)
    git(source, 'config', 'core.fsmonitor', f'touch {ran}; false')
    for path in source.rglob('*'):
        if path.is_file():
            await workspace.write(path.relative_to(source).as_posix(), path.read_bytes())
    config = (source / '.git/config').read_bytes()
    await workspace.write('.git/hooks/post-index-change', f'#!/bin/sh\ntouch {ran}'.encode(), executable=True)
    aside = (
        '.git/commondir',
        '.git/modules/x/config',
        'sub/.GIT/config',
        '.git./config',
        '.g\u200cit/config',
    )
    bare = ('bare/HEAD', f'bare/objects/aa/{"b" * 38}', 'bare/refs/heads/main', 'bare/config', 'bare/hooks/x')
    unseen = [f'un{name[2:]}'.replace('s/', 's\u200c/').replace('HE', 'HE\u200c') for name in bare]
    for name in (*aside, *bare, *unseen, 'linked/.git', 'SLY/config'):
        await workspace.write(name, config, executable=True)
    (workspace.folder / 'sly').symlink_to('.git')
    await workspaces.export(RUN, await workspace.snapshot(), tmp_path / 'a.zip')
    with zipfile.ZipFile(tmp_path / 'a.zip') as archive:
        names = archive.namelist()
        archive.extractall(out)
    outside = [name for name in names if not name.startswith('.git/')]
    assert sorted(outside) == ['SLY/config', 'a.py', *sorted(bare[:3]), 'sly (2)']
    assert {name.split('/')[1] for name in names if name.startswith('.git/')} == {
        *('HEAD', 'index', 'logs', 'objects', 'refs')
    }
    assert 'a.py' not in git(out, 'status', '--porcelain') and git(out, 'log', '--format=%s') == 'first'
    assert not ran.exists()


async def test_names_in_an_export_are_safe_on_any_system(
    workspaces: Workspaces, workspace: Workspace, tmp_path: Path
) -> None:
    names = {
        '..\\..\\w.txt': '.._.._w.txt',
        'c:/x': 'c_/x',
        'a\x1b[2J\n': 'a_[2J_',
        'nul.txt': '_nul.txt',
        'com¹': '_com¹',
        'conin$': '_conin$',
        'dot./x': 'dot_/x',
        'x': 'x (2)',
        'X': 'X',
        '…': '…',
    }
    for name in names:
        await workspace.write(name, name.encode())
    (workspace.folder / 'd').mkdir()
    (workspace.folder / 'd' / 'top').symlink_to('..')
    (workspace.folder / 'sly').symlink_to('d/top/..')
    (workspace.folder / 'back').symlink_to('..\\x')
    await workspaces.export(RUN, await workspace.snapshot(), tmp_path / 'a.zip')
    with zipfile.ZipFile(tmp_path / 'a.zip') as archive:
        assert sorted(archive.namelist()) == sorted([*names.values(), 'd/top'])
        assert {name: archive.read(stored).decode() for name, stored in names.items()} == {
            n: n for n in names
        }


async def test_damage_and_loss_are_named(workspaces: Workspaces, workspace: Workspace) -> None:
    await workspace.write('file', b'x' * 3)
    snapshot = await workspace.snapshot()
    (file,) = await workspaces.files(RUN, snapshot)
    path = workspace.objects.root / file.digest[:2] / file.digest[2:]
    path.chmod(0o600)
    path.write_bytes(b'y')
    with pytest.raises(WorkspaceError, match='damaged'):
        await workspaces.content(RUN, file.digest)
    for digest in ('0' * 64, 'x', '../../x', file.digest[:-1]):
        with pytest.raises(WorkspaceError):
            await workspace.restore(digest)
        with pytest.raises(WorkspaceError):
            await workspaces.content(RUN, digest)
    path.unlink()
    with pytest.raises(WorkspaceError, match='no longer kept'):
        await workspaces.content(RUN, file.digest)
    with pytest.raises(WorkspaceError, match='is not a snapshot'):
        await workspaces.files(RUN, workspace.objects.put(b'[1]'))


async def test_large_files_are_kept_too(workspaces: Workspaces, workspace: Workspace) -> None:
    await workspace.write('large', os.urandom(3_000_000))
    snapshot = await workspace.snapshot()
    (file,) = await workspaces.files(RUN, snapshot)
    assert await workspaces.content(RUN, file.digest) == await workspace.read('large')
    assert list((workspace.objects.root / 'new').iterdir()) == []


async def test_a_folder_nested_too_deep_is_refused(workspace: Workspace) -> None:
    nest(workspace.folder, 200)
    with pytest.raises(WorkspaceError, match='nested more than'):
        await workspace.snapshot()


def test_no_two_agents_share_a_folder() -> None:
    agents = ['a.b', 'a/b', 'A.b', 'a', '.', '..', '', '../x', 'é', 'a b', '%41', 'x' * 300, 'x' * 301, '-']
    names = [folder_name(agent) for agent in agents]
    assert len({name.lower() for name in names}) == len(agents)
    assert all(name not in ('', '.', '..') and '/' not in name and len(name) < 200 for name in names)


@pytest.mark.parametrize('run', ['', '..', 'a/b', '/x', '.x', 'a' * 200])
def test_an_invalid_run_has_no_folder(workspaces: Workspaces, run: str) -> None:
    with pytest.raises(WorkspaceError):
        workspaces.of(RunId(run), 'one')


async def test_a_temporary_root_is_deleted_with_its_workspaces() -> None:
    workspaces = Workspaces()
    await workspaces.of(RUN, 'one').write('x', b'x')
    root = workspaces.root
    await workspaces.close()
    assert not root.exists()


async def test_a_snapshot_that_is_too_large_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await workspace.write(str(number), b'12345')
    monkeypatch.setattr('engine.workspace.snapshots.snapshot_limits', lambda: (4, 1 << 20))
    with pytest.raises(WorkspaceError, match='more than 4 files'):
        await workspace.snapshot()
