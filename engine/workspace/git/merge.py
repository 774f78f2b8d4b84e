"""Merges an agent's work into a branch; prepared outside the repository, written only on request."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.errors import WorkspaceError
from engine.workspace.diff import decode_text, is_own_work
from engine.workspace.git.repository import GitFailed, Repository, git, lfs_storage
from engine.workspace.object_store import ObjectStore
from engine.workspace.snapshots import FileVersion, files_of

Side = Literal['ours', 'theirs']
AUTHOR = {'GIT_AUTHOR_NAME': 'Hemicycle', 'GIT_AUTHOR_EMAIL': 'hemicycle@localhost',
          'GIT_COMMITTER_NAME': 'Hemicycle', 'GIT_COMMITTER_EMAIL': 'hemicycle@localhost'}  # fmt: skip
"""Author and committer if none are configured in git."""
MISSING = '0' * 40
THEIRS = 'the agent'
"""The name of the agent's side in conflict markers."""


def has_marks(text: str) -> bool:
    """Return whether a file still has conflict markers."""
    lines = {line[:8].rstrip() for line in text.splitlines()}
    return lines >= {'<' * 7, '=' * 7, '>' * 7}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The resolution of a conflicting file: one side, or a text."""

    side: Side | None = None
    """`ours` is the branch's version, `theirs` the agent's; None to use `text`."""
    text: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A file that both the branch and the agent have changed."""

    path: str
    text: str | None
    """The file with conflict markers; None if it is not text, or is missing on one side."""
    ours: bool
    """Whether the branch has the file."""
    theirs: bool
    """Whether the agent has the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePreview:
    """The effects of a merge that has not been made yet."""

    branch: str
    onto: str
    """The commit it would be made on."""
    is_new: bool
    """Whether the branch would be created."""
    checked_out: str
    """The working tree with the branch checked out, which would be updated; '' if there is none."""
    paths: tuple[str, ...]
    """The files that would change on the branch."""
    conflicts: tuple[Conflict, ...]
    """The remaining conflicts."""
    patch: str
    """The changes to the branch, as a patch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """An agent's work, as two snapshots of its folder."""

    objects: ObjectStore
    before: str
    after: str
    base: str = ''
    """The commit its folder started from; '' if unknown."""


@dataclass(frozen=True, slots=True)
class _Result:
    tree: str
    agent: str
    """The tree with the agent's work on the base."""
    left: tuple[str, ...]
    """Paths still in conflict."""
    commits: tuple[str, str]
    """The labels of git's conflict markers: the branch's commit, and the agent's."""


