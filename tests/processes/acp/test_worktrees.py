"""Agents in git worktrees of a real project: isolated, and merged on a person's command."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from engine import Catalog, InvalidInput, LocalConductor, Status
from engine.history import Pick
from engine.models.scripted.library import scenarios
from engine.models.scripted.model import Scripted
from engine.records import RunId
from engine.workspace import Sandbox, Workspaces
from engine.workspace.git.worktree import Worktrees
from storage import open_journal
from tests.support.cli import Hemicycle
from tests.support.harness import HastyClock
from tests.tree import ROOT

SPANS = ROOT / 'assets' / 'scenarios' / 'projects' / 'spans'
RACE = next(sample for sample in scenarios('race') if sample.name == 'spans-race')


def git(folder: Path, *arguments: str) -> str:
    command = ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'safe.directory=*', *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project of the sample, in a repository; one file is not committed, one is ignored."""
    root = tmp_path / 'project'
    subprocess.run(['cp', '-r', str(SPANS), str(root)], check=True)
    git(root, 'init', '-q', '-b', 'main')
    (root / '.gitignore').write_text('.env\n__pycache__/\n')
    (root / 'link').symlink_to('spans.py')
    git(root, 'add', '-A')
    git(root, 'commit', '-q', '-m', 'first')
    (root / 'notes.txt').write_text('not committed\n')
    (root / '.env').write_text('KEY=secret\n')
    return root


async def inside(sandbox: Sandbox, workspace, command: str) -> str:
    ran = await sandbox.run(['sh', '-c', command], workspace)
    return ran.output.strip()


async def test_each_worktree_has_the_history_and_its_own_branch(
    sandbox: Sandbox, project: Path, tmp_path: Path
) -> None:
    state_before = git(project, 'for-each-ref'), git(project, 'status', '--porcelain', '--ignored')
    spaces = Workspaces(tmp_path / 'runs')
    one, two = (spaces.of(RunId('r'), name) for name in ('one', 'two'))
    async with Worktrees.of(str(project)) as trees:
        for name, space in (('one', one), ('two', two)):
            await trees.make(space, sandbox, f'hemicycle/r/{name}')
    assert await inside(sandbox, one, 'git branch --show-current; git log --format=%s') == (
        'hemicycle/r/one\nInitial state\nfirst'
    )
    assert await inside(sandbox, one, 'git status --porcelain; cat notes.txt; readlink link; ls .env') == (
        "not committed\nspans.py\nls: cannot access '.env': No such file or directory"
    )
    tried = (
        f'for place in {two.folder} {project} ../two /workspace/../two; do '
        'echo x > $place/evil.txt; git --git-dir=$place/.git update-ref refs/heads/main HEAD; done; '
        'git worktree list; git push origin HEAD:main; git push . HEAD:refs/heads/hemicycle/r/two; '
        'echo y >> spans.py; git -c user.name=a -c user.email=a commit -qam mine'
    )
    output = await inside(sandbox, one, tried)
    assert output.count('No such file or directory') + output.count('nonexistent') >= 4, output
    assert 'mine' in await inside(sandbox, one, 'git log -1 --format=%s')
    assert await inside(sandbox, two, 'git log -1 --format=%s; git status --porcelain') == 'Initial state'
    assert (git(project, 'for-each-ref'), git(project, 'status', '--porcelain', '--ignored')) == state_before
    assert not list(tmp_path.rglob('evil.txt'))


async def test_a_project_without_git_is_left_unchanged(sandbox: Sandbox, tmp_path: Path) -> None:
    plain = tmp_path / 'plain'
    plain.mkdir()
    (plain / 'a.txt').write_text('a\n')
    space = Workspaces(tmp_path / 'runs').of(RunId('r'), 'one')
    async with Worktrees.of(str(plain)) as trees:
        await trees.make(space, sandbox, 'hemicycle/r/one')
    assert trees.base == {}
    assert await inside(sandbox, space, 'git log --format=%s; git branch --show-current') == (
        'Initial state\nhemicycle/r/one'
    )
    assert [path.name for path in plain.iterdir()] == ['a.txt']


