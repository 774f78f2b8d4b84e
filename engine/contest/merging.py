"""Merges candidates: which file is taken from whom, conflicts, and the copying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field, ValidationError

from engine.activity import Activity
from engine.contest.evidence import Checks, examine
from engine.contest.records import Candidate
from engine.frozen import Record


class Pick(Record):
    """A file that is taken from a candidate."""

    path: str = Field(min_length=1, description='The path of the file')
    coder: str = Field(description='From whose implementation it is taken')


class Plan(Record):
    """Which files are taken from which candidates; all others stay as the best one has them."""

    files: tuple[Pick, ...] = Field(default=(), description='Files to take; none to keep the best as it is')
    why: str = Field(default='', description='Why, in a sentence')


class Conflict(Record):
    """A path that was picked from several candidates, whose files differ."""

    path: str
    coders: tuple[str, ...]
    taken: str = ''
    """Whose file it came to be."""
    rule: str = ''
    """Which rule decided: `ranked` or `person`."""


def plan_of(data: object) -> Plan | None:
    """A plan from outside; None where it is none."""
    try:
        return Plan.model_validate(data)
    except ValidationError:
        return None


def problem_of(plan: Plan, candidates: Mapping[str, Candidate]) -> str:
    """What is wrong with a plan, or ''."""
    for pick in plan.files:
        candidate = candidates.get(pick.coder)
        if candidate is None or not candidate.in_play:
            return f'there is no implementation {pick.coder!r} to take {pick.path} from'
        if digest_of(candidate, pick.path) is None:
            return f'{pick.coder} has no file {pick.path!r}'
    return ''


def conflicts_of(plan: Plan, candidates: Mapping[str, Candidate]) -> list[Conflict]:
    """The paths that were picked from several candidates whose files differ."""
    found = []
    for path in dict.fromkeys(pick.path for pick in plan.files):
        coders = tuple(dict.fromkeys(pick.coder for pick in plan.files if pick.path == path))
        if len({digest_of(candidates[coder], path) for coder in coders}) > 1:
            found.append(Conflict(path=path, coders=coders))
    return found


def settled(
    plan: Plan, conflicts: Sequence[Conflict], answers: Mapping[str, str], rule: str
) -> tuple[dict[str, str], list[Conflict]]:
    """From whom each picked file is taken, and the conflicts with how they were settled.

    Args:
        plan: what was picked.
        conflicts: of the plan.
        answers: by path, whose file it is to be; each path of a conflict is in it.
        rule: who answered.
    """
    taken = {pick.path: pick.coder for pick in plan.files} | {
        conflict.path: answers[conflict.path] for conflict in conflicts
    }
    told = [
        conflict.model_copy(update={'taken': answers[conflict.path], 'rule': rule}) for conflict in conflicts
    ]
    return taken, told


def by_rank(conflicts: Sequence[Conflict], order: Sequence[str]) -> dict[str, str]:
    """Who is ranked first gets its way."""
    return {conflict.path: min(conflict.coders, key=order.index) for conflict in conflicts}


def are_answers(data: object, conflicts: Sequence[Conflict]) -> bool:
    """Whether a person's answers settle all conflicts, each by one of those it is between."""
    return (
        isinstance(data, Mapping)
        and set(data) == {conflict.path for conflict in conflicts}
        and all(data[conflict.path] in conflict.coders for conflict in conflicts)
    )


def digest_of(candidate: Candidate, path: str) -> str | None:
    """What the candidate's newest version has at a path."""
    version = candidate.latest
    files = version.files if version else ()
    return next((file.digest for file in files if file.path == path), None)


async def copy_files(
    checks: Checks,
    best: str,
    taken: Mapping[str, str],
    candidates: Mapping[str, Candidate],
    activity: Activity,
) -> dict[str, object]:
    """Put the picked files into the folder of the best one, and run its tests; gives what `examine` does.

    Raises:
        ToolError: a file cannot be put there, since there is a folder of its name.
    """
    into = activity.workspace(best)
    version = candidates[best].latest
    assert version is not None
    await into.restore(version.snapshot)
    for path, coder in taken.items():
        theirs = candidates[coder].latest
        assert theirs is not None
        file = next(file for file in theirs.files if file.path == path)
        data = await activity.services.workspaces.content(activity.run.id, file.digest)
        await into.write(path, data, executable=file.executable)
    return await examine(checks, best, activity)
