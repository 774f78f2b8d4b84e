"""A coder's region: it works in its folder and is tested, and ends with a version or a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.errors import ToolError, WorkspaceError
from engine.patterns.competition import coder_seat
from engine.patterns.competition.coder_seat import candidate_of
from engine.patterns.competition.evidence import Checks, examine, has_written
from engine.patterns.competition.records import Candidate, ContestMemory, Evidence, FileEntry, Version
from engine.records import Event
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import FINAL_STATES, edge, failure_edges
from engine.workspace.git.worktree import Worktrees, has_worktree
from engine.workspace.project import copy_project

TOOLS = (
    'list_files', 'read_file', 'write_file', 'edit_file', 'search', 'run_command', 'run_tests', 'notes',
)  # fmt: skip
INSTRUCTIONS = (
    'You write software in your own folder. Use the tools: only the files in your folder count. Run the '
    'tests before you say that you are done, and end with a few sentences on what you did and what is left.'
)
EXAMINATION_MARGIN = 30.0
"""Seconds allowed for examining a folder, on top of its two test runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoderConfig:
    """A coder's configuration."""

    coder: str
    checks: Checks
    prompt: Callable[[Any], str]
    """Builds the coder's task from memory."""
    seconds: float
    demands: Callable[[Any], tuple[str, ...]] = lambda memory: ()
    """Returns the demands that the work must meet, given the memory."""
    initial_projects: tuple[str, ...] = ()
    """The projects its folder starts with."""
    worktree: bool = False
    """Whether the first project is given as a git worktree."""
    seat: bool = False
    """Whether a person may take its seat; memory then has `seats`."""
    is_called: Callable[[CallbackContext, Event], bool] | None = None
    """For a revision, which starts from the latest version: the guard that decides whether it is called."""

    @classmethod
    def of(cls, coder: str, parameters: Any, *, seconds: float, seat: bool = False) -> Self:
        """Return the configuration of a coder that implements the task, from a contest's form."""
        return cls(
            coder=coder,
            checks=Checks.of(parameters),
            prompt=task_prompt,
            seconds=seconds,
            initial_projects=tuple(filter(None, (parameters.project, parameters.tests))),
            worktree=parameters.worktrees,
            seat=seat,
        )


def coder_role(coder: str) -> Role:
    """Return a coder's role, named after its region so that each coder can have its own model."""
    return Role(name=coder, title=coder.capitalize(), instructions=INSTRUCTIONS, tools=TOOLS)


async def prepare_workspaces(coders: Iterable[str], parameters: Any, activity: Activity) -> dict[str, Any]:
    """Copy the project, then the tests, into each coder's folder (an activity).

    Args:
        coders: the coders' names.
        parameters: those of a contest's form; with `worktrees`, the project is a git worktree, with a branch
            per coder.
        activity: the run's activity.

    Returns:
        `snapshots` of the folders; with worktrees also `base`, the commit and branch they start from.

    Raises:
        WorkspaceError: a project does not exist or is too big; names the parameter.
    """
    snapshots, parameter = {}, 'project'
    sandbox = activity.services.sandbox
    able = parameters.worktrees and has_worktree(parameters.project)
    able = able and (sandbox.unsafe or not await sandbox.problem())
    try:
        if able:
            async with Worktrees.of(parameters.project) as trees:
                for name in coders:
                    branch = f'hemicycle/{activity.run.id}/{name}'
                    over = [parameters.tests] if parameters.tests else []
                    snapshots[name] = await trees.make(
                        activity.workspace(name), sandbox, branch, over=over, files=activity.given_files
                    )
                return {'snapshots': snapshots, 'base': trees.base}
        for name in coders:
            for parameter in ('project', 'tests'):  # The error names it.
                if project := getattr(parameters, parameter):
                    snapshots[name] = await copy_project(
                        project, activity.workspace(name), over=activity.given_files
                    )
    except WorkspaceError as error:
        raise WorkspaceError(f'{parameter}: {error}') from error
    return {'snapshots': snapshots}


