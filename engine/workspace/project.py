"""Projects: copied into agents' folders from a sample, or from a folder that is open to runs."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from engine.errors import WorkspaceError
from engine.workspace.directories import (
    FILES_VARIABLE,
    MEBIBYTE,
    SIZE_VARIABLE,
    folder_limits,
    project_limits,
)
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace

SAMPLES = Path(__file__).parents[2] / 'assets' / 'scenarios' / 'projects'
SAMPLE = 'sample:'
"""Prefix of a sample's name."""
SKIPPED_DIRS = frozenset(
    {'.git', '.hg', '.svn', '.venv', 'venv', 'node_modules', '__pycache__', '.mypy_cache', '.ruff_cache'}
    | {'.pytest_cache', '.tox', '.nox'}
)
"""Folders that are not copied: they can be regenerated, or hold more than the project's files."""
PLAIN_ADVICE = (
    'give a subfolder, or move out of it what is not needed (.gitignore makes no difference here; '
    f'{", ".join(sorted(SKIPPED_DIRS))} do not count)'
)
GIT_ADVICE = 'give a subfolder, or list in .gitignore what is not needed and git does not track'
GIT_AUTHOR = '-c user.name=Hemicycle -c user.email=hemicycle@localhost'
GIT_ADD = 'git -c core.bigFileThreshold=1 -c core.compression=1 add -A'
"""Writes one pack, as for big files: a file per object would double the number of files in a folder."""
GIT_INIT = (
    f'git init -q -b main . && {GIT_ADD} && git {GIT_AUTHOR} commit -q --allow-empty -m "Initial state"'
)
GIT_LIMITS = Limits(seconds=600, file_size=2048 * MEBIBYTE)
"""Limits of git while it sets up a folder."""
VARIABLE: Final = 'HEMICYCLE_PROJECTS'
"""Lists the open folders, separated by colons; everything beneath them is open, too."""


def samples() -> list[str]:
    """List the samples, as named in parameters: `sample:calc`."""
    return sorted(f'{SAMPLE}{path.name}' for path in SAMPLES.glob('*') if path.is_dir())


def check_project(project: str) -> str:
    """Validate a launch form's project. Raises `ValueError` for an unknown sample or a closed folder."""
    if project.startswith(SAMPLE) and project not in samples():
        raise ValueError(f'there is no {project!r}; available: {", ".join(samples()) or "none"}')
    if project and not project.startswith(SAMPLE):
        try:
            check_open(Path(project).expanduser())
        except WorkspaceError as error:
            raise ValueError(str(error)) from None
    return project


def check_file(name: str) -> str:
    """Validate a launch form's file. Raises `ValueError` if it does not exist or is not open."""
    try:
        if sample_file(name).is_file():
            return name
    except WorkspaceError as error:
        raise ValueError(str(error)) from None
    raise ValueError(f'there is no file {name!r}')


async def copy_project(
    project: str,
    workspace: Workspace,
    *,
    history: Sandbox | None = None,
    listed: Collection[str] | None = None,
    over: str = '',
) -> str:
    """Copy a project's files into a folder.

    Args:
        project: the path of a folder on this machine, or `sample:` followed by a sample's name.
        workspace: the destination. Links, devices and pipes are left out.
        history: runs git, which makes the folder a repository with one commit, to show agents their
            changes; by default it becomes none.
        listed: the paths to copy; by default all files.
        over: a snapshot whose files are then laid over them: they count as the project's.

    Returns:
        The id of the folder's snapshot.

    Raises:
        WorkspaceError: the project does not exist or is too big.
        ToolError: something other than a file is where one is laid.
    """
    root = find_project(project)
    await workspace.copy_in(root, await folder_paths(root, listed))
    await workspace.make()
    await workspace.lay(over)
    if history is not None:
        ran = await history.run(['sh', '-c', GIT_INIT], workspace, Confinement(limits=GIT_LIMITS))
        if ran.code != 0:
            raise WorkspaceError(
                f'git could not make a history of {project}: {ran.output.strip()[-300:] or ran.summary}'
            )
    return await workspace.snapshot()


async def find_left_out(project: str) -> list[str]:
    """List the links, devices and pipes of a project, which are not copied. Raises `WorkspaceError`."""
    root = find_project(project)
    return await asyncio.to_thread(lambda: [path for path, status in _walk(root) if not _is_file(status)])


async def project_paths(project: str, listed: Collection[str] | None = None) -> list[str]:
    """List the files of a project that would be copied. Raises `WorkspaceError`."""
    return await folder_paths(find_project(project), listed)


async def project_digests(project: str, listed: Collection[str] | None = None) -> dict[str, str]:
    """Return the digests of the files of a project that would be copied. Raises `WorkspaceError`."""
    root, paths = find_project(project), await project_paths(project, listed)

    def digest(path: str) -> str:
        with (root / path).open('rb') as file:
            return hashlib.file_digest(file, 'sha256').hexdigest()

    return await asyncio.to_thread(lambda: {path: digest(path) for path in paths})


