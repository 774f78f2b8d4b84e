"""Tests of real projects: found, run with their own dependencies, and protected from weakening."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, Conductor, LocalConductor, Status, Transition
from engine.journal import MemoryJournal
from engine.records import Outcome
from engine.workspace import Sandbox
from engine.workspace.project import SAMPLES
from engine.workspace.testing.detection import detect_tests
from engine.workspace.testing.test_setup import is_there
from tests.support.harness import FakeModel, calls, in_turn


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace('__', '/').replace('_dot_', '.')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


async def work(
    pattern: str, project: Path | str, *replies: Any, seen: list[str] | None = None, **parameters: Any
) -> Outcome:
    """The outcome of a run; `seen` collects the tool results of its agent."""
    catalog = Catalog.load()
    model = catalog.models['scripted'] = FakeModel(in_turn(*replies))
    async with LocalConductor(MemoryJournal(), catalog=catalog) as conductor:
        run = (
            await conductor.start(
                pattern, {'request': 'mend it', 'project': str(project), **parameters}, approvals='none'
            )
        ).id
        outcome = await conductor.result(run)
    for part in model.requests[-1].messages if seen is not None else ():
        seen += [item.text for item in part.parts if item.kind == 'result']
    return outcome


RUN = calls(('run_tests', {}))
OVER = 'It is done.\nTASK_COMPLETE'

YARN = 'yarn test' if is_there('yarn') else 'npm test --silent'


@pytest.mark.parametrize(
    ('files', 'command'),
    [
        ({'test_dot_sh': 'true'}, 'sh test.sh'),
        ({'package_dot_json': json.dumps({'scripts': {'test': 'node --test'}})}, 'npm test --silent'),
        ({'package_dot_json': json.dumps({'scripts': {'test': 'x'}}), 'yarn_dot_lock': ''}, YARN),
        ({'package_dot_json': '{}', 'Makefile': 'all:\n\ttrue\ntest: all\n\ttrue\n'}, 'make test'),
        ({'Cargo_dot_toml': ''}, 'cargo test --offline'),
        ({'go_dot_mod': ''}, 'go test ./...'),
        ({'tests__test_a_dot_py': '', 'Makefile': 'test:\n'}, ''),
        ({'a_dot_txt': ''}, ''),
    ],
)
async def test_the_test_command_is_detected(tmp_path: Path, files: dict[str, str], command: str) -> None:
    assert (await detect_tests(str(write(tmp_path, **files)))).command == command


async def test_a_project_in_another_language_ends_well(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(tmp_path, test_dot_sh='grep two a.txt && echo 1 passed', a_dot_txt='one')
    mend = calls(('write_file', {'path': 'a.txt', 'text': 'two'}))
    outcome = await work('debugger', project, RUN, mend, RUN, OVER)
    assert outcome.status is Status.DONE, outcome.error
    assert outcome.memory['given']['test_command'] == 'sh test.sh'
    failed = await work('debugger', project, RUN, OVER, test_command='grep -q three a.txt')
    assert failed.status is Status.FAILED


async def test_a_command_that_reports_no_tests_counts_only_if_a_person_gave_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    project = write(tmp_path, test_dot_sh='echo fine')
    found = await work('builder', project, RUN, OVER, OVER, OVER, OVER)
    assert found.status is Status.FAILED and 'it reported no tests' in found.error
    given = await work('builder', project, RUN, OVER, test_command='sh test.sh')
    assert given.status is Status.DONE, given.error
    (project / 'test.sh').write_text('echo "1 failed, 2 passed" | cat')
    masked = await work('builder', project, RUN, OVER, OVER, OVER, OVER)
    assert masked.status is Status.FAILED and 'its output reports failures' in masked.error


async def test_the_projects_own_packages_are_used(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(tmp_path, test_a_dot_py='import rare\n\ndef test_a():\n    assert rare.VALUE == 7\n')
    venv.create(project / '.venv', with_pip=False, symlinks=True)
    packages = next((project / '.venv').glob('lib/python*/site-packages'))
    (packages / 'rare.py').write_text('VALUE = 7\n')
    outcome = await work('builder', project, RUN, OVER)
    assert outcome.status is Status.DONE, outcome.error
    own = next(path for path in map(Path, sys.path) if (path / 'pytest').is_dir())
    for name in ('pytest', '_pytest', 'pluggy', 'iniconfig', 'packaging', 'pygments'):
        if (own / name).is_dir():
            shutil.copytree(own / name, packages / name)
    if (own / 'py.py').exists():
        shutil.copy(own / 'py.py', packages)
    seen: list[str] = []
    probe = calls(('run_command', {'command': 'python -c "import sys; print(sys.prefix)"'}))
    outcome = await work('builder', project, probe, RUN, OVER, seen=seen)
    assert outcome.status is Status.DONE, outcome.error
    assert seen[0].startswith(f'{project}/.venv\n') and outcome.memory['given']['test_command'] == ''


@pytest.mark.parametrize(
    'action',
    [
        ('run_command', {'command': 'rm tests/test_*.py && echo "def test_a(): pass" > test_b.py'}),
        ('run_command', {'command': 'for f in $(find . -name "test_*.py"); do sed -i "1i import pytest\\n'
                         'pytestmark = pytest.mark.skip" $f; done; echo "def test_a(): pass" > test_b.py'}),
    ],
    ids=['removed', 'skipped'],
)  # fmt: skip
async def test_weakening_tests_fixes_nothing(sandbox: Sandbox, action: tuple[str, Any]) -> None:
    replies = [RUN, calls(action), RUN, OVER]
    outcome = await work('debugger', SAMPLES / 'spans', *replies)
    assert outcome.status is Status.FAILED
    assert 'a run of all tests after the last change, without failures' in outcome.error
    allowed = await work('debugger', SAMPLES / 'spans', *replies, change_tests=True)
    assert allowed.status is Status.DONE


RETURN = """for f in tests/test_*.py; do sed -i 's/^\\(def test.*:\\)$/\\1\\n    return/' $f; done"""
OTHER = 'echo "def test_a(): pass" > test_b.py; '


@pytest.mark.long
@pytest.mark.parametrize(
    ('command', 'message'),
    [
        (RETURN, 'tests/test_spans.py was changed'),
        (f'{OTHER} printf "[pytest]\npython_files = test_b.py\n" > pytest.ini', 'pytest.ini was added'),
        (f'{OTHER} printf "[tool.pytest.ini_options]\npython_files = [\'test_b.py\']\n" > pyproject.toml',
         'pyproject.toml runs other tests'),
        (f'{OTHER} printf "collect_ignore = [\'test_spans.py\']\n" > tests/conftest.py',
         'tests/conftest.py was added'),
    ],
    ids=['returned', 'configured', 'in the project', 'uncollected'],
)  # fmt: skip
async def test_disabled_tests_do_not_count(sandbox: Sandbox, command: str, message: str) -> None:
    replies = [RUN, calls(('run_command', {'command': command})), RUN, OVER]
    results: list[str] = []
    outcome = await work('debugger', SAMPLES / 'spans', *replies, seen=results)
    assert outcome.status is Status.FAILED and any(message in text for text in results), results


@pytest.mark.parametrize(
    'files',
    [
        pytest.param(
            {'package_dot_json': json.dumps({'scripts': {'test': 'false && echo 1 passed'}})},
            id='npm',
            marks=pytest.mark.long,
        ),
        pytest.param({'Makefile': 'test:\n\tfalse && echo 1 passed\n'}, id='make'),
    ],
)
async def test_a_disabled_test_command_does_not_count(
    sandbox: Sandbox, tmp_path: Path, files: dict[str, str]
) -> None:
    project = write(tmp_path, **files)
    change = calls(('run_command', {'command': 'sed -i s/false/true/ Makefile package.json'}))
    outcome = await work('debugger', project, RUN, change, RUN, OVER)
    assert outcome.status is Status.FAILED
    allowed = await work('debugger', project, RUN, change, RUN, OVER, change_tests=True)
    assert allowed.status is Status.DONE, allowed.error


async def test_new_tests_are_welcome(sandbox: Sandbox) -> None:
    add = (
        'f=$(find . -name "test_*.py" | head -1); printf "\\n\\ndef test_more():\\n    assert True\\n" >> $f'
    )
    outcome = await work('debugger', SAMPLES / 'slugs', calls(('run_command', {'command': add})), RUN, OVER)
    assert outcome.status is Status.DONE, outcome.error


@pytest.mark.parametrize(
    ('files', 'install'),
    [
        ({'requirements_dot_txt': 'flask', 'test_a_dot_py': ''}, '.venv/bin/pip install -r requirements.txt'),
        ({'uv_dot_lock': '', 'test_a_dot_py': ''}, 'uv sync --all-packages'),
        ({'pyproject_dot_toml': '[project]\ndependencies = ["flask"]'}, '.venv/bin/pip install -e .'),
        ({'pyproject_dot_toml': '[project]\nname = "x"'}, ''),
        ({'requirements_dot_txt': '', 'setup_dot_py': ''}, 'install -r requirements.txt -e .'),
        (
            {'api__requirements-dev_dot_txt': '', 'docs__requirements_dot_txt': ''},
            '-r api/requirements-dev.txt',
        ),
        ({'package_dot_json': '{"devDependencies": {"jest": "*"}}', 'package-lock_dot_json': ''}, 'npm ci'),
        ({'package_dot_json': '{"dependencies": {"x": "*"}, "scripts": {}}'}, 'npm install'),
        ({'package_dot_json': '{"dependencies": {"x": "*"}}', 'pnpm-lock_dot_yaml': ''}, 'pnpm install'),
        ({'package_dot_json': '{}'}, ''),
        ({'package_dot_json': '{"dependencies": {"x": "*"}}', 'node_modules__x__a_dot_js': ''}, ''),
    ],
)
async def test_missing_dependencies_are_named_with_their_install_command(
    tmp_path: Path, files: dict[str, str], install: str
) -> None:
    detected = await detect_tests(str(write(tmp_path, **files)))
    assert detected.install.endswith(install) and bool(detected.install) == bool(install)
    assert ('It is not installed' in detected.note) == bool(install)


GROUPS = '[dependency-groups]\nweb = ["flask>2"]\ntest = [{include-group = "web"}]'
EXTRAS = '[build-system]\n[project.optional-dependencies]\ntest = ["flask"]'
POETRY = '[tool.poetry.group.dev.dependencies]\nold = "^8.1"\nrare = {version = "~1.2"}'
NOX = 'def tests(s):\n    s.install("flask")\n    s.run("pytest")'


@pytest.mark.parametrize(
    ('file', 'text', 'install'),
    [
        ('pyproject.toml', GROUPS, "install 'flask>2'"),
        ('pyproject.toml', EXTRAS, "install -e '.[test]'"),
        ('pyproject.toml', POETRY, "install 'old>=8.1,<9' 'rare~=1.2.0'"),
        ('tox.ini', '[testenv]\ndeps =\n  -rmore.txt\n  py38: old\n  flask > 2', "-r more.txt 'flask > 2'"),
        ('noxfile.py', NOX, 'install flask'),
    ],
)
async def test_what_tests_need_is_read_from_groups_extras_tox_and_nox(
    tmp_path: Path, file: str, text: str, install: str
) -> None:
    (tmp_path / file).write_text(text)
    assert (await detect_tests(str(tmp_path))).install.endswith(install)


async def test_a_project_of_conda_says_that_it_cannot_be_installed(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(tmp_path, environment_dot_yml='dependencies: [numpy]', test_a_dot_py='')
    assert 'environment.yml is for conda' in (await detect_tests(str(project))).note
    outcome = await work('builder', project, install=True)
    assert outcome.status is Status.FAILED and 'environment.yml is for conda' in outcome.error


def wheel(folder: Path, name: str) -> str:
    """Write a wheel of a module with a value, for pip to install from a folder; returns its name."""
    file = f'{name}-1.0-py3-none-any.whl'
    about = f'{name}-1.0.dist-info'
    with zipfile.ZipFile(folder / file, 'w') as archive:
        archive.writestr(f'{name}.py', 'VALUE = 7\n')
        archive.writestr(f'{about}/METADATA', f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
        archive.writestr(f'{about}/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        archive.writestr(
            f'{about}/RECORD', f'{name}.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n'
        )
    return file


@pytest.mark.long
async def test_dependencies_are_installed_before_the_run_if_allowed(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(tmp_path, test_a_dot_py='import rare\n\ndef test_a():\n    assert rare.VALUE == 7\n')
    (project / 'requirements.txt').write_text(f'./{wheel(project, "rare")}\n')
    refused = await work('builder', project, RUN, OVER)
    assert refused.status is Status.FAILED and refused.memory['messages'] == []
    outcome = await work('builder', project, RUN, OVER, install=True)
    assert outcome.status is Status.DONE, outcome.error
    (message,) = outcome.memory['messages']
    assert (message['kind'], message['recipient']) == ('installed', 'builder')
    assert message['content'].startswith('$ python3 -m venv .venv') and 'rare-1.0' in message['content']
    assert not (project / '.venv').exists(), 'the project itself is unchanged'


async def test_only_the_installation_has_the_network(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(
        tmp_path, test_dot_sh='test ! -e /etc/resolv.conf && test -e node_modules/x/marker && echo 1 passed'
    )
    install = 'test -e /etc/resolv.conf && mkdir -p node_modules/x && touch node_modules/x/marker'
    outcome = await work('builder', project, RUN, OVER, install=True, install_command=install)
    assert outcome.status is Status.DONE, outcome.error


async def test_an_installation_that_fails_ends_the_run_with_its_output(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('PIP_INDEX_URL', 'https://me:secret@index.invalid/simple')
    install = 'echo "Looking in $PIP_INDEX_URL"; exit 3'
    project = write(tmp_path, test_dot_sh='true')
    outcome = await work('builder', project, RUN, OVER, install=True, install_command=install)
    assert outcome.status is Status.FAILED
    assert 'the dependencies were not installed' in outcome.error and 'exit status 3' in outcome.error
    assert 'Looking in https://index.invalid/simple' in outcome.error and 'secret' not in str(outcome.memory)


async def test_links_that_a_copy_lacks_are_named(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(tmp_path, test_dot_sh='echo 1 passed')
    (project / 'link').symlink_to('test.sh')
    outcome = await work('builder', project, RUN, OVER)
    assert outcome.status is Status.DONE, outcome.error
    (message,) = outcome.memory['messages']
    assert message['kind'] == 'left_out' and message['content'].endswith(': link')
    pattern = Catalog.load().pattern('builder')
    notes = await pattern(pattern.parse({'request': 'mend it', 'project': str(project)})).field_notes()
    assert notes['project'].endswith(': link') and notes['install_command'] == 'Found: nothing to install'


async def test_installed_dependencies_survive_a_restart_and_a_fork(sandbox: Sandbox, tmp_path: Path) -> None:
    project = write(tmp_path / 'project', test_dot_sh='test -e node_modules/marker && echo 1 passed')
    parameters = {'request': 'mend it', 'project': str(project), 'install': True}
    parameters['install_command'] = 'mkdir node_modules && touch node_modules/marker'
    journal, files = MemoryJournal(), tmp_path / 'files'

    def conductor(*replies: Any) -> Conductor:
        catalog = Catalog.load()
        catalog.models['scripted'] = FakeModel(in_turn(*replies))
        return LocalConductor(journal, catalog=catalog, workspaces=files)

    async with conductor(asyncio.Event()) as cut_off:
        run = (await cut_off.start('builder', parameters, approvals='none')).id
        async for item in cut_off.watch(run):
            if isinstance(item, Transition) and item.active == ('working.thinking',):
                break
    async with conductor(RUN, OVER, RUN, OVER, RUN, OVER) as successor:
        await successor.recover()
        assert (await successor.result(run)).status is Status.DONE
        at = next(step.seq for step in await successor.transitions(run) if step.event.name == 'recover')
        fork = await successor.fork(run, at)
        assert (await successor.result(fork)).status is Status.DONE
        await successor.delete(run)
        await successor.purge(run)
        orphan = await successor.fork(fork, at)
        assert (await successor.result(orphan)).status is Status.DONE, 'it has a copy of its own'