@pytest.mark.long
async def test_four_agents_race_and_the_best_is_merged_by_a_command(
    sandbox: Sandbox, project: Path, tmp_path: Path
) -> None:
    (tmp_path / 'home').mkdir()
    hemicycle = Hemicycle(tmp_path / 'home')
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0)
    before = git(project, 'rev-parse', 'main'), git(project, 'for-each-ref')
    journal, files = await open_journal(hemicycle.database), hemicycle.home / 'workspaces'
    async with LocalConductor(journal, catalog=catalog, clock=HastyClock(), workspaces=files) as conductor:
        parameters = {**RACE.parameters, 'project': str(project)}
        run = (await conductor.start('race', parameters, models=RACE.models, title='Mend the spans')).id
        outcome = await asyncio.wait_for(conductor.result(run), 200)
        assert outcome.status is Status.DONE and outcome.memory['winner'] == 'racer2', outcome.error
        assert await conductor.audit(run)
        mergeable = await conductor.merging.mergeable(run)
        assert mergeable.best == 'racer2' and mergeable.base['branch'] == 'main' and not mergeable.problem
        paths = [file['path'] for file in outcome.memory['candidates']['racer2']['versions'][0]['files']]
        assert 'spans.py' in paths and not any(path.startswith('.git/') for path in paths)
        assert [change.path for change in await conductor.merging.changes(mergeable, 'racer2')] == [
            'spans.py'
        ]
        for agent, passes in (('racer2', True), ('racer1', False)):
            composed = await conductor.merging.compose(
                mergeable, [Pick(path='spans.py', agent=agent, hunks=(0,))]
            )
            assert (await conductor.merging.test(composed, composed.best)).passed is passes
            assert (await conductor.merging.preview(composed)).paths == ('spans.py',)
        with pytest.raises(InvalidInput, match='has 1 changes'):
            await conductor.merging.compose(mergeable, [Pick(path='spans.py', agent='racer2', hunks=(1,))])
    assert (git(project, 'rev-parse', 'main'), git(project, 'for-each-ref')) == before
    dry = await asyncio.to_thread(hemicycle, 'runs', 'merge', run, '--dry-run')
    assert dry.exit_code == 0 and '  spans.py' in dry.output, dry.output
    assert git(project, 'rev-parse', 'main') == before[0]
    words = (await asyncio.to_thread(hemicycle, 'runs', 'merge', run, '--pull-request')).output
    assert words.startswith('# Mend the spans') and '`spans.py`: changed, +1 -1' in words
    patch = (await asyncio.to_thread(hemicycle, 'runs', 'merge', run, '--patch')).output
    assert '+            merged[-1] = (merged[-1][0], max(merged[-1][1], end))' in patch
    done = await asyncio.to_thread(hemicycle, 'runs', 'merge', run)
    assert done.exit_code == 0 and 'Merged into main' in done.output, done.output
    assert 'max(merged[-1][1], end)' in (project / 'spans.py').read_text()
    assert (project / 'notes.txt').read_text() == 'not committed\n'
    assert git(project, 'log', '-1', '--format=%s %b').split()[:3] == ['Mend', 'the', 'spans']


@pytest.mark.parametrize(
    ('pattern', 'changed'), [('builder', ['slugs.py', 'tests/test_unique.py']), ('debugger', ['spans.py'])]
)
async def test_one_agents_changes_are_merged_by_a_command(
    pattern: str, changed: list[str], sandbox: Sandbox, tmp_path: Path
) -> None:
    sample = scenarios(pattern)[0]
    project = tmp_path / 'project'
    folder_name = str(sample.parameters['project']).removeprefix('sample:')
    shutil.copytree(SPANS.parent / folder_name, project)
    git(project, 'init', '-q', '-b', 'main')
    git(project, 'add', '-A')
    git(project, 'commit', '-q', '-m', 'first')
    before = git(project, 'rev-parse', 'main')
    (tmp_path / 'home').mkdir()
    hemicycle = Hemicycle(tmp_path / 'home')
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0)
    journal, files = await open_journal(hemicycle.database), hemicycle.home / 'workspaces'
    async with LocalConductor(journal, catalog=catalog, clock=HastyClock(), workspaces=files) as conductor:
        parameters = {**sample.parameters, 'project': str(project)}
        run = (await conductor.start(pattern, parameters, models=sample.models)).id
        outcome = await asyncio.wait_for(conductor.result(run), 200)
        assert outcome.status is Status.DONE, outcome.error
    assert git(project, 'rev-parse', 'main') == before and git(project, 'status', '--porcelain') == ''
    done = await asyncio.to_thread(hemicycle, 'runs', 'merge', run)
    assert done.exit_code == 0 and 'Merged into main' in done.output, done.output
    assert git(project, 'diff', '--name-only', before.strip(), 'main').split() == changed