class GitMerge:
    """Merges one agent's work into branches of one repository.

    A preview writes only to a temporary folder, with the repository's objects as alternates.
    """

    def __init__(self, repository: Repository, work: Work) -> None:
        self._repository, self._work = repository, work

    async def preview(
        self, branch: str, resolutions: Mapping[str, Resolution] | None = None, *, only: Sequence[str] = ()
    ) -> MergePreview:
        """Work out a merge.

        Args:
            branch: the target branch; a new one would start at the commit currently checked out.
            resolutions: how to resolve conflicting files, by path.
            only: merge only these files; by default all that the agent has changed.

        Raises:
            WorkspaceError: the branch name is invalid, or git is too old.
        """
        await self._check_name(branch)
        tip = await self._repository.tip(branch)
        onto = tip or self._repository.head
        place = await asyncio.to_thread(tempfile.mkdtemp, prefix='hemicycle-')
        try:
            objects = await self._objects_dir()
            variables = {'GIT_OBJECT_DIRECTORY': place, 'GIT_ALTERNATE_OBJECT_DIRECTORIES': objects,
                      **lfs_storage(place)}  # fmt: skip
            result = await self._merge(onto, resolutions or {}, only, variables)
            return MergePreview(
                branch=branch,
                onto=onto,
                is_new=not tip,
                checked_out=str(await self._repository.worktree_of(branch) or ''),
                paths=tuple(await self._names(onto, result.tree, variables)),
                conflicts=tuple([await self._conflict(path, branch, onto, result, variables)
                                 for path in result.left]),
                patch=(await self._git('diff', '--no-color', '--no-ext-diff', '--no-textconv', onto,
                                       result.tree, variables=variables)).decode('utf-8', 'replace'),
            )  # fmt: skip
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    async def commit(
        self,
        branch: str,
        message: str,
        *,
        onto: str,
        resolutions: Mapping[str, Resolution] | None = None,
        only: Sequence[str] = (),
    ) -> str:
        """Merge the work as one commit on the branch. Returns its id.

        If the branch is checked out, its working tree is updated with `git merge --ff-only`, which refuses to
        overwrite the user's own changes.

        Raises:
            WorkspaceError: conflicts remain, there is nothing to merge, the branch has moved since the
                preview, or changes in the working tree prevent the merge.
        """
        await self._check_name(branch)
        tip = await self._repository.tip(branch)
        if (tip or self._repository.head) != onto:
            raise WorkspaceError(f'{branch} has moved since this was shown: look again')
        result = await self._merge(onto, resolutions or {}, only, {})
        if result.left:
            raise WorkspaceError(f'resolve these first: {", ".join(result.left)}')
        if result.tree == (await self._git('rev-parse', f'{onto}^{{tree}}')).decode().strip():
            raise WorkspaceError(f'there is nothing to merge: {branch} already has this work')
        commit_id = await self._commit_tree(result.tree, message, {}, parent=onto)
        folder = await self._repository.worktree_of(branch)
        if folder is not None:
            try:
                await git(folder, 'merge', '-q', '--ff-only', '--no-autostash', commit_id)
            except GitFailed as error:
                raise WorkspaceError(f'nothing was merged: {error}') from None
        else:
            await self._git(
                'update-ref', '-m', 'hemicycle merge', f'refs/heads/{branch}', commit_id, tip or MISSING
            )
        return commit_id

    async def _merge(
        self,
        onto: str,
        resolutions: Mapping[str, Resolution],
        only: Sequence[str],
        variables: Mapping[str, str],
    ) -> _Result:
        before, after = await self._changed_files(only)
        base_commit = await self._base_commit(onto, variables)
        base = await self._tree(base_commit, before, before | after, variables)
        agent = await self._tree(base, after, before | after, variables)
        root = await self._commit_tree(base, 'base', variables)
        theirs = await self._commit_tree(agent, 'theirs', variables, parent=root)
        ours = await self._commit_tree(f'{onto}^{{tree}}', 'ours', variables, parent=root)
        try:
            output = await self._git('merge-tree', '--write-tree', '-z', '--name-only', '--no-messages',
                                   ours, theirs, variables=variables)  # fmt: skip
        except GitFailed as error:
            if error.code != 1:
                old = f'this git cannot merge without a working tree: 2.38 or newer is required ({error})'
                raise WorkspaceError(old) from None
            output = error.output
        tree, *names = output.decode('utf-8', 'surrogateescape').split('\0')
        conflicts = list(dict.fromkeys(name for name in names if name))
        resolved = {path: resolutions[path] for path in conflicts if path in resolutions}
        if resolved:
            tree = await self._resolve(tree, resolved, onto, agent, variables)
        return _Result(tree, agent, tuple(path for path in conflicts if path not in resolved), (ours, theirs))

    async def _changed_files(
        self, only: Sequence[str]
    ) -> tuple[dict[str, FileVersion], dict[str, FileVersion]]:
        """Return the files the agent has changed, before and after, by their path in the repository."""
        work, prefix = self._work, self._repository.prefix

        def read() -> tuple[dict[str, FileVersion], dict[str, FileVersion]]:
            pairs = (work.before, work.after), (work.after, work.before)
            old, new = (
                {file.path: file for file in files_of(work.objects, tree, other=other) if is_own_work(file)}
                for tree, other in pairs
            )
            same = {path for path in old if old[path] == new.get(path)}
            return tuple({path: file for path, file in side.items() if path not in same}
                         for side in (old, new))  # type: ignore[return-value]  # fmt: skip

        old, new = await asyncio.to_thread(read)
        paths = [path for path in sorted(old.keys() | new.keys()) if not only or path in only]
        for module in await self._repository.submodules():
            if inside := [path for path in paths if f'{path}/'.startswith(f'{module}/')]:
                raise WorkspaceError(
                    f'{inside[0]} is in the submodule {module}, which is a repository of its own: merge only '
                    'the other files, or take the changes as a patch'
                )
        dropped = await self._repository.find_ignored(paths) - set(old)
        selected = set(paths) - dropped
        return (
            {f'{prefix}{path}': file for path, file in old.items() if path in selected},
            {f'{prefix}{path}': file for path, file in new.items() if path in selected},
        )

    async def _base_commit(self, onto: str, variables: Mapping[str, str]) -> str:
        """Return the commit that supplies the files the agent has not changed."""
        if self._work.base:
            try:
                await self._git('cat-file', '-e', f'{self._work.base}^{{commit}}', variables=variables)
                return self._work.base
            except GitFailed:
                pass  # The repository no longer has the commit.
        return onto

    async def _tree(
        self, commit: str, files: Mapping[str, FileVersion], paths: Mapping[str, FileVersion],
        variables: Mapping[str, str],
    ) -> str:  # fmt: skip
        """Write a tree like that of `commit`, but with exactly these files at these paths."""
        entries = {}
        for path in paths:
            entries[path] = await self._entry(path, files[path], variables) if path in files else None
        return await self._write_tree(commit, entries, variables)

    async def _entry(self, path: str, file: FileVersion, variables: Mapping[str, str]) -> tuple[str, str]:
        """Return the mode and the object id of a file."""
        if file.target is not None:
            return '120000', await self._blob(file.target.encode(), variables)
        data = await asyncio.to_thread(self._work.objects.get, file.digest)
        return '100755' if file.executable else '100644', await self._blob(data, variables, path)

    async def _blob(self, data: bytes, variables: Mapping[str, str], path: str = '') -> str:
        how = [f'--path={path}'] if path else ['--no-filters']
        output = await self._git('hash-object', '-w', '--stdin', *how, input_data=data, variables=variables)
        return output.decode().strip()

    async def _write_tree(
        self, ground: str, entries: Mapping[str, tuple[str, str] | None], variables: Mapping[str, str]
    ) -> str:
        place = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix='hemicycle-'))
        inside = {**variables, 'GIT_INDEX_FILE': str(place / 'index')}
        lines = [
            f'{entry[0]} {entry[1]}\t{path}' if entry else f'0 {MISSING}\t{path}'
            for path, entry in sorted(entries.items(), key=lambda item: item[1] is not None)
        ]
        try:
            await self._git('read-tree', ground, variables=inside)
            index_info = ''.join(f'{line}\0' for line in lines).encode('utf-8', 'surrogateescape')
            await self._git('update-index', '-z', '--index-info', input_data=index_info, variables=inside)
            return (await self._git('write-tree', variables=inside)).decode().strip()
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    async def _resolve(
        self,
        tree: str,
        resolved: Mapping[str, Resolution],
        onto: str,
        agent: str,
        variables: Mapping[str, str],
    ) -> str:
        entries = {}
        for path, chosen in resolved.items():
            if chosen.side is None and has_marks(chosen.text):
                raise WorkspaceError(f'the text for {path} still contains conflict markers')
            source = onto if chosen.side == 'ours' else agent
            entry = await self._entry_at(source, path, variables)
            if chosen.side is None:
                mode = entry[0] if entry else '100644'
                entry = mode, await self._blob(chosen.text.encode(), variables)
            entries[path] = entry
        return await self._write_tree(tree, entries, variables)

    async def _entry_at(self, tree: str, path: str, variables: Mapping[str, str]) -> tuple[str, str] | None:
        output = await self._git('ls-tree', '-z', '--full-tree', tree, '--', path, variables=variables)
        if not output:
            return None
        mode, _, digest = output.decode('utf-8', 'surrogateescape').partition('\t')[0].split()
        return mode, digest

    async def _conflict(
        self, path: str, branch: str, onto: str, result: _Result, variables: Mapping[str, str]
    ) -> Conflict:
        ours = await self._entry_at(onto, path, variables)
        theirs = await self._entry_at(result.agent, path, variables)
        merged = await self._entry_at(result.tree, path, variables)
        text = None
        if ours and theirs and merged:
            text = decode_text(await self._git('cat-file', 'blob', merged[1], variables=variables))
            for commit, name in zip(result.commits, (branch, THEIRS), strict=True):
                text = text and text.replace(commit, name)
        return Conflict(path=path, text=text, ours=ours is not None, theirs=theirs is not None)

    async def _names(self, onto: str, tree: str, variables: Mapping[str, str]) -> list[str]:
        output = await self._git('diff', '--name-only', '-z', '--no-renames', onto, tree, variables=variables)
        return [name for name in output.decode('utf-8', 'surrogateescape').split('\0') if name]

    async def _commit_tree(
        self, tree: str, message: str, variables: Mapping[str, str], *, parent: str = ''
    ) -> str:
        arguments = ['commit-tree', tree, *(['-p', parent] if parent else []), '-F', '-']
        try:
            output = await self._git(*arguments, input_data=message.encode(), variables=variables)
        except GitFailed:  # The user has no name configured.
            output = await self._git(
                *arguments, input_data=message.encode(), variables={**variables, **AUTHOR}
            )
        return output.decode().strip()

    async def _objects_dir(self) -> str:
        output = await self._git('rev-parse', '--path-format=absolute', '--git-path', 'objects')
        return output.decode('utf-8', 'surrogateescape').rstrip('\n')

    async def _check_name(self, branch: str) -> None:
        try:
            await self._git('check-ref-format', '--branch', branch)
        except GitFailed:
            raise WorkspaceError(f'into: {branch!r} is not a valid branch name') from None

    async def _git(
        self, *arguments: str, input_data: bytes | None = None, variables: Mapping[str, str] | None = None
    ) -> bytes:
        return await git(self._repository.root, *arguments, input_data=input_data, variables=variables)
