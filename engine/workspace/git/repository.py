"""The user's repository, read with git's plumbing commands; none of its hooks or monitors are run."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import WorkspaceError

TIMEOUT_SECONDS = 120.0
CONFIG_OVERRIDES = (
    '-c', 'core.hooksPath=/dev/null',
    '-c', 'core.fsmonitor=false',
    '-c', 'core.quotePath=false',
    '-c', 'gc.auto=0',
    '-c', 'maintenance.auto=false',
    '-c', 'commit.gpgSign=false',
)  # fmt: skip
"""Repository settings that we override, since an agent's files could affect them."""
DROPPED = ('GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_NAMESPACE',
           'GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_CONFIG_COUNT', 'GIT_CONFIG_PARAMETERS')  # fmt: skip

LINK, SUBMODULE = '120000', '160000'
"""Modes in an index."""
CONVERSIONS = r'^core\.(autocrlf|eol|filemode|ignorecase|precomposeunicode)$'


class GitFailed(WorkspaceError):
    """A git command failed; `code` is its exit status, `output` its standard output."""

    def __init__(self, problem: str, code: int, output: bytes = b'') -> None:
        self.code, self.output = code, output
        super().__init__(problem)


async def git(
    folder: Path, *arguments: str, input_data: bytes | None = None, variables: Mapping[str, str] | None = None
) -> bytes:
    """Run git in a folder; returns its standard output. Raises `GitFailed`."""
    if shutil.which('git') is None:
        raise GitFailed('there is no git here: install it (apt install git)', 127)
    inherited = {name: value for name, value in os.environ.items() if name not in DROPPED}
    plain = {'GIT_TERMINAL_PROMPT': '0', 'GIT_OPTIONAL_LOCKS': '0', 'LC_ALL': 'C.UTF-8'}
    process = await asyncio.create_subprocess_exec(
        'git',
        *CONFIG_OVERRIDES,
        *arguments,
        cwd=folder,
        env={**inherited, **plain, **(variables or {})},
        stdin=asyncio.subprocess.DEVNULL if input_data is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(input_data), TIMEOUT_SECONDS)
    except TimeoutError:
        raise GitFailed(f'git {arguments[0]} took longer than {TIMEOUT_SECONDS:g} s', 124) from None
    finally:
        if process.returncode is None:
            process.kill()
        process._transport.close()  # type: ignore[attr-defined]  # a child of git may hold the other end
        await process.wait()
    if process.returncode:
        words = ' '.join(errors.decode('utf-8', 'replace').split())[-600:]
        problem = f'git {arguments[0]}: {words or f"it ended with {process.returncode}"}'
        raise GitFailed(problem, process.returncode, output)
    return output


def lfs_storage(place: str) -> dict[str, str]:
    """Return the variables by which filters of Git LFS write to `place` instead of to the repository."""
    return {'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'lfs.storage', 'GIT_CONFIG_VALUE_0': place}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A folder under version control."""

    root: Path
    """The top-level folder of its working tree."""
    prefix: str
    """The project's path in it, with a trailing slash; '' if the project is the whole tree."""
    head: str
    """The commit checked out."""
    branch: str
    """The branch checked out; '' if there is none."""

    @classmethod
    async def find(cls, folder: Path) -> Repository | None:
        """Find the repository of a folder; None if it has none, or one without commits."""
        try:
            output = await git(folder, 'rev-parse', '--show-toplevel', '--show-prefix', '--verify', 'HEAD')
        except GitFailed:
            return None
        root, prefix, head = output.decode('utf-8', 'surrogateescape').split('\n')[:3]
        try:
            branch = (await git(folder, 'symbolic-ref', '-q', '--short', 'HEAD')).decode().strip()
        except GitFailed:
            branch = ''
        return cls(root=Path(root), prefix=prefix, head=head, branch=branch)

    async def files(self) -> list[str]:
        """List the files in the project's folder that git tracks or would track; excludes ignored ones.

        Includes the files of submodules that are checked out.
        """
        paths = set(await self._names('ls-files', '-z', '--cached', '--others', '--exclude-standard'))
        for path in await self.submodules():
            folder = self.root / self.prefix / path
            if (folder / '.git').exists() and (inner := await Repository.find(folder)):
                paths |= {f'{path}/{name}' for name in await inner.files()}
        return sorted(paths)

    async def submodules(self) -> list[str]:
        """List the submodules in the project's folder."""
        return await self._tracked(SUBMODULE)

    async def links(self) -> list[str]:
        """List the symbolic links in the project's folder that git tracks."""
        return await self._tracked(LINK)

    async def uncommitted(self) -> list[str]:
        """List the project's files that differ from the commit checked out, and those git does not track."""
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as place:
            changed = await self._names('diff', '--name-only', '-z', '--relative', '--no-renames',
                                        '--no-ext-diff', '--ignore-submodules=all', 'HEAD', '--',
                                        variables=lfs_storage(place))  # fmt: skip
        others = await self._names('ls-files', '-z', '--others', '--exclude-standard')
        return changed + [path for path in others if not path.endswith('/')]

    async def conversions(self) -> str:
        """Return the settings by which git reads files of the working tree, as lines for `[core]`."""
        try:
            output = await git(self.root, 'config', '-z', '--get-regexp', CONVERSIONS)
        except GitFailed:
            return ''
        settings = [entry.partition('\n') for entry in output.decode('utf-8', 'replace').split('\0') if entry]
        return ''.join(f'\t{name.removeprefix("core.")} = {value or "true"}\n' for name, _, value in settings)

    async def _tracked(self, mode: str) -> list[str]:
        staged = await self._names('ls-files', '-z', '--stage')
        return [entry.partition('\t')[2] for entry in staged if entry.startswith(mode)]

    async def _names(self, *command: str, variables: Mapping[str, str] | None = None) -> list[str]:
        output = await git(self.root / self.prefix, *command, variables=variables)
        return [name for name in output.decode('utf-8', 'surrogateescape').split('\0') if name]

    async def find_ignored(self, paths: list[str]) -> set[str]:
        """Return those of the project's `paths` that git ignores."""
        if not paths:
            return set()
        listed = '\0'.join(paths).encode('utf-8', 'surrogateescape')
        try:
            output = await git(
                self.root / self.prefix, 'check-ignore', '-z', '--stdin', '--no-index', input_data=listed
            )
        except GitFailed as error:
            if error.code == 1:
                return set()
            raise
        return set(output.decode('utf-8', 'surrogateescape').split('\0')) - {''}

    async def branches(self) -> list[str]:
        """List its branches, the current one first."""
        listed = await git(self.root, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')
        names = listed.decode('utf-8', 'replace').split()
        return sorted(names, key=lambda name: name != self.branch)

    async def tip(self, branch: str) -> str:
        """Return the latest commit of a branch; '' if there is no such branch."""
        try:
            output = await git(self.root, 'rev-parse', '--verify', '-q', f'refs/heads/{branch}^{{commit}}')
        except GitFailed:
            return ''
        return output.decode().strip()

    async def worktree_of(self, branch: str) -> Path | None:
        """Return the working tree with a branch checked out, if any."""
        listed = (await git(self.root, 'worktree', 'list', '--porcelain')).decode('utf-8', 'surrogateescape')
        for block in listed.split('\n\n'):
            lines = block.splitlines()
            if f'branch refs/heads/{branch}' in lines:
                return Path(lines[0].removeprefix('worktree '))
        return None
