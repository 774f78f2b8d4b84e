"""An agent's worktree of a project: its files, the project's recent history, and its own branch."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from engine.errors import WorkspaceError
from engine.workspace.git.repository import Repository, git
from engine.workspace.project import (
    GIT_ADD,
    GIT_AUTHOR,
    GIT_LIMITS,
    SAMPLE,
    copy_project,
    find_project,
    folder_paths,
    project_paths,
)
from engine.workspace.sandbox.limits import Confinement
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace

DEPTH = 50
"""Number of commits of the project's history that an agent gets."""
COMMIT = f'git {GIT_AUTHOR} commit -q --allow-empty -m "Initial state"'
INIT = f'git init -q && git symbolic-ref HEAD "refs/heads/$1" && {GIT_ADD} && {COMMIT}'
LINKS, STAGED = '.git/hemicycle-links', '.git/hemicycle-staged'
FOLLOW = (
    'set -e; git symbolic-ref HEAD "refs/heads/$1"; git reset -q; '
    # Links are not copied with the files: git checks them out.
    f'git checkout-index -q -u -z --stdin < {LINKS} || true; '
    f'git update-index -z --add --remove --replace --stdin < {STAGED}; rm {LINKS} {STAGED}; '
    f'git diff --cached --quiet || {COMMIT}; '
    # What still differs is unchanged to the user's git: files outside a sparse checkout, and files that pass
    # through a filter that is not set up here, such as Git LFS.
    'git update-index -q --refresh || true; '
    'git diff-files -z --name-only --diff-filter=D | git update-index -z --skip-worktree --stdin; '
    'git diff-files -z --name-only | git update-index -z --assume-unchanged --stdin'
)
CONFIG = (
    '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n'
)


class Worktrees:
    """Lays out worktrees of one project. Each has its own `.git`, in which nothing is shared.

    A worktree made by `git worktree add` shares branches, settings and hooks with the user's repository: an
    agent that can commit in it can move the user's branches. Therefore each agent gets a separate repository
    with the same files, its own branch, and a copy of the commits it needs.

    Args:
        project: the path of a folder on this machine.
        repository: the project's repository; None if it has none, and worktrees get one with one commit.
        clone: a folder like a `.git` with the recent commits.
        history: its files that worktrees get; empty if they start a history of their own.
    """

    def __init__(
        self, project: str, repository: Repository | None, clone: Path, history: Sequence[str]
    ) -> None:
        self.project, self.repository, self._clone, self._history = project, repository, clone, history

    @classmethod
    @asynccontextmanager
    async def of(cls, project: str) -> AsyncIterator[Worktrees]:
        """Yield the worktrees of a project. Raises `WorkspaceError` if it does not exist."""
        folder = find_project(project)
        repository = await Repository.find(folder)
        whole = repository is not None and repository.prefix == ''
        place = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix='hemicycle-'))
        try:
            history = await _clone(repository, place / 'clone') if repository and whole else []
            yield cls(project, repository, place / 'clone', history)
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    @property
    def base(self) -> dict[str, str]:
        """The `commit` and `branch` the work starts from; empty for a project without git."""
        repository = self.repository
        return {'commit': repository.head, 'branch': repository.branch} if repository else {}

    async def make(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        branch: str,
        *,
        over: Sequence[str] = (),
        files: str = '',
    ) -> str:
        """Lay out a worktree in a folder.

        Args:
            workspace: the folder, which must be empty, but for `files`.
            sandbox: runs git.
            branch: the name of its branch.
            over: projects whose files are then copied over it.
            files: a snapshot whose files are laid over all that.

        Returns:
            The id of the folder's snapshot.

        Raises:
            WorkspaceError: it is too big, or git failed.
            ToolError: there is no sandbox.
        """
        if self._history and self.repository:
            await workspace.make()
            await workspace.subfolder('.git').copy_in(self._clone, self._history)
            await workspace.write(f'.git/refs/heads/{branch}', f'{self.repository.head}\n'.encode())
            await workspace.write('.git/HEAD', f'ref: refs/heads/{branch}\n'.encode())
            root = self.repository.root
            links = [path for path in await self.repository.links() if (root / path).is_symlink()]
            staged = [path for each in over for path in await project_paths(each)]
            staged += [file.path for file in await workspace.snapshot_files(files)]
            staged += await self.repository.uncommitted()
            for name, paths in ((LINKS, links), (STAGED, staged)):
                listing = ''.join(f'{path}\0' for path in paths)
                await workspace.write(name, listing.encode('utf-8', 'surrogateescape'))
        await copy_project(self.project, workspace, listed=await listed_files(self.project))
        for each in over:
            await copy_project(each, workspace)
        await workspace.lay(files)
        script = FOLLOW if self._history else INIT
        ran = await sandbox.run(['sh', '-c', script, 'sh', branch], workspace, Confinement(limits=GIT_LIMITS))
        if ran.code != 0:
            problem = ran.output.strip()[-300:] or ran.summary
            raise WorkspaceError(f'git could not make a worktree of {self.project}: {problem}')
        return await workspace.snapshot()


def has_worktree(project: str) -> bool:
    """Return whether a project can be laid out as a worktree: a folder on this machine, not a sample."""
    return bool(project) and not project.startswith(SAMPLE)


async def listed_files(project: str) -> list[str] | None:
    """List a project's files that git tracks or would track; None if it has no repository."""
    repository = await Repository.find(find_project(project))
    return await repository.files() if repository else None


async def _clone(repository: Repository, clone: Path) -> list[str]:
    """Clone the latest commits; returns the files that refer to nothing in the user's repository."""
    if len(repository.head) > 40:  # SHA-256
        return []
    try:
        await git(repository.root, 'clone', '-q', '--bare', '--no-tags', '--single-branch',
                  f'--depth={DEPTH}', repository.root.absolute().as_uri(), str(clone))  # fmt: skip
        config = f'{CONFIG}{await repository.conversions()}'
        await asyncio.to_thread((clone / 'config').write_text, config)
        paths = await folder_paths(clone)
    except WorkspaceError:
        return []  # Worktrees get one commit, as for a project without git, or one that is too big.
    return [path for path in paths if path in ('config', 'shallow') or path.startswith('objects/')]
