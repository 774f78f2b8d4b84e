"""Merges candidates: selects files, settles conflicts and copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field, ValidationError

from engine.errors import ToolError
from engine.patterns.competition.evidence import Checks, examine
from engine.patterns.competition.records import Candidate
from engine.records.frozen import FrozenModel
from engine.runtime.activity import Activity


class Selection(FrozenModel):
    """A file that is taken from a candidate."""

    path: str = Field(min_length=1, description='The path of the file')
    coder: str = Field(description='The coder whose implementation it is taken from')


class MergePlan(FrozenModel):
    """Which files are taken from which candidates; all others stay as the best one has them."""

    files: tuple[Selection, ...] = Field(
        default=(), description='Files to take; none to keep the best as it is'
    )
    why: str = Field(default='', description='The reason, in one sentence')


class Conflict(FrozenModel):
    """A path picked from several candidates whose files differ."""

    path: str
    coders: tuple[str, ...]
    taken: str = ''
    """The coder whose file was taken."""
    rule: str = ''
    """The rule that decided: `ranked` or `person`."""


def parse_plan(data: object) -> MergePlan | None:
    """Parse a plan from outside; None if it is invalid."""
    try:
        return MergePlan.model_validate(data)
    except ValidationError:
        return None


def plan_problem(plan: MergePlan, candidates: Mapping[str, Candidate]) -> str:
    """Return why a plan cannot be carried out, or ''."""
    for pick in plan.files:
        candidate = candidates.get(pick.coder)
        if candidate is None or not candidate.in_play:
            return f'there is no implementation {pick.coder!r} to take {pick.path} from'
        if digest_of(candidate, pick.path) is None:
            return f'{pick.coder} has no file {pick.path!r}'
    return ''


def find_conflicts(plan: MergePlan, candidates: Mapping[str, Candidate]) -> list[Conflict]:
    """Find the paths picked from several candidates whose files differ."""
    conflicts = []
    for path in dict.fromkeys(pick.path for pick in plan.files):
        coders = tuple(dict.fromkeys(pick.coder for pick in plan.files if pick.path == path))
        if len({digest_of(candidates[coder], path) for coder in coders}) > 1:
            conflicts.append(Conflict(path=path, coders=coders))
    return conflicts


def settle_conflicts(
    plan: MergePlan, conflicts: Sequence[Conflict], answers: Mapping[str, str], rule: str
) -> tuple[dict[str, str], list[Conflict]]:
    """Return the source of each picked file, and the conflicts with their resolution.

    Args:
        plan: the picked files.
        conflicts: the plan's conflicts.
        answers: the coder whose file to take, for every path in conflict.
        rule: the source of the answers.
    """
    taken = {pick.path: pick.coder for pick in plan.files} | {
        conflict.path: answers[conflict.path] for conflict in conflicts
    }
    settled = [
        conflict.model_copy(update={'taken': answers[conflict.path], 'rule': rule}) for conflict in conflicts
    ]
    return taken, settled


def resolve_by_rank(conflicts: Sequence[Conflict], order: Sequence[str]) -> dict[str, str]:
    """Settle each conflict in favour of the highest-ranked candidate."""
    return {conflict.path: min(conflict.coders, key=order.index) for conflict in conflicts}


def are_answers(data: object, conflicts: Sequence[Conflict]) -> bool:
    """Whether a person's answers settle every conflict with one of its candidates."""
    return (
        isinstance(data, Mapping)
        and set(data) == {conflict.path for conflict in conflicts}
        and all(data[conflict.path] in conflict.coders for conflict in conflicts)
    )


def digest_of(candidate: Candidate, path: str) -> str | None:
    """Return the digest of a path in the candidate's newest version, or None."""
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
    """Copy the picked files into the best candidate's folder and test it; return the result of `examine`.

    Raises:
        ToolError: a file cannot be copied because a folder has its name.
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
        try:
            await into.write(path, data, executable=file.executable)
        except ToolError as error:
            raise ToolError(f'{path} of {coder} could not be merged: {error}') from error
    return await examine(checks, best, activity)