def coder_region(config: CoderConfig) -> dict[str, Any]:
    """Return the states of one coder."""
    me = config.coder
    revision_states, revision_edges = _build_revision_start(config) if config.is_called else ([], [])
    seat_states, seat_edges = coder_seat.build_seat(me) if config.seat else ([], [])
    return {
        'name': me,
        'initial': 'called' if config.is_called else 'working',
        'children': [
            *revision_states,
            agent(
                'working',
                coder_role(me),
                prompt=config.prompt,
                then=partial(record_summary, me),
                folder=me,
                within=config.seconds,
                turns=40,
                may_be_silent=True,
            ),
            {
                'name': 'testing',
                'invoke': partial(test_work, config),
                'caption': 'Running tests',
                'within': 2 * config.checks.seconds + EXAMINATION_MARGIN,
            },
            *seat_states,
            *FINAL_STATES,
        ],
        'transitions': [
            *revision_edges,
            *seat_edges,
            ['done', 'working', 'testing'],
            edge('done', 'testing', 'done', after=partial(store_version, config)),
            *failure_edges(['working', 'testing'], 'failed', after=partial(record_failure, config)),
        ],
    }


def _build_revision_start(config: CoderConfig) -> tuple[list[Any], list[Any]]:
    """Return what precedes a revision: skip coders not called, restore the others' latest version."""
    states = [
        {'name': 'called'},
        {'name': 'restoring', 'invoke': partial(restore_version, config.coder)},
        {'name': 'spared', 'final': True},
    ]
    edges = [
        ['always', 'called', 'restoring', config.is_called],
        ['always', 'called', 'spared', None, config.is_called],
        ['done', 'restoring', 'working'],
        edge('failed', 'restoring', 'failed', after=partial(record_failure, config)),
    ]
    return states, edges


async def restore_version(coder: str, scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Restore the coder's latest version: a failed attempt may have left half-finished work."""
    version = candidate_of(scope, coder).latest
    if version is None:
        return {}
    await activity.workspace(coder).restore(version.snapshot)
    return {'snapshots': {coder: version.snapshot}}


async def test_work(config: CoderConfig, scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Test the coder's work.

    Raises:
        ToolError: the coder wrote no file.
    """
    me = config.coder
    if not config.is_called and not await has_written(
        me,
        await activity.workspace(me).snapshot(),
        config.initial_projects,
        activity,
        worktree=config.worktree,
    ):
        raise ToolError('it wrote no file')
    return await examine(config.checks, me, activity)


def record_summary(coder: str, scope: CallbackContext, event: Event) -> None:
    """Store the coder's summary of its work."""
    candidate = candidate_of(scope, coder)
    candidate.said = str(event.data.get('text', ''))
    candidate.model = str(event.data.get('model', ''))


def store_version(config: CoderConfig, scope: CallbackContext, event: Event) -> None:
    """Add the version with its test results, unless it is the one before."""
    candidate = candidate_of(scope, config.coder)
    if candidate.latest and candidate.latest.files == _files(event):
        candidate.problem = 'its revision changed no file'
    else:
        add_version(candidate, event, summary=candidate.said, answers=config.demands(scope.state.memory))
        candidate.status, candidate.problem = 'ready', ''
    if candidate.edits:
        candidate.edits = ()


def add_version(
    candidate: Candidate,
    event: Event,
    *,
    summary: str,
    answers: tuple[str, ...] = (),
    merged: dict[str, str] | None = None,
) -> None:
    """Add a version from the result of `examine`."""
    candidate.versions.append(
        Version(
            number=len(candidate.versions) + 1,
            snapshot=event.data['snapshots'][candidate.coder],
            files=_files(event),
            said=summary,
            evidence=Evidence.model_validate(event.data['evidence']),
            answers=answers,
            merged=merged,
        )
    )


def _files(event: Event) -> tuple[FileEntry, ...]:
    return tuple(FileEntry.model_validate(file) for file in event.data['files'])


def record_failure(config: CoderConfig, scope: CallbackContext, event: Event) -> None:
    """Record why the attempt failed; an earlier version stays in play."""
    candidate = candidate_of(scope, config.coder)
    candidate.problem = str(event.data.get('error') or 'it timed out')
    if not candidate.versions:
        candidate.status = 'failed'


def task_prompt(memory: ContestMemory) -> str:
    """Return what a coder is told when its work starts."""
    return (
        f'Task:\n{memory.task}\n\nImplement it in your folder, with your own tests. Files that are already '
        'there are part of the task; tests among them are run in their original form.'
    )
