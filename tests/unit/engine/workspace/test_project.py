"""Projects are copied whole, without generated files, and within limits."""

import pytest

from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import Workspaces
from engine.workspace import project as projects
from engine.workspace.directories import folder_limits, snapshot_limits
from engine.workspace.project import copy_project, project_paths, samples


@pytest.fixture
async def workspace(tmp_path):
    return Workspaces(tmp_path / 'runs').of(RunId('run'), 'agent')


@pytest.fixture
def project(tmp_path):
    root = tmp_path / 'project'
    (root / 'src').mkdir(parents=True)
    (root / 'src' / 'a.py').write_text('a = 1\n')
    (root / 'run.sh').write_text('true\n')
    (root / 'run.sh').chmod(0o755)
    (root / '.venv').mkdir()
    (root / '.venv' / 'big').write_text('x')
    (root / 'link').symlink_to('/etc/passwd')
    return root


async def test_files_are_copied_without_links_and_build_products(project, workspace):
    snapshot = await copy_project(str(project), workspace)
    assert snapshot in workspace.objects
    entries = {entry.path: entry.kind for entry in await workspace.entries()}
    assert entries == {'run.sh': 'a file', 'src': 'a folder', 'src/a.py': 'a file'}
    assert (workspace.folder / 'run.sh').stat().st_mode & 0o100


@pytest.mark.parametrize(
    ('name', 'problem'),
    [
        ('/no/such/folder', "there is no folder '/no/such/folder'"),
        ('sample:../x', "there is no sample '../x'"),
    ],
)
async def test_missing_folders_are_named(name, problem, workspace):
    with pytest.raises(WorkspaceError, match=problem):
        await copy_project(name, workspace)


async def test_too_many_files_are_refused_by_name(project, workspace, monkeypatch):
    monkeypatch.setenv(projects.FILES_VARIABLE, '1')
    with pytest.raises(WorkspaceError, match=r'it has 2 files and .* at most 1 .* HEMICYCLE_PROJECT_FILES'):
        await copy_project(str(project), workspace)


@pytest.mark.parametrize(
    ('listed', 'advice'),
    [(None, '.gitignore makes no difference here'), (['run.sh', 'src/a.py'], 'list in .gitignore')],
    ids=['a plain copy', 'a git worktree'],
)
async def test_gitignore_is_advised_only_where_it_is_read(project, monkeypatch, listed, advice):
    (project / '.gitignore').write_text('src\n')
    monkeypatch.setenv(projects.FILES_VARIABLE, '1')
    with pytest.raises(WorkspaceError) as refused:
        await project_paths(str(project), listed)
    assert advice in str(refused.value)


async def test_a_raised_limit_of_projects_raises_those_of_commands_and_snapshots(monkeypatch):
    before = [*folder_limits(), *snapshot_limits()]
    monkeypatch.setenv(projects.FILES_VARIABLE, '300000')
    monkeypatch.setenv(projects.SIZE_VARIABLE, '4000')
    after = [*folder_limits(), *snapshot_limits()]
    assert min(after) > 300_000 and all(more > less for more, less in zip(after, before, strict=True))
    assert after[2] > after[0] and after[3] > after[1]


async def test_a_file_that_cannot_be_read_is_named(project, workspace):
    with pytest.raises(WorkspaceError, match=r'gone\.py cannot be read: No such file'):
        await workspace.copy_in(project, ['run.sh', 'gone.py'])


async def test_every_sample_can_be_copied(tmp_path):
    for number, name in enumerate(samples()):
        await copy_project(name, Workspaces(tmp_path).of(RunId(f'run{number}'), 'agent'))
