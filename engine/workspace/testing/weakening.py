"""Whether a project's tests have been weakened since a snapshot."""

from __future__ import annotations

import ast
import asyncio
import json
import posixpath
import re
import tomllib
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from engine.workspace.workspace import Workspace

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
        name = posixpath.basename(path)
        if name == 'pyproject.toml' or not {*command.split()}.isdisjoint(RUNNERS.get(name, ())):
            parts = [
                _settings(name, await workspace.load(version.digest)) if version else None
                for version in (old, new)
            ]
            changes += [f'{path} runs other tests'] if parts[0] != parts[1] else []
    return changes


def _settings(name: str, data: bytes) -> Any:
    """Return the part of a file that determines which tests run; None if it has none."""
    try:
        if name == 'pyproject.toml':
            return tomllib.loads(data.decode()).get('tool', {}).get('pytest')
        if name == 'package.json':
            package = json.loads(data)
            return {part: package.get(part) for part in ('scripts', 'jest', 'mocha', 'vitest')}
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
