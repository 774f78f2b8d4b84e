"""Merging an agent's work: a preview changes nothing, conflicts are shown, the user's changes are kept."""

from pathlib import Path

import pytest

from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import Resolution, Workspaces
from engine.workspace.git.merge import GitMerge, Work
from engine.workspace.git.repository import Repository
from tests.support.teams.merging import git

pytestmark = pytest.mark.slow
TEXT = ''.join(f'line {number}\n' for number in range(1, 21))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / 'project'
    root.mkdir()
    git(root, 'init', '-q', '-b', 'main')
    (root / 'a.txt').write_text(TEXT)
    (root / 'b.txt').write_text('b\n')
    (root / '.gitignore').write_text('*.log\n')
    (root / 'odd ä name.txt').write_text('odd\n')
    git(root, 'add', '-A')
    git(root, 'commit', '-q', '-m', 'first')
    return root


async def prepare_merge(tmp_path: Path, project: Path, change, *, base: str = '') -> GitMerge:
    """Prepare a merge of `change`, made in an agent's copy of the project."""
    spaces = Workspaces(tmp_path / 'runs')
    folder = spaces.of(RunId('run'), 'agent')
    for path in project.iterdir():
        if path.is_file():
            await folder.write(path.name, path.read_bytes())
    before = await folder.snapshot()
    await change(folder)
    after = await folder.snapshot()
    repository = await Repository.find(project)
    assert repository is not None
    objects = spaces.objects(RunId('run'))
    return GitMerge(repository, Work(objects=objects, before=before, after=after, base=base))


async def edit(folder) -> None:
    await folder.write('a.txt', TEXT.replace('line 20', 'by the agent').encode())
    await folder.write('new/c.sh', b'true\n', executable=True)
    await folder.write('trace.log', b'noise\n')
    await folder.write('odd ä name.txt', b'odder\n')
    await folder.remove('b.txt')


async def test_a_preview_changes_nothing_and_a_merge_updates_the_working_tree(tmp_path, project):
    merge = await prepare_merge(tmp_path, project, edit)
    names = sorted(str(path) for path in project.rglob('*'))
    preview = await merge.preview('main')
    assert sorted(str(path) for path in project.rglob('*')) == names
    assert preview.paths == ('a.txt', 'b.txt', 'new/c.sh', 'odd ä name.txt') and not preview.conflicts
    assert '+by the agent' in preview.patch and 'trace.log' not in preview.patch
    assert preview.checked_out == str(project) and not preview.is_new
    commit = await merge.commit('main', 'Take it', onto=preview.onto)
    assert git(project, 'rev-parse', 'main') == commit
    assert git(project, 'status', '--porcelain') == ''
    assert not (project / 'b.txt').exists() and (project / 'new' / 'c.sh').stat().st_mode & 0o100
    assert git(project, 'log', '--format=%s').split('\n')[:2] == ['Take it', 'first']


async def test_later_user_changes_are_merged_and_conflicts_resolved(tmp_path, project):
    base = git(project, 'rev-parse', 'HEAD')
    merge = await prepare_merge(tmp_path, project, edit, base=base)
    (project / 'a.txt').write_text(TEXT.replace('line 1\n', 'by the user\n'))
    git(project, 'commit', '-qam', 'mine')
    assert not (await merge.preview('main')).conflicts
    (project / 'a.txt').write_text(TEXT.replace('line 20', 'by the user'))
    git(project, 'commit', '-qam', 'mine too')
    now = await Repository.find(project)
    assert now is not None
    merge = GitMerge(now, merge._work)
    preview = await merge.preview('main')
    (conflict,) = preview.conflicts
    assert conflict.path == 'a.txt' and '<<<<<<<' in conflict.text and 'by the agent' in conflict.text
    assert '<<<<<<< main\n' in conflict.text and '>>>>>>> the agent\n' in conflict.text
    with pytest.raises(WorkspaceError, match=r'the text for a\.txt still contains conflict markers'):
        await merge.preview('main', {'a.txt': Resolution(text=conflict.text)})
    with pytest.raises(WorkspaceError, match=r'resolve these first: a\.txt'):
        await merge.commit('main', 'x', onto=preview.onto)
    assert git(project, 'rev-parse', 'main') == preview.onto
    for chosen, expected in [
        (Resolution(side='ours'), 'by the user'),
        (Resolution(side='theirs'), 'by the agent'),
        (Resolution(text='by both\n'), 'by both'),
    ]:
        resolved = await merge.preview('main', {'a.txt': chosen})
        assert not resolved.conflicts
        await merge.commit(f'try-{expected[-4:]}', 'x', onto=preview.onto, resolutions={'a.txt': chosen})
        assert expected in git(project, 'show', f'try-{expected[-4:]}:a.txt')
    assert git(project, 'rev-parse', 'main') == preview.onto


async def test_uncommitted_changes_are_never_overwritten(tmp_path, project):
    merge = await prepare_merge(tmp_path, project, edit)
    (project / 'a.txt').write_text('not committed\n')
    preview = await merge.preview('main')
    with pytest.raises(WorkspaceError, match=r'nothing was merged.*a\.txt'):
        await merge.commit('main', 'x', onto=preview.onto)
    assert (project / 'a.txt').read_text() == 'not committed\n' and (project / 'b.txt').exists()
    assert git(project, 'rev-parse', 'main') == preview.onto


async def test_a_new_branch_leaves_the_working_tree_alone_and_may_take_some_files(tmp_path, project):
    merge = await prepare_merge(tmp_path, project, edit)
    preview = await merge.preview('feature/x', only=['b.txt'])
    assert preview.is_new and preview.paths == ('b.txt',) and not preview.checked_out
    await merge.commit('feature/x', 'x', onto=preview.onto, only=['b.txt'])
    assert (project / 'b.txt').exists()
    assert git(project, 'diff', '--name-status', 'main', 'feature/x').split() == ['D', 'b.txt']
    with pytest.raises(WorkspaceError, match='feature/x has moved'):
        await merge.commit('feature/x', 'x', onto=preview.onto)
    with pytest.raises(WorkspaceError, match='is not a valid branch name'):
        await merge.preview('no such..name')


async def test_no_hook_runs_and_an_agent_cannot_plant_a_git_folder(tmp_path, project):
    hook = project / '.husky' / 'post-merge'
    git(project, 'config', 'core.hooksPath', '.husky')

    async def plant(folder) -> None:
        await folder.write(
            '.husky/post-merge', b'#!/bin/sh\ntouch "$HOME/.planted" ../planted\n', executable=True
        )
        await folder.write('sub/.git/config', b'[core]\n')

    merge = await prepare_merge(tmp_path, project, plant)
    preview = await merge.preview('main')
    assert preview.paths == ('.husky/post-merge',)
    await merge.commit('main', 'x', onto=preview.onto)
    assert hook.exists() and not (project.parent / 'planted').exists()


async def test_merging_existing_work_does_nothing(tmp_path, project):
    merge = await prepare_merge(tmp_path, project, edit)
    preview = await merge.preview('main')
    await merge.commit('main', 'x', onto=preview.onto)
    second_preview = await merge.preview('main')
    assert second_preview.paths == ()
    with pytest.raises(WorkspaceError, match='nothing to merge'):
        await merge.commit('main', 'x', onto=second_preview.onto)
