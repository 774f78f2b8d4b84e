"""RunMerging: merges the work of a run's agents into its project when a person asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypedDict, Unpack

from pydantic_core import to_jsonable_python

from engine.errors import InvalidInput
from engine.history.forks.fork_records import ForkOverrides
from engine.history.forks.forks import Forks
from engine.history.run_reader import RunReader
from engine.records import Change, Message, RunId, RunInfo, escape_token, parent_of
from engine.records.payloads import is_given, reply_of, snapshots_of
from engine.statechart.deliverables import Deliverables
from engine.statechart.pattern import Pattern
from engine.workspace.diff import FileChange, is_own_work
from engine.workspace.git.merge import GitMerge, MergePreview, Resolution, Work
from engine.workspace.git.repository import Repository
from engine.workspace.hunks import apply_hunks, split_hunks
from engine.workspace.project import SAMPLE, copy_project, find_project
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.test_run import SuiteResult, run_test_suite
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import Workspaces

COMPOSED_AGENT = 'the result'
"""The folder where a result is composed; it belongs to no agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mergeable:
    """The work that can be merged from a run."""

    run: RunInfo
    project: str
    problem: str
    """Why it cannot be merged into a branch, or ''; it is still available as a patch."""
    folders: Mapping[str, tuple[str, str]]
    """The first and current snapshot of each agent's folder."""
    best: str
    """The agent whose work is the run's result; '' if unknown."""
    base: Mapping[str, str] = field(default_factory=dict)
    """The `commit` and `branch` the folders started from, if the project has a repository."""
    branches: tuple[str, ...] = ()
    """The repository's branches, the current one first."""
    said: Mapping[str, str] = field(default_factory=dict)
    """Each candidate's own summary of its work."""
    tests: Mapping[str, str] = field(default_factory=dict)
    """The results of each candidate's required tests, such as `40 passed, 2 failed`."""

    def snapshots(self, agent: str) -> tuple[str, str]:
        """Return the first and current snapshot of an agent's folder. Raises `InvalidInput`."""
        if agent not in self.folders:
            names = ', '.join(sorted(self.folders)) or 'none'
            raise InvalidInput({'agent': f'name whose work to take; there is work of: {names}'})
        return self.folders[agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """The changes to take from one file."""

    path: str
    agent: str
    """The agent whose version is used."""
    hunks: tuple[int, ...] | None = None
    """The changes to take, by number from 0; None takes the whole file."""


class MergeOptions(TypedDict, total=False):
    """What to merge, and how."""

    resolutions: Mapping[str, Resolution] | None
    """How to resolve conflicting files, by path."""
    only: Sequence[str]
    """If given, merge only these files."""


class RunMerging:
    """Reads a journal and runs' files; writes to a project's repository only in `merge`."""

    def __init__(self, reader: RunReader, workspaces: Workspaces, sandbox: Sandbox, forks: Forks) -> None:
        self._reader, self._workspaces, self._sandbox, self._forks = reader, workspaces, sandbox, forks

    async def mergeable(self, run: RunId) -> Mergeable:
        """Return a run's mergeable work and the branches it can go into. Raises `UnknownRun`."""
        info = await self._reader.journal.info(run)
        folders, base = await self._folders(run)
        deliverables = await self._deliverables(info)
        if deliverables.works:
            folders = {
                name: (folders[name][0], work.snapshot or folders[name][1])
                for name, work in deliverables.works.items()
                if name in folders
            }
        best = (
            deliverables.best
            if deliverables.best in folders
            else next(iter(folders), '')
            if len(folders) == 1
            else ''
        )
        repository, problem = await self._repository(deliverables.project)
        return Mergeable(
            run=info,
            project=deliverables.project,
            problem=problem or ('' if folders else 'its agents have changed no files'),
            folders=folders,
            best=best,
            base=base,
            branches=tuple(await repository.branches()) if repository else (),
            said={name: work.summary for name, work in deliverables.works.items()},
            tests={name: work.tests for name, work in deliverables.works.items() if work.tests},
        )

    async def changes(self, mergeable: Mergeable, agent: str) -> list[FileChange]:
        """Return an agent's changes to its project. Raises `InvalidInput`, `WorkspaceError`."""
        before, after = mergeable.snapshots(agent)
        return [
            change
            for change in await self._workspaces.diff(mergeable.run.id, before, after)
            if is_own_work(change)
        ]

    async def compose(self, mergeable: Mergeable, picks: Sequence[Pick]) -> Mergeable:
        """Compose a result from the files of several agents, or from some of their changes.

        Returns:
            `mergeable` with an additional folder, `COMPOSED_AGENT`, which becomes the best.

        Raises:
            InvalidInput: there is no such agent, file or change.
            WorkspaceError
        """
        start = next(
            (mergeable.folders[pick.agent][0] for pick in picks if pick.agent in mergeable.folders), ''
        )
        place = self._workspaces.of(mergeable.run.id, COMPOSED_AGENT)
        await (place.restore(start) if start else place.make())
        for agent in dict.fromkeys(pick.agent for pick in picks):
            changes = {change.path: change for change in await self.changes(mergeable, agent)}
            for pick in picks:
                if pick.agent == agent:
                    await self._apply_pick(mergeable, pick, changes.get(pick.path), place)
        folders = {**mergeable.folders, COMPOSED_AGENT: (start, await place.snapshot())}
        return replace(mergeable, folders=folders, best=COMPOSED_AGENT)

    async def _apply_pick(
        self, mergeable: Mergeable, pick: Pick, change: FileChange | None, place: Workspace
    ) -> None:
        if change is None:
            raise InvalidInput({'path': f'{pick.agent} has not changed {pick.path}'})
        content = partial(self._workspaces.content, mergeable.run.id)
        if pick.hunks is None or change.after is None or not change.text:
            if change.after is None:
                await place.remove(pick.path)
            elif change.after.target is None:
                data = await content(change.after.digest)
                await place.write(pick.path, data, executable=change.after.executable)
            return
        hunks = split_hunks(change.text)
        if not all(0 <= number < len(hunks) for number in pick.hunks):
            raise InvalidInput({'hunks': f'{pick.path} has {len(hunks)} changes'})
        before = (await content(change.before.digest)).decode() if change.before else ''
        text = apply_hunks(before, [hunks[number] for number in pick.hunks])
        if text or change.before:
            await place.write(pick.path, text.encode(), executable=change.after.executable)

    async def test(self, mergeable: Mergeable, agent: str) -> SuiteResult:
        """Run the run's test command, or pytest, on a copy of an agent's folder. Raises `ToolError`."""
        _, snapshot = mergeable.snapshots(agent)
        deliverables = await self._deliverables(mergeable.run)
        copy = self._workspaces.of(mergeable.run.id, f'tests of {agent}')
        await copy.restore(snapshot)
        if deliverables.tests:
            await copy_project(deliverables.tests, copy)
        setup = await current_setup(deliverables.project, copy)
        return await run_test_suite(
            copy,
            self._sandbox,
            command=deliverables.command or ('' if deliverables.tests else setup.command),
            seconds=deliverables.seconds,
            setup=setup,
            exit_counts=bool(deliverables.command),
        )

    async def send_back(self, run: RunId, agent: str, text: str, *, new: RunId | None = None) -> RunId:
        """Fork a run from an agent's last turn, with `text` as the agent's next message.

        Raises:
            UnknownRun
            InvalidInput: the agent has not finished a turn.
        """
        last, path = 0, ''
        for step in await self._reader.journal.transitions(run):
            at = parent_of(step.event.at)
            if reply_of(step.event) and agent in at.split('.'):
                last, path = step.seq - 1, at
        if not path:
            raise InvalidInput({'agent': f'{agent} has not finished a turn'})
        message = to_jsonable_python(Message.of('user', text))
        change = Change(op='add', path=f'/agents/{escape_token(path)}/messages/-', value=message)
        return await self._forks.fork(run, last, overrides=ForkOverrides(changes=[change]), new=new)

    async def preview(
        self,
        mergeable: Mergeable,
        agent: str = '',
        into: str = '',
        **options: Unpack[MergeOptions],
    ) -> MergePreview:
        """Work out a merge without writing anything.

        Args:
            mergeable: the run's mergeable work.
            agent: the agent whose work to merge; by default the best.
            into: the target branch; by default the one checked out.
            options: how to resolve conflicts, and which files to merge.

        Raises:
            InvalidInput, WorkspaceError
        """
        merge, branch = await self._merge(mergeable, agent, into)
        return await merge.preview(branch, options.get('resolutions'), only=options.get('only', ()))

    async def merge(
        self,
        mergeable: Mergeable,
        preview: MergePreview,
        agent: str = '',
        *,
        message: str = '',
        **options: Unpack[MergeOptions],
    ) -> str:
        """Merge as previewed, as one commit on the branch. Returns its id.

        Raises:
            InvalidInput
            WorkspaceError: as `GitMerge.commit`.
        """
        merge, _ = await self._merge(mergeable, agent, preview.branch)
        words = message or merge_message(mergeable, agent or mergeable.best)
        return await merge.commit(preview.branch, words, onto=preview.onto, **options)

    async def _merge(self, mergeable: Mergeable, agent: str, into: str) -> tuple[GitMerge, str]:
        before, after = mergeable.snapshots(agent or mergeable.best)
        repository, problem = await self._repository(mergeable.project)
        if repository is None:
            raise InvalidInput({'project': problem})
        branch = into or repository.branch
        if not branch:
            raise InvalidInput({'into': f'no branch is checked out in {mergeable.project}: name one'})
        work = Work(
            objects=self._workspaces.objects(mergeable.run.id),
            before=before,
            after=after,
            base=str(mergeable.base.get('commit', '')),
        )
        return GitMerge(repository, work), branch

    async def _deliverables(self, run: RunInfo) -> Deliverables:
        """Return what a run has made, as its pattern describes it, or any pattern if that one is gone."""
        pattern = self._reader.catalog.find_of(run) or Pattern
        view = await self._reader.view(run.id)
        return pattern.deliverables(run.parameters, view.memory)

    async def _repository(self, project: str) -> tuple[Repository | None, str]:
        """Return a project's repository, or why it has none."""
        if not project:
            return None, 'the run was given no project: save its files, or take them as a patch'
        if project.startswith(SAMPLE):
            return None, f'{project} is a sample, not a repository of yours: take a patch'
        repository = await Repository.find(find_project(project))
        if repository is None:
            return None, f'{project} has no git repository with a commit: run git init there, or take a patch'
        return repository, ''

    async def _folders(self, run: RunId) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
        """Return the first and latest snapshot of each folder, and the commit they started from."""
        folders: dict[str, tuple[str, str]] = {}
        base: dict[str, str] = {}
        started: set[str] = set()
        """Folders that nobody has touched since the start, when they got the files given with the run."""
        for step in await self._reader.journal.transitions(run):
            data = step.event.data
            if step.raised or step.event.name not in ('start', 'done', 'asked'):
                continue
            base = base or {str(name): str(value) for name, value in (data.get('base') or {}).items()}
            for folder, snapshot in snapshots_of(step.event).items():
                if folder in folders and not (folder in started and is_given(step.event)):
                    folders[folder] = (folders[folder][0], str(snapshot))
                else:  # If the first snapshot is already the agent's output, compare to an empty folder.
                    folders[folder] = (str(snapshot) if is_given(step.event) else '', str(snapshot))
                (started.add if step.event.name == 'start' else started.discard)(folder)
        return folders, base


def merge_message(mergeable: Mergeable, agent: str) -> str:
    """Return the commit message for an agent's work: the run's title, and its origin."""
    title = ' '.join(mergeable.run.title.split()) or f'Work of {agent}'
    return f'{title[:72]}\n\nHemicycle-Run: {mergeable.run.id}\nHemicycle-Agent: {agent}\n'
