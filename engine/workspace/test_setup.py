"""Detects a project's test command and dependencies, and whether its tests have been weakened."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import Any

from engine.errors import WorkspaceError
from engine.workspace.confined_dir import SANDBOX_PATH
from engine.workspace.project import find_project, folder_paths
from engine.workspace.sandbox.test_run import PYTEST
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import DEPENDENCIES

PYTHON_TEST = re.compile(r'(^|/)(test_[^/]*|[^/]*_test)\.py$')
TEST_FILE = re.compile(
    r'(^|/)(tests?|__tests__|specs?)/|(^|/)(test_[^/]*|conftest)\.py$|[._](test|spec)\.\w+$|(^|/)test\.sh$'
    r'|(^|/)(pytest\.ini|tox\.ini|setup\.cfg)$'
)
"""Test files, and the files that configure which tests run."""
SKIPS = re.compile(r'skip|xfail|\b(xit|xdescribe|todo)\b|collect_ignore|deselect|--ignore', re.I)
"""Markers that skip a test without removing it."""
CONFIGURATION = re.compile(r'(^|/)(conftest\.py|\.?pytest\.ini|tox\.ini|setup\.cfg)$')
"""Files whose mere presence can determine which tests run."""
RUNNERS = {'Makefile': ('make',), 'package.json': ('npm', 'pnpm', 'yarn')}
"""Files that define what a test command does, and those commands."""
INSTALL = {'pnpm-lock.yaml': 'pnpm install', 'yarn.lock': 'yarn install', 'package-lock.json': 'npm ci'}
MAKE_VENV = 'python3 -m venv .venv && .venv/bin/pip install'
NPM = {'pnpm-lock.yaml': 'pnpm test', 'yarn.lock': 'yarn test'}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSetup:
    """A project's test setup, as detected from its files."""

    __test__ = False

    command: str = ''
    """A shell command; '' means this installation's pytest."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Dependency folders outside the copy, and where each is mounted."""
    install: str = ''
    """The command that installs missing dependencies; '' if none are missing."""

    @property
    def note(self) -> str:
        """The test command found, for a launch form."""
        detected = f'Found: {self.command}' if self.command else 'Found: pytest, bundled with Hemicycle'
        missing = f'Its dependencies are missing: install them below, or run “{self.install}” in the project'
        return f'{detected}. {missing}.' if self.install else f'{detected}.'

    @property
    def install_note(self) -> str:
        """The install command found, for a launch form."""
        return f'Found: {self.install}' if self.install else 'Found: nothing to install'


async def detect_tests(project: str) -> TestSetup:
    """Detect how a project's tests run. Raises `WorkspaceError` if there is no project."""
    return await _detect_in(find_project(project))


async def _detect_in(root: Path) -> TestSetup:
    files = await folder_paths(root)
    setup = await asyncio.to_thread(_detect, root, files)
    return replace(setup, install=await asyncio.to_thread(_missing, root, files))


async def dependency_mounts(project: str, workspace: Workspace) -> Mapping[str, str]:
    """Return the mounts for a project's dependencies: those its run has installed, or the project's own.

    Empty if neither exists any longer.
    """
    own = workspace.folder.parent / DEPENDENCIES
    try:
        return (await (_detect_in(own) if own.is_dir() else detect_tests(project))).mounts
    except WorkspaceError:
        return {}


async def changed_tests(workspace: Workspace, snapshot: str, command: str = '') -> list[str]:
    """Report how tests were weakened since a snapshot: removed files, or files that test or run less.

    New tests are ignored; new files that configure which tests run are reported.

    Args:
        workspace: the folder.
        snapshot: the earlier snapshot.
        command: the test command; '' means this installation's pytest.
    """
    current = await workspace.snapshot()
    now = {file.path: file for file in await workspace.snapshot_files(current, other=snapshot)}
    before = {file.path: file for file in await workspace.snapshot_files(snapshot, other=current)}
    changes = []
    for path in sorted(now.keys() | before.keys()):
        old, new = before.get(path), now.get(path)
        if (old and old.target is not None) or (old and new and old.digest == new.digest):
            continue
        if old is None:
            changes += [f'{path} was added'] if CONFIGURATION.search(path) else []
        elif new is None:
            changes += [f'{path} was removed'] if TEST_FILE.search(path) else []
        elif TEST_FILE.search(path):
            texts = await workspace.load(old.digest), await workspace.load(new.digest)
            changes += [f'{path} was changed'] if await asyncio.to_thread(_is_weaker, path, *texts) else []
        if path == 'pyproject.toml' or command.partition(' ')[0] in RUNNERS.get(path, ()):
            parts = [
                _settings(path, await workspace.load(version.digest)) if version else None
                for version in (old, new)
            ]
            changes += [f'{path} runs other tests'] if parts[0] != parts[1] else []
    return changes


def _settings(path: str, data: bytes) -> Any:
    """Return the part of a file that determines which tests run; None if it has none."""
    try:
        if path == 'pyproject.toml':
            return tomllib.loads(data.decode()).get('tool', {}).get('pytest')
        if path == 'package.json':
            package = json.loads(data)
            return {name: package.get(name) for name in ('scripts', 'jest', 'mocha', 'vitest')}
    except (ValueError, AttributeError):
        pass
    return data


