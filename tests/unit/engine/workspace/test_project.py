"""Projects are copied whole, without generated files, and within limits."""

import pytest

from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import Workspaces
from engine.workspace import project as projects
from engine.workspace.project import copy_project, samples


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


async def test_every_sample_can_be_copied(tmp_path):
    for number, name in enumerate(samples()):
        await copy_project(name, Workspaces(tmp_path).of(RunId(f'run{number}'), 'agent'))
