"""Submodules, sparse checkouts, CRLF, filters and odd names: what nobody touched does not differ."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import Sandbox, Workspace, Workspaces, format_patch
from engine.workspace.diff import diff_snapshots
from engine.workspace.git.merge import GitMerge, Work
from engine.workspace.git.repository import Repository
from engine.workspace.git.worktree import Worktrees

IDENTITY = ('-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always')
ODD = os.fsdecode(b'caf\xe9 "x".txt')
CLEAN = '#!/bin/sh\nmkdir -p "$(git config lfs.storage || echo .git/lfs)"/objects\nsha256sum\n'
"""A filter like that of Git LFS: keeps a digest, and writes to its storage."""


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ['git', *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def make(root: Path, files: dict[str, bytes]) -> Path:
    root.mkdir()
    git(root, 'init', '-q', '-b', 'main')
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    git(root, 'add', '-A')
    git(root, 'commit', '-q', '-m', 'first')
    return root


def submodule(tmp_path: Path) -> Path:
    make(tmp_path / 'lib', {'lib.py': b'x = 1\n'})
    root = make(tmp_path / 'project', {'a.txt': b'a\n'})
    git(root, 'submodule', '--quiet', 'add', '../lib', 'vendor/lib')
    git(root, 'commit', '-q', '-m', 'second')
    return root


def sparse(tmp_path: Path) -> Path:
    root = make(tmp_path / 'project', {'a.txt': b'a\n', 'in/b': b'b\n', 'out/c': b'c\n'})
    git(root, 'sparse-checkout', 'set', 'in')
    return root


def crlf(tmp_path: Path) -> Path:
    make(tmp_path / 'lf', {'a.txt': b'one\ntwo\n'})
    git(tmp_path, 'clone', '-q', '-c', 'core.autocrlf=true', 'lf', 'project')
    return tmp_path / 'project'


def filtered(tmp_path: Path) -> Path:
    program = tmp_path / 'clean'
    program.write_text(CLEAN)
    program.chmod(0o755)
    root = make(tmp_path / 'project', {'a.txt': b'a\n'})
    git(root, 'config', 'filter.big.clean', str(program))
    (root / '.gitattributes').write_text('*.bin filter=big\n')
    (root / 'big.bin').write_bytes(b'0' * 2_000)
    git(root, 'add', '-A')
    git(root, 'commit', '-q', '-m', 'second')
    return root


def odd(tmp_path: Path) -> Path:
    return make(tmp_path / 'project', {'a.txt': b'a\n', ODD: b'one\n'})


async def lay_out(project: Path, tmp_path: Path, sandbox: Sandbox) -> tuple[Workspace, str]:
    space = Workspaces(tmp_path / 'runs').of(RunId('r'), 'one')
    async with Worktrees.of(str(project)) as trees:
        return space, await trees.make(space, sandbox, 'hemicycle/r/one')


async def inside(sandbox: Sandbox, space: Workspace, command: str) -> str:
    return (await sandbox.run(['sh', '-c', command], space)).output.strip()


async def merge_of(project: Path, space: Workspace, before: str) -> GitMerge:
    repository = await Repository.find(project)
    assert repository is not None
    work = Work(objects=space.objects, before=before, after=await space.snapshot(), base=repository.head)
    return GitMerge(repository, work)


@pytest.mark.parametrize('kind', [submodule, sparse, crlf, filtered, odd])
async def test_a_project_that_nobody_touched_has_no_changes(kind, sandbox: Sandbox, tmp_path: Path) -> None:
    project = kind(tmp_path)
    tree = git(project, 'rev-parse', 'HEAD^{tree}').strip()
    space, before = await lay_out(project, tmp_path, sandbox)
    seen = await inside(
        sandbox,
        space,
        'git status --porcelain; git add -A; git diff HEAD; git log -1 --format=%T%n%s',
    )
    last = git(project, 'log', '-1', '--format=%s').strip()
    assert seen == f'{tree}\n{last}'
    preview = await (await merge_of(project, space, before)).preview('main')
    assert preview.paths == () and preview.patch == ''


async def test_files_of_a_submodule_are_there_and_a_merge_does_not_replace_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    project = submodule(tmp_path)
    space, before = await lay_out(project, tmp_path, sandbox)
    assert await space.read('vendor/lib/lib.py') == b'x = 1\n'
    await space.write('vendor/lib/lib.py', b'x = 2\n')
    await space.write('a.txt', b'b\n')
    merge = await merge_of(project, space, before)
    with pytest.raises(WorkspaceError, match=r'vendor/lib/lib.py is in the submodule vendor/lib'):
        await merge.preview('main')
    preview = await merge.preview('feature', only=['a.txt'])
    await merge.commit('feature', 'x', onto=preview.onto, only=['a.txt'])
    assert git(project, 'diff', '--name-only', 'main', 'feature').split() == ['a.txt']


async def test_a_changed_line_of_a_file_with_crlf_is_one_line(sandbox: Sandbox, tmp_path: Path) -> None:
    space, _ = await lay_out(crlf(tmp_path), tmp_path, sandbox)
    await inside(sandbox, space, r'printf "three\r\n" >> a.txt')
    assert (await inside(sandbox, space, 'git diff --shortstat')).endswith('1 insertion(+)')


async def test_a_preview_writes_to_no_storage_of_a_filter(sandbox: Sandbox, tmp_path: Path) -> None:
    project = filtered(tmp_path)
    space, before = await lay_out(project, tmp_path, sandbox)
    await space.write('big.bin', b'1' * 3_000)
    storage = project / '.git' / 'lfs'
    storage.joinpath('objects').rmdir()
    storage.rmdir()
    merge = await merge_of(project, space, before)
    preview = await merge.preview('main')
    assert preview.paths == ('big.bin',) and not storage.exists()
    await merge.commit('main', 'x', onto=preview.onto)
    assert storage.exists()


async def test_a_patch_of_an_odd_name_applies(sandbox: Sandbox, tmp_path: Path) -> None:
    project = odd(tmp_path)
    space, before = await lay_out(project, tmp_path, sandbox)
    await space.write(ODD, b'two\n')
    patch = format_patch(diff_snapshots(space.objects, before, await space.snapshot()))
    (project.parent / 'patch').write_bytes(patch.encode())
    git(project, 'apply', '../patch')
    assert (project / ODD).read_bytes() == b'two\n'
