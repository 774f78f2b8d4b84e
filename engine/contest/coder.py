"""A coder's region: it works in its folder, then its tests are run; it ends with a version, or failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.activity import Activity, Retry
from engine.agent import Role, agent
from engine.contest.evidence import Checks, examine
from engine.contest.records import Candidate, ContestMemory, Evidence, Version
from engine.course import Scope
from engine.edge import ENDS, edge, lost
from engine.files.project import lay_out
from engine.records import Event

TOOLS = (
    'list_files', 'read_file', 'write_file', 'edit_file', 'search', 'run_command', 'run_tests', 'notes',
)  # fmt: skip
INSTRUCTIONS = (
    'You write software in a folder of your own. Work with the tools: nothing counts but the files in your '
    'folder. Run the tests before you say that you are done, and end with a few sentences on what you did '
    'and what is not done.'
)
SLACK = 30.0
"""Seconds that examining a folder may take beside its two runs of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a coder works with."""

    coder: str
    checks: Checks
    prompt: Callable[[Any], str]
    """Its task, from memory."""
    seconds: float
    demands: Callable[[Any], tuple[str, ...]] = lambda memory: ()
    """What the work is to meet, from memory."""
    again: bool = False
    """Whether this is a revision: only some are called, and each begins with its latest version."""
    retry: Retry | None = None


def role(coder: str) -> Role:
    """Who a coder is; it bears the name of its region, so that each may have a model of its own."""
    return Role(name=coder, title=coder.capitalize(), instructions=INSTRUCTIONS, tools=TOOLS)


async def equip(coders: Iterable[str], given: Sequence[str], activity: Activity) -> dict[str, Any]:
    """An activity: puts the same projects into the folder of each coder, as far as any is given.

    Raises:
        WorkspaceError: there is no such project, or it is too big.
    """
    snapshots = {}
    for name in coders:
        for each in filter(None, given):
            snapshots[name] = await lay_out(each, activity.workspace(name))
    return {'snapshots': snapshots}


def region(desk: Desk, *, called: Any = None) -> dict[str, Any]:
    """The states of one coder.

    Args:
        desk: what it works with.
        called: for a revision, the guard that says whether it is called at all.
    """
    me = desk.coder
    start, leading = _again(desk, called) if desk.again else ([], [])
    return {
        'name': me,
        'initial': 'called' if desk.again else 'working',
        'children': [
            *start,
            agent(
                'working',
                role(me),
                prompt=desk.prompt,
                then=partial(note_words, me),
                folder=me,
                within=desk.seconds,
                turns=40,
                retry=desk.retry,
            ),
            {
                'name': 'testing',
                'invoke': partial(test, desk),
                'within': 2 * desk.checks.seconds + SLACK,
            },
            *ENDS,
        ],
        'transitions': [
            *leading,
            ['done', 'working', 'testing'],
            edge('done', 'testing', 'done', after=partial(keep_version, desk)),
            *lost(['working', 'testing'], 'failed', after=partial(note_failure, desk)),
        ],
    }


def _again(desk: Desk, called: Any) -> tuple[list[Any], list[Any]]:
    """What comes before the work of a revision: only some are called, and begin with their latest version."""
    states = [
        {'name': 'called'},
        {'name': 'restoring', 'invoke': partial(restore, desk.coder)},
        {'name': 'spared', 'final': True},
    ]
    edges = [
        ['always', 'called', 'restoring', called],
        ['always', 'called', 'spared', None, called],
        ['done', 'restoring', 'working'],
        edge('failed', 'restoring', 'failed', after=partial(note_failure, desk)),
    ]
    return states, edges


async def restore(coder: str, scope: Scope, activity: Activity) -> dict[str, Any]:
    """Make the coder's folder hold its latest version: an attempt that failed may have left half of one."""
    version = candidate(scope, coder).latest
    if version is None:
        return {}
    await activity.workspace(coder).restore(version.snapshot)
    return {'snapshots': {coder: version.snapshot}}


async def test(desk: Desk, scope: Scope, activity: Activity) -> dict[str, Any]:
    """Run the tests of what the coder has made."""
    return await examine(desk.checks, desk.coder, activity)


def note_words(coder: str, scope: Scope, event: Event) -> None:
    """Keep what the coder says of its work."""
    mine = candidate(scope, coder)
    mine.said = str(event.data.get('text', ''))
    mine.model = str(event.data.get('model', ''))


def keep_version(desk: Desk, scope: Scope, event: Event) -> None:
    """Add the version with its tests."""
    mine = candidate(scope, desk.coder)
    add_version(mine, event, said=mine.said, answers=desk.demands(scope.state.memory))
    mine.status, mine.problem = 'ready', ''


def add_version(
    mine: Candidate,
    event: Event,
    *,
    said: str,
    answers: tuple[str, ...] = (),
    merged: dict[str, str] | None = None,
) -> None:
    """Add a version from what `examine` found."""
    mine.versions.append(
        Version(
            number=len(mine.versions) + 1,
            snapshot=event.data['snapshots'][mine.coder],
            files=event.data['files'],
            said=said,
            evidence=Evidence.model_validate(event.data['evidence']),
            answers=answers,
            merged=merged,
        )
    )


def note_failure(desk: Desk, scope: Scope, event: Event) -> None:
    """Say why the attempt came to nothing; a version that there was before stays in play."""
    mine = candidate(scope, desk.coder)
    mine.problem = str(event.data.get('error') or 'it was stopped')
    if not mine.versions:
        mine.status = 'failed'


def candidate(scope: Scope, coder: str) -> Candidate:
    """The candidate in the run's memory."""
    memory = scope.state.memory
    assert isinstance(memory, ContestMemory)
    return memory.candidates[coder]


def implement(memory: ContestMemory) -> str:
    """A coder's task."""
    return (
        f'Task:\n{memory.task}\n\nImplement it in your folder, with tests of your own. What lies there '
        'already belongs to the task; tests that were given will be run as they were given.'
    )
