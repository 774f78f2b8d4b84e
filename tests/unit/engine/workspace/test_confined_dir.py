"""Paths stay inside their folder, whatever a model or a program inside tries."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ToolError
from engine.workspace import Workspace
from engine.workspace.confined_dir import MAX_DEPTH, split_path
from engine.workspace.object_store import ObjectStore

SECRET = b'not for agents'


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / 'home').mkdir()
    (tmp_path / 'home' / 'secret').write_bytes(SECRET)
    return tmp_path / 'home'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / 'agents' / 'one', ObjectStore(tmp_path / 'objects'))
    workspace.folder.mkdir(parents=True)
    return workspace


ESCAPING = ['..', '../secret', 'a/../../secret', 'a/..', './..', '..//x', '/workspace/../etc/passwd']
ABSOLUTE = ['/etc/passwd', '//etc/passwd', '/workspacex/a', '/WORKSPACE/a', '/proc/self/root/etc/passwd']
INVALID = ['a\0b', 'n' * 256, 'é' * 130, 'a/' * (MAX_DEPTH + 1), 'a' * 5_000]


@pytest.mark.parametrize('path', [*ESCAPING, *ABSOLUTE, *INVALID])
async def test_invalid_and_escaping_paths_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolError):
        split_path(path)
    with pytest.raises(ToolError):
        await workspace.read(path)
    with pytest.raises(ToolError):
        await workspace.write(path, b'x')
    assert list(workspace.folder.iterdir()) == []


@pytest.mark.parametrize(
    ('path', 'names'),
    [
        ('', ()),
        ('.', ()),
        ('/workspace', ()),
        ('/workspace/a/b', ('a', 'b')),
        ('./a//b/', ('a', 'b')),
        ('...', ('...',)),
        ('..a/.b', ('..a', '.b')),
        ('~/x', ('~', 'x')),
        ('\\..\\x', ('\\..\\x',)),
        ('．．/x', ('．．', 'x')),  # noqa: RUF001  (full-width dots)
        ('%2e%2e/x', ('%2e%2e', 'x')),
    ],
)
def test_other_paths_are_plain_names(path: str, names: tuple[str, ...]) -> None:
    assert split_path(path) == names


@settings(max_examples=100)
@given(st.text('./\\a~\0%2e ', max_size=12))
def test_no_path_yields_a_special_name(path: str) -> None:
    with contextlib.suppress(ToolError):
        assert not {'', '.', '..'} & set(split_path(path))


@pytest.mark.parametrize('shape', ['file', 'folder', 'absolute folder', 'chain', 'proc', 'itself', 'nothing'])
async def test_links_are_not_followed(workspace: Workspace, outside: Path, shape: str) -> None:
    target, path = {
        'file': ('../../home/secret', 'link'),
        'folder': ('../../home', 'link/secret'),
        'absolute folder': (str(outside), 'link/secret'),
        'chain': ('second', 'link/secret'),
        'proc': ('/proc/self/cwd', 'link/secret'),
        'itself': ('link', 'link'),
        'nothing': (str(outside / 'new'), 'link'),
    }[shape]
    (workspace.folder / 'link').symlink_to(target)
    (workspace.folder / 'second').symlink_to(outside)
    with pytest.raises(ToolError, match='link'):
        await workspace.read(path)
    with pytest.raises(ToolError, match='link'):
        await workspace.write(path, b'x')
    with pytest.raises(ToolError, match='link'):
        await workspace.entries('link')
    assert (outside / 'secret').read_bytes() == SECRET and len(list(outside.iterdir())) == 1
    listed = {entry.path: entry.kind for entry in await workspace.entries()}
    assert listed == {'link': 'a link', 'second': 'a link'}


async def test_a_snapshot_keeps_a_link_and_not_its_target(workspace: Workspace, outside: Path) -> None:
    (workspace.folder / 'link').symlink_to(outside)
    snapshot = await workspace.snapshot()
    (workspace.folder / 'link').unlink()
    (workspace.folder / 'link').mkdir()
    (workspace.folder / 'link' / 'x').touch()
    await workspace.restore(snapshot)
    assert os.readlink(workspace.folder / 'link') == str(outside)
    (workspace.folder / 'empty').mkdir()
    blank = await Workspace(workspace.folder.with_name('blank'), workspace.objects).snapshot()
    await workspace.restore(blank)
    assert list(workspace.folder.iterdir()) == [] and (outside / 'secret').read_bytes() == SECRET


async def test_special_files_are_refused_immediately(workspace: Workspace) -> None:
    os.mkfifo(workspace.folder / 'pipe')
    (workspace.folder / 'folder').mkdir()
    for path, says in (('pipe', 'a device or a pipe'), ('folder', 'a folder'), ('', 'a folder')):
        async with asyncio.timeout(5):
            with pytest.raises(ToolError, match=says):
                await workspace.read(path)
            with pytest.raises(ToolError, match=says):
                await workspace.write(path, b'x')
    with pytest.raises(ToolError, match='no such file'):
        await workspace.read('nothing/there')
    (workspace.folder / 'file').touch()
    for path in ('file/x', 'file/x/y'):
        with pytest.raises(ToolError, match='in the way'):
            await workspace.write(path, b'x')


async def test_names_that_differ_in_case_are_two_names(workspace: Workspace) -> None:
    for name in ('Makefile', 'MAKEFILE', 'makefile'):
        await workspace.write(name, name.encode())
    assert [await workspace.read(name) for name in ('Makefile', 'MAKEFILE')] == [b'Makefile', b'MAKEFILE']


async def test_a_link_inserted_concurrently_is_not_followed(workspace: Workspace, outside: Path) -> None:
    """A program repeatedly swaps a folder for a link to the outside while files are accessed."""
    folder, stopped = workspace.folder, threading.Event()
    real, aside = folder / 'real', folder / 'aside'
    real.mkdir()
    (real / 'secret').write_bytes(b'mine')

    def swap() -> None:
        while not stopped.is_set():
            for turn in (
                lambda: real.rename(aside),
                lambda: real.symlink_to(outside),
                real.unlink,
                (real / 'new').unlink,  # A write recreated the folder while it was moved away.
                real.rmdir,
                lambda: aside.rename(real),
            ):
                with contextlib.suppress(OSError):
                    turn()

    swapping = threading.Thread(target=swap)
    swapping.start()
    counts: dict[object, int] = {}
    try:
        for tries in itertools.count():
            if tries >= 400 and len(counts) == 2:
                break
            assert tries < 100_000, 'the race was never on'
            try:
                data: object = await workspace.read('real/secret')
            except ToolError:
                data = 'refused'
            with contextlib.suppress(ToolError):
                await workspace.write('real/new', b'x')
            counts[data] = counts.get(data, 0) + 1
            assert data in (b'mine', 'refused')
    finally:
        stopped.set()
        swapping.join()
    assert sorted(path.name for path in outside.iterdir()) == ['secret']


async def test_writing_keeps_the_executable_bit_and_leaves_no_temporary_file(workspace: Workspace) -> None:
    assert await workspace.write('bin/run', b'#!', executable=True) is False
    assert await workspace.write('bin/run', b'#!/bin/sh') is True
    assert os.access(workspace.folder / 'bin' / 'run', os.X_OK)
    assert [path.name for path in (workspace.folder / 'bin').iterdir()] == ['run']
    with pytest.raises(ToolError, match='9 bytes, and at most 5'):
        await workspace.read('bin/run', most=5)


@pytest.mark.skipif(os.geteuid() == 0, reason='nothing is shut for the system user')
async def test_folders_without_permissions_are_opened(workspace: Workspace) -> None:
    await workspace.write('shut/file', b'x')
    (workspace.folder / 'shut' / 'file').chmod(0)
    (workspace.folder / 'shut').chmod(0)
    snapshot = await workspace.snapshot()
    (workspace.folder / 'shut').chmod(0o500)
    await workspace.restore(await Workspace(workspace.folder.with_name('b'), workspace.objects).snapshot())
    assert list(workspace.folder.iterdir()) == []
    await workspace.restore(snapshot)
    assert await workspace.read('shut/file') == b'x'