def _is_weaker(path: str, before: bytes, after: bytes) -> bool:
    """Return whether lines were removed or changed, or added lines skip tests or redefine their functions."""
    if path.endswith('.py') and not _functions(before).items() <= _functions(after).items():
        return True
    old, new = (data.decode(errors='replace').split('\n') for data in (before, after))
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != 'insert' and any(line.strip() for line in old[start:end] if kind != 'equal'):
            return True
        if kind != 'equal' and any(SKIPS.search(line) for line in new[first:last]):
            return True
    return False


def _functions(source: bytes) -> dict[str, str]:
    """Return the syntax tree of each function in a Python file by full name; the last definition wins."""
    functions: dict[str, str] = {}

    def walk(body: Sequence[ast.stmt], inside: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                walk(node.body, f'{inside}{node.name}.')
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions[f'{inside}{node.name}'] = ast.dump(node)

    try:
        walk(ast.parse(source).body, '')
    except (SyntaxError, ValueError):
        return {}
    return functions


def _detect(root: Path, files: Sequence[str]) -> TestSetup:
    if any(PYTHON_TEST.search(name) for name in files):
        return _python(root)
    modules = root / 'node_modules'
    mounts = {str(modules): f'{SANDBOX_PATH}/node_modules'} if _is_own(root, modules) else {}
    if 'package.json' in files and _npm_script(root / 'package.json'):
        command = next((line for lock, line in NPM.items() if lock in files), 'npm test --silent')
        return TestSetup(command=command, mounts=mounts)
    for name, command in (('Cargo.toml', 'cargo test --offline'), ('go.mod', 'go test ./...')):
        if name in files:
            return TestSetup(command=command)
    if 'Makefile' in files and re.search(
        r'^test\s*:', (root / 'Makefile').read_text('utf-8', 'replace'), re.M
    ):
        return TestSetup(command='make test', mounts=mounts)
    if 'test.sh' in files:
        return TestSetup(command='sh test.sh', mounts=mounts)
    return TestSetup()


def _missing(root: Path, files: Sequence[str]) -> str:
    """Return the command that installs the project's dependencies, if nothing is installed yet."""
    if any((root / name).is_dir() for name in ('node_modules', '.venv', 'venv')):
        return ''
    if 'package.json' in files and _names_packages(root / 'package.json'):
        return next((line for lock, line in INSTALL.items() if lock in files), 'npm install')
    if 'uv.lock' in files:
        return 'uv sync'
    if 'requirements.txt' in files:
        return f'{MAKE_VENV} -r requirements.txt'
    if 'pyproject.toml' in files and _names_dependencies(root / 'pyproject.toml'):
        return f'{MAKE_VENV} -e .'
    return ''


def _names_packages(path: Path) -> bool:
    try:
        named = json.loads(path.read_bytes())
    except (ValueError, OSError):
        return False
    return isinstance(named, dict) and any(named.get(part) for part in ('dependencies', 'devDependencies'))


def _names_dependencies(path: Path) -> bool:
    try:
        project = tomllib.loads(path.read_text('utf-8')).get('project', {})
    except (ValueError, OSError):
        return False
    return isinstance(project, dict) and bool(project.get('dependencies'))


def _npm_script(path: Path) -> bool:
    """Return whether `npm test` does anything."""
    try:
        script = json.loads(path.read_bytes())['scripts']['test']
    except (ValueError, LookupError, TypeError, OSError):
        return False
    return isinstance(script, str) and 'no test specified' not in script


def _python(root: Path) -> TestSetup:
    """Use the project's virtual environment, if any, with its pytest, ours on its packages, or unittest."""
    for name in ('.venv', 'venv'):
        python = root / name / 'bin' / 'python'
        packages = next((root / name).glob('lib/python*/site-packages'), None)
        if packages is None or not python.exists() or not _is_own(root, root / name):
            continue
        mounts = {str(root / name): str(root / name)}
        if (packages / 'pytest').is_dir():
            return TestSetup(command=shlex.join([str(python), *PYTEST[1:]]), mounts=mounts | _prefix(python))
        if packages.parent.name == f'python{sys.version_info[0]}.{sys.version_info[1]}':
            return TestSetup(
                command=f'PYTHONPATH={shlex.quote(str(packages))} {shlex.join(PYTEST)}', mounts=mounts
            )
        return TestSetup(command=f'{shlex.quote(str(python))} -m unittest', mounts=mounts | _prefix(python))
    return TestSetup()


def _prefix(python: Path) -> dict[str, str]:
    """Return the mounts for a virtual environment's interpreter, if outside the system's folders."""
    prefix = PurePosixPath(os.path.realpath(python)).parent.parent
    home = os.path.realpath(Path.home())
    if str(prefix).startswith('/usr') or os.path.commonpath([home, prefix]) == str(prefix):
        return {}
    links = {str(prefix)}
    target = python
    for _ in range(10):  # A link may lead through others, such as `3.11` to `3.11.7`.
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
        links.add(str(target.parent.parent))
    return {
        place: place for place in links if os.path.commonpath([home, place]) != place and _is_python(place)
    }


def _is_own(root: Path, folder: Path) -> bool:
    """Return whether a folder is really inside the project: a link could otherwise mount any folder."""
    return folder.is_dir() and folder.resolve().is_relative_to(root.resolve())


def _is_python(prefix: str) -> bool:
    """Return whether Python is installed there; the path comes from the environment and cannot be trusted."""
    return next(Path(prefix).glob('lib/python*/os.py'), None) is not None
