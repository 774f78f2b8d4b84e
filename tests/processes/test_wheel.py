"""The built wheel: one package, `hemicycle`, that works next to a project with the same folder names."""

import os
import re
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import DEADLINE, line
from tests.tree import ROOT

PATTERN = '''
"""A pattern as a user writes it."""

from hemicycle import Memory, Pattern


class Tiny(Pattern):
    """Ends at once."""

    initial = 'working'
    answer = 'said'
    states = [{'name': 'working', 'invoke': 'work', 'on_exit': 'keep'}, {'name': 'ended', 'final': True}]
    transitions = [['done', 'working', 'ended']]

    class Memory(Memory):
        said: str = ''

    async def work(self, memory, activity):
        return 'worked'

    def keep(self, memory, event):
        memory.said = event.data['value']
'''


@pytest.fixture(scope='module')
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp('wheel')
    subprocess.run(
        [sys.executable, '-m', 'hatchling', 'build', '-t', 'wheel', '-d', place],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = place.glob('*.whl')
    return built


@pytest.fixture(scope='module')
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel, using the dependencies of ours."""
    place = tmp_path_factory.mktemp('environment')
    venv.create(place, with_pip=False, symlinks=True)
    pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check', '--python', place / 'bin' / 'python']
    subprocess.run([*pip, 'install', '--quiet', '--no-index', '--no-deps', wheel], check=True)
    (site,) = (place / 'lib').glob('python*/site-packages')
    (site / 'needed.pth').write_text(sysconfig.get_path('purelib'))
    return place / 'bin'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages named like those of our repository, and with a pattern."""
    for name in ('api', 'assets', 'engine', 'storage', 'tests', 'ui'):
        (tmp_path / name).mkdir()
        (tmp_path / name / '__init__.py').write_text(f'raise ImportError("the {name} of somebody else")')
    (tmp_path / 'patterns').mkdir()
    (tmp_path / 'patterns' / 'tiny.py').write_text(PATTERN)
    return tmp_path


def environment(project: Path) -> dict[str, str]:
    foreign = ('PYTEST', 'NICEGUI', 'COV_', 'PYTHONPATH', 'HEMICYCLE')
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return inherited | {'HEMICYCLE_HOME': str(project / 'home'), 'HEMICYCLE_PACE': '0'}


def output(project: Path, *command: str | Path) -> str:
    """The output of a command in the project, whose folder comes first on the module path."""
    done = subprocess.run(
        command,
        cwd=project,
        env=environment(project) | {'PYTHONPATH': str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_one_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        rows = {name: file.read(name).decode() for name in names if name.endswith('.py')}
    assert {name.partition('/')[0] for name in names} == {'hemicycle', 'hemicycle-0.1.0.dist-info'}
    assert not [name for name in names if '__pycache__' in name]
    assert 'hemicycle/py.typed' in names and 'hemicycle/assets/web/styles/panels/time.css' in names
    ours = re.compile(r'^\s*(?:from|import) (?:engine|storage|ui)\b', re.MULTILINE)
    assert [name for name, text in rows.items() if '/assets/' not in name and ours.search(text)] == []


def test_the_wheel_works_next_to_packages_of_the_same_names(installed: Path, project: Path) -> None:
    assert output(project, installed / 'python', '-m', 'hemicycle', '--version') == 'hemicycle 0.1.0\n'
    code = 'from hemicycle import Conductor, Pattern; print(Pattern.__module__)'
    assert output(project, installed / 'python', '-c', code) == 'hemicycle.engine.statechart.pattern\n'
    run = ('run', 'tiny', '--patterns', 'patterns')
    assert 'worked' in output(project, installed / 'hemicycle', *run)
    code = 'from hemicycle.engine.patterns.pipeline.pattern import Pipeline; print(Pipeline.title)'
    assert output(project, installed / 'python', '-c', code) == 'Pipeline\n'


@pytest.mark.long
def test_the_help_does_not_import_the_engine(installed: Path, project: Path) -> None:
    code = 'import hemicycle.ui.__main__, sys; print("hemicycle.engine" in sys.modules)'
    assert output(project, installed / 'python', '-c', code) == 'False\n'


@pytest.mark.long
def test_the_installed_command_runs_and_stores_samples(installed: Path, project: Path) -> None:
    task = ('--task', 'Which database suits a small shop?')
    assert output(project, installed / 'hemicycle', 'run', 'pipeline', *task)
    assert 'pipeline' in output(project, installed / 'hemicycle', 'runs', 'list')
    assert 'parallel-review' in output(project, installed / 'hemicycle', 'pattern', 'list')


@pytest.fixture
def address(installed: Path, project: Path) -> Iterator[str]:
    """The address at which the wheel serves its pages."""
    server = subprocess.Popen(
        [installed / 'hemicycle', 'serve', '--port', '0'],
        cwd=project,
        env=environment(project) | {'PYTHONUNBUFFERED': '1'},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output_line = line(server.stdout)
        match = re.search(r'http://\S+', output_line)
        assert match, output_line
        yield match[0].rstrip('/')
    finally:
        server.kill()
        server.communicate()


def test_the_installed_command_serves_pages_with_assets(address: str) -> None:
    with urllib.request.urlopen(address, timeout=DEADLINE) as answer:
        page = answer.read().decode()
    assert 'Hemicycle' in page
    (style, *_) = re.findall(r'href="(/[^"]+\.css[^"]*)"', page) or ['']
    assert style, page[:3000]
    with urllib.request.urlopen(address + style, timeout=DEADLINE) as answer:
        assert b'{' in answer.read()
