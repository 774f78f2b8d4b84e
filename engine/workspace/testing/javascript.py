"""JavaScript projects: their test scripts, with npm, pnpm or yarn, and their workspaces."""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from engine.workspace.confined_dir import SANDBOX_PATH
from engine.workspace.testing.test_setup import TestSetup, is_own, read_text
from engine.workspace.testing.tools import toolchain

LOCKS = {'pnpm-lock.yaml': 'pnpm', 'pnpm-workspace.yaml': 'pnpm', 'yarn.lock': 'yarn'}
"""Files that show which package manager is used instead of npm."""


def javascript_of(root: Path, files: Sequence[str]) -> TestSetup:
    """Return the setup by a project's package.json and installed modules; its command is '' without tests."""
    package = _json(root / 'package.json')
    tool = next((tool for lock, tool in LOCKS.items() if lock in files), '')
    named = str(package.get('packageManager')).partition('@')[0]
    tool = tool or (named if named in LOCKS.values() else 'npm')
    members = _members(root, package, files)
    tested = [name for name in members if _has_tests(_json(root / name / 'package.json'))]
    modules = _mounts(root, members)
    runner = 'npm' if toolchain(tool).obstacle else tool  # which can run the scripts of the others, too
    needed, command = toolchain(runner), _command(runner, tool, package, tested)
    packages = [package, *(_json(root / name / 'package.json') for name in members)]
    wanted = any(item.get(part) for item in packages for part in ('dependencies', 'devDependencies'))
    return TestSetup(
        command=command,
        path=needed.path,
        mounts={**modules, **needed.mounts},
        install=_install(runner, tool, files) if wanted and not modules else '',
        obstacle=needed.obstacle if command else '',
    )


def _mounts(root: Path, members: Sequence[str]) -> dict[str, str]:
    """Return the mounts of what is installed for a project and its workspaces."""
    folders = [Path(name, 'node_modules') for name in ('.', *members)]
    return {str(root / name): f'{SANDBOX_PATH}/{name}' for name in folders if is_own(root, root / name)}


def _command(runner: str, tool: str, package: Mapping[str, Any], members: Sequence[str]) -> str:
    """Return the command by which `runner` runs the test scripts of a project for `tool`."""
    if _has_tests(package):
        return 'npm test --silent' if runner == 'npm' else f'{runner} test'
    if members and runner == tool == 'npm':
        return 'npm test --silent --workspaces --if-present'
    if members and runner == 'pnpm':
        return 'pnpm -r test'
    return ' && '.join(f'npm test --silent --prefix {shlex.quote(name)}' for name in members)


def _install(runner: str, tool: str, files: Sequence[str]) -> str:
    if tool == 'npm':
        return 'npm ci' if 'package-lock.json' in files else 'npm install'
    return f'{tool} install' if runner == tool else f'npx --yes {tool} install'


def _members(root: Path, package: Mapping[str, Any], files: Sequence[str]) -> list[str]:
    """Return the folders of a project's workspaces, relative to it."""
    named = package.get('workspaces')
    patterns = named.get('packages') if isinstance(named, dict) else named
    if not patterns:
        try:
            outline = yaml.safe_load(read_text(root / 'pnpm-workspace.yaml'))
        except yaml.YAMLError:
            outline = None
        patterns = outline.get('packages') if isinstance(outline, dict) else None
    listed = patterns if isinstance(patterns, list) else []
    wanted = [str(item).removeprefix('./').rstrip('/') for item in listed]
    folders = [posixpath.dirname(name) for name in files if name.endswith('/package.json')]
    return [name for name in folders if any(_fits(name, pattern) for pattern in wanted)]


def _fits(folder: str, pattern: str) -> bool:
    same_depth = '**' in pattern or folder.count('/') == pattern.count('/')
    return same_depth and fnmatchcase(folder, pattern)


def _has_tests(package: Mapping[str, Any]) -> bool:
    """Return whether `npm test` does anything."""
    scripts = package.get('scripts')
    script = scripts.get('test') if isinstance(scripts, dict) else None
    return isinstance(script, str) and 'no test specified' not in script


def _json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(read_text(path))
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
