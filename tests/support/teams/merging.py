"""Two agents that change one file of a project, for tests of merging."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from engine import Pattern
from engine.records.frozen import Form

TEXT = ''.join(f'{number}\n' for number in range(30))
ONE = TEXT.replace('3\n', 'three\n', 1).replace('25\n', 'late\n')
TWO = TEXT.replace('7\n', 'seven\n', 1)


class Making(Pattern):
    """Two agents change one file of a project whose tests look for a word."""

    class Parameters(Form):
        project: str = ''
        command: str = 'grep -q three a.txt'

    initial = 'preparing'
    states = (
        {'name': 'preparing', 'invoke': 'prepare'},
        {'name': 'working', 'invoke': 'work'},
        {'name': 'over', 'final': True},
    )
    transitions = (['done', 'preparing', 'working'], ['done', 'working', 'over'])

    async def prepare(self, memory: Any, activity: Any) -> dict[str, Any]:
        return await _write(activity, {'one': TEXT, 'two': TEXT})

    async def work(self, memory: Any, activity: Any) -> dict[str, Any]:
        return await _write(activity, {'one': ONE, 'two': TWO}) | {'results': []}


async def _write(activity: Any, texts: dict[str, str]) -> dict[str, Any]:
    snapshots = {}
    for name, text in texts.items():
        folder = activity.workspace(name)
        await folder.write('a.txt', text.encode())
        snapshots[name] = str(await folder.snapshot())
    return {'snapshots': snapshots}


def git(folder: Path, *arguments: str) -> str:
    command = ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def make_project(root: Path) -> Path:
    """A git repository with the file, in a new folder."""
    root.mkdir()
    (root / 'a.txt').write_text(TEXT)
    git(root, 'init', '-q', '-b', 'main')
    git(root, 'add', '-A')
    git(root, 'commit', '-q', '-m', 'first')
    return root
