"""Detects how a project's tests run, and what they need."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from engine.errors import WorkspaceError
from engine.workspace.confined_dir import SANDBOX_PATH
from engine.workspace.project import find_project, folder_paths
from engine.workspace.testing import python
from engine.workspace.testing.javascript import javascript_of
from engine.workspace.testing.test_setup import TestSetup, is_own, read_text
from engine.workspace.testing.tools import toolchain
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import DEPENDENCIES

MAKE_TEST = re.compile(r'^test\s*:.*((?:\n\t.*)*)', re.M)
"""The rule of a Makefile that runs the tests, and its recipe."""
VENDOR = '.vendor'
"""The folder for installed packages of Rust and Go, which commands see as `vendor`."""
VENDORED = (
    """ --config 'source.crates-io.replace-with="vendor"' --config 'source.vendor.directory="vendor"'"""
)


async def detect_tests(project: str) -> TestSetup:
    """Detect how a project's tests run. Raises `WorkspaceError` if there is no project."""
    return await _detect_in(find_project(project))


async def current_setup(project: str, workspace: Workspace) -> TestSetup:
    """Return a project's setup with the dependencies that its run has installed, or with the project's own.

    Empty if neither exists any longer, or there is no project.
    """
    own = workspace.folder.parent / DEPENDENCIES
    try:
        if own.is_dir():
            return await _detect_in(own)
        return await detect_tests(project) if project else TestSetup()
    except WorkspaceError:
        return TestSetup()


async def _detect_in(root: Path) -> TestSetup:
    return await asyncio.to_thread(_detect, root, await folder_paths(root))


def _detect(root: Path, files: Sequence[str]) -> TestSetup:
    here = {name for name in files if '/' not in name}
    has_python_tests = any(map(python.TEST_FILE.fullmatch, files))
    if has_python_tests and here & python.MANIFESTS:
        return _python(root, files)
    modules = javascript_of(root, files)
    if setup := modules if modules.command else _rust(root, files) or _go(root, files):
        return setup
    rule = MAKE_TEST.search(read_text(root / 'Makefile')) if 'Makefile' in here else None
    if has_python_tests and not (rule and rule[1] and not re.search('py|tox|nox', rule[1])):
        return _python(root, files)
    if rule or 'test.sh' in here:
        return replace(modules, command='make test' if rule else 'sh test.sh')
    if inner := _inner(root, files):
        return inner
    return modules if 'package.json' in here else _python(root, files)


def _python(root: Path, files: Sequence[str]) -> TestSetup:
    setup = python.environment_of(root)
    if setup.python:
        return setup
    install, obstacle = python.install_of(root, files)
    return TestSetup(install=install, obstacle=obstacle)


def _rust(root: Path, files: Sequence[str]) -> TestSetup | None:
    if 'Cargo.toml' not in files:
        return None
    text = read_text(root / 'Cargo.toml')
    command = 'cargo test --offline' + (' --workspace' if '[workspace]' in text else '')
    install = f'cargo vendor {VENDOR}' if 'dependencies]' in text else ''
    return _vendored(root, 'cargo', TestSetup(command=command, install=install), VENDORED)


def _go(root: Path, files: Sequence[str]) -> TestSetup | None:
    if 'go.work' in files:
        used = re.findall(r'^\s*(?:use\s+)?(\.[\w./-]*)\s*$', read_text(root / 'go.work'), re.M)
        modules = ' '.join(shlex.quote(f'{name.rstrip("/")}/...') for name in used)
        return _vendored(root, 'go', TestSetup(command=f'go test {modules}'))
    if 'go.mod' not in files:
        return None
    install = f'go mod vendor -o {VENDOR}' if 'require' in read_text(root / 'go.mod') else ''
    return _vendored(root, 'go', TestSetup(command='go test ./...', install=install))


def _vendored(root: Path, tool: str, setup: TestSetup, options: str = '') -> TestSetup:
    """Add a tool to a setup, and the packages that were installed for it."""
    needed = toolchain(tool)
    setup = replace(setup, path=needed.path, mounts=needed.mounts, obstacle=needed.obstacle)
    if not is_own(root, root / VENDOR):
        return setup
    mounts = {**needed.mounts, str(root / VENDOR): f'{SANDBOX_PATH}/vendor'}
    return replace(setup, command=setup.command + options, mounts=mounts, install='')


def _inner(root: Path, files: Sequence[str]) -> TestSetup | None:
    """Return the setup of a project whose parts are projects in folders of their own."""
    parts: dict[str, TestSetup] = {}
    for folder in sorted({name.partition('/')[0] for name in files if '/' in name}):
        inner = [name.removeprefix(f'{folder}/') for name in files if name.startswith(f'{folder}/')]
        candidates = (detect(root / folder, inner) for detect in (javascript_of, _rust, _go))
        if setup := next((setup for setup in candidates if setup and setup.command), None):
            parts[folder] = setup
    if not parts:
        return None

    def join(lines: Mapping[str, str]) -> str:
        return ' && '.join(f'(cd {shlex.quote(name)} && {line})' for name, line in lines.items() if line)

    return TestSetup(
        command=join({name: setup.command for name, setup in parts.items()}),
        path=tuple(place for setup in parts.values() for place in setup.path),
        mounts={
            source: re.sub(f'^{SANDBOX_PATH}(?=/)', f'{SANDBOX_PATH}/{name}', place)
            for name, setup in parts.items()
            for source, place in setup.mounts.items()
        },
        install=join({name: setup.install for name, setup in parts.items()}),
        obstacle='; '.join(dict.fromkeys(setup.obstacle for setup in parts.values() if setup.obstacle)),
    )