async def folder_paths(root: Path, listed: Collection[str] | None = None) -> list[str]:
    """List the files of a folder that would be copied if it were a project. Raises `WorkspaceError`."""
    return await asyncio.to_thread(_files_to_copy, root, listed)


def find_project(project: str) -> Path:
    """Return the folder of a project. Raises `WorkspaceError` if it does not exist or is not open to runs."""
    name = project.removeprefix(SAMPLE)
    if name == project:
        root = check_open(Path(project).expanduser())
    elif project in samples():
        root = SAMPLES / name
    else:
        raise WorkspaceError(f'there is no sample {name!r}; available: {", ".join(samples()) or "none"}')
    if not root.is_dir():
        raise WorkspaceError(f'there is no folder {project!r}')
    return root


def missing_projects(projects: Mapping[str, str]) -> dict[str, str]:
    """Return why each unusable project cannot be used here; '' means no project and is skipped."""
    problems = {}
    for name, project in projects.items():
        try:
            if project:
                find_project(project)
        except WorkspaceError as error:
            problems[name] = str(error)
    return problems


async def oversized_projects(
    projects: Mapping[str, str], listings: Mapping[str, Collection[str] | None], *, copies: int = 1
) -> dict[str, str]:
    """Return why each project that is too big cannot be copied.

    Args:
        projects: the projects, by the name of their parameter.
        listings: the files to copy, by the same names; by default all.
        copies: how many copies are in one folder.
    """
    problems = {}
    for name, project in projects.items():
        try:
            if project:
                root, listed = find_project(project), listings.get(name)
                await asyncio.to_thread(_files_to_copy, root, listed, copies=copies)
        except WorkspaceError as error:
            problems[name] = str(error)
    return problems


def sample_file(name: str) -> Path:
    """Return a file by its path, or a bundled one by `sample:` and its path among the scenarios.

    Raises:
        WorkspaceError: it is not open to runs.
    """
    place = name.removeprefix(SAMPLE)
    if place == name:
        return check_open(Path(name).expanduser())
    path = (SAMPLES.parent / place).resolve()
    return path if path.is_relative_to(SAMPLES.parent.resolve()) else SAMPLES / 'none'


def _files_to_copy(root: Path, listed: Collection[str] | None = None, *, copies: int = 1) -> list[str]:
    entries = _walk(root) if listed is None else _statuses(root, sorted(listed))
    files = {path: status.st_size for path, status in entries if _is_file(status)}
    count, size = len(files), sum(files.values())
    for times, (most_files, most_bytes) in ((1, project_limits()), (copies, folder_limits())):
        if count * times > most_files or size * times > most_bytes:
            raise WorkspaceError(
                f'{root.name} is too big: it has {count:,} files and {size / MEBIBYTE:,.1f} MiB, and at most '
                f'{most_files:,} and {most_bytes // MEBIBYTE:,} MiB are copied'
                f'{f" into one folder, which gets {times} copies" if times > 1 else ""}; '
                f'{PLAIN_ADVICE if listed is None else GIT_ADVICE}, '
                f'or raise {FILES_VARIABLE} or {SIZE_VARIABLE}'
            )
    return list(files)


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is in a folder by its path, without folders; the files of each together."""
    for around, folders, names in os.walk(root):
        inner = os.path.relpath(around, root)
        folders[:] = sorted(set(folders) - SKIPPED_DIRS)
        links = [name for name in folders if os.path.islink(os.path.join(around, name))]
        yield from _statuses(root, (os.path.normpath(f'{inner}/{name}') for name in sorted(names + links)))


def _statuses(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield path, os.lstat(root / path)


def _is_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)


class _Process:
    closed = False
    private: Path | None = None


def close_folders(closed: bool = True, *, private: Path | None = None) -> None:
    """Restrict runs of this process to files from the folders named in `HEMICYCLE_PROJECTS`.

    Without this, all folders are open unless the variable is set. `private` is then never open. The setting
    is global to the process, because validators of patterns' inputs consult it and have no conductor.
    """
    _Process.closed, _Process.private = closed, private


def open_folders() -> list[Path] | None:
    """Return the folders that are open; None if all are."""
    named = os.environ.get(VARIABLE)
    if named is None and not _Process.closed:
        return None
    return [Path(folder.strip()).expanduser() for folder in (named or '').split(os.pathsep) if folder.strip()]


def check_open(path: Path) -> Path:
    """Return `path` if it is open to runs. Raises `WorkspaceError` if not, or if a link leads out."""
    folders = open_folders()
    if folders is None:
        return path
    real, private = path.resolve(), _Process.private
    is_named = any(real.is_relative_to(folder.resolve()) for folder in folders)
    if not is_named or (private and _overlap(real, private.resolve())):
        named = ', '.join(map(str, folders)) or 'none'
        raise WorkspaceError(
            f'{str(path)!r} is not open to runs here: {VARIABLE} names the folders that are ({named})'
        )
    return path


def _overlap(first: Path, second: Path) -> bool:
    return first.is_relative_to(second) or second.is_relative_to(first)
