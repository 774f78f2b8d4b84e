"""Projects: puts the files of a folder, or of a sample, into an agent's folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from engine.commands.limits import Limits
from engine.commands.sandbox import Sandbox
from engine.errors import WorkspaceError
from engine.files.workspace import Workspace

SAMPLES = Path(__file__).parents[2] / 'assets' / 'scenarios' / 'projects'
SAMPLE = 'sample:'
"""Before the name of a sample."""
SKIPPED = frozenset(
    {'.git', '.hg', '.svn', '.venv', 'venv', 'node_modules', '__pycache__', '.mypy_cache', '.ruff_cache'}
    | {'.pytest_cache', '.tox', '.nox'}
)
"""Folders that are left out: they are made anew, or hold more than the files."""
MOST_FILES, MOST_BYTES = 5_000, 100 << 20
PERSON = '-c user.name=Hemicycle -c user.email=hemicycle@localhost'
HISTORY = f'git init -q -b main . && git add -A && git {PERSON} commit -q --allow-empty -m "As it was given"'


def samples() -> list[str]:
    """The samples, as a parameter names them: `sample:calc`."""
    return sorted(f'{SAMPLE}{path.name}' for path in SAMPLES.glob('*') if path.is_dir())


def known(project: str) -> str:
    """A project of a launch form. Raises `ValueError` for a sample that there is not."""
    if project.startswith(SAMPLE) and project not in samples():
        raise ValueError(f'there is no {project!r}; there are: {", ".join(samples()) or "none"}')
    return project


async def lay_out(
    project: str, workspace: Workspace, sandbox: Sandbox | None = None, *, history: bool = False
) -> str:
    """Put a project's files into a folder.

    Args:
        project: the path of a folder on this machine, or `sample:` and a sample's name.
        workspace: the folder that gets the files. A link, a device or a pipe is left out.
        sandbox: what runs git, where there is to be a history.
        history: whether the folder becomes a git repository with one commit: agents see what they changed.

    Returns:
        The id of the folder's snapshot.

    Raises:
        WorkspaceError: there is no such project, or it is too big.
    """
    root = where(project)
    for path in await asyncio.to_thread(lambda: list(_files(root))):
        data = await asyncio.to_thread(path.read_bytes)
        executable = os.access(path, os.X_OK)
        await workspace.write(path.relative_to(root).as_posix(), data, executable=executable)
    await workspace.make()
    if history and sandbox is not None:
        ran = await sandbox.run(['sh', '-c', HISTORY], workspace, limits=Limits(seconds=60))
        if ran.code != 0:
            raise WorkspaceError(f'git made no history of {project}: {ran.output.strip()[-300:] or ran.said}')
    return await workspace.snapshot()


async def paths(project: str) -> list[str]:
    """The files of a project, as they will be laid out. Raises `WorkspaceError`."""
    root = where(project)
    found = await asyncio.to_thread(lambda: list(_files(root)))
    return [path.relative_to(root).as_posix() for path in found]


def where(project: str) -> Path:
    """The folder of a project. Raises `WorkspaceError`."""
    name = project.removeprefix(SAMPLE)
    if name == project:
        root = Path(project).expanduser()
    elif project in samples():
        root = SAMPLES / name
    else:
        raise WorkspaceError(f'there is no sample {name!r}; there are: {", ".join(samples()) or "none"}')
    if not root.is_dir():
        raise WorkspaceError(f'there is no folder {project!r}')
    return root


def sample_file(name: str) -> Path:
    """A file by its path, or one that comes with Hemicycle by `sample:` and its place among the scenarios."""
    place = name.removeprefix(SAMPLE)
    if place == name:
        return Path(name).expanduser()
    path = (SAMPLES.parent / place).resolve()
    return path if path.is_relative_to(SAMPLES.parent.resolve()) else SAMPLES / 'none'


def _files(root: Path) -> Iterator[Path]:
    count = size = 0
    for around, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for path in sorted(Path(around, name) for name in names):
            if path.is_symlink() or not path.is_file():
                continue
            count, size = count + 1, size + path.stat().st_size
            if count > MOST_FILES or size > MOST_BYTES:
                most = f'{MOST_FILES:,} files and {MOST_BYTES >> 20} MB'
                raise WorkspaceError(f'{root.name} is too big: at most {most} can be taken')
            yield path
