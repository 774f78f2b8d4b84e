"""Gathers the candidates' files for those who judge them, and says what the tests gave."""

from __future__ import annotations

from collections.abc import Iterable

from engine.activity import Activity
from engine.contest.records import Candidate, ContestMemory, Exhibit, Suite, Version
from engine.debate.fence import fenced
from engine.files.difference import decoded

MOST_FILE = 16_000
"""Characters of one file."""
MOST_WORK = 40_000
"""Characters of all files of one candidate."""
MOST_CHANGED = 12_000
MOST_DETAIL = 300
SHOWN_FAILURES = 6


async def gather(memory: ContestMemory, activity: Activity) -> dict[str, object]:
    """Read the newest version of each candidate in play; gives `exhibits`."""
    exhibits = []
    for name in memory.in_play():
        candidate = memory.candidates[name]
        version = candidate.latest
        assert version is not None
        before = candidate.versions[-2].snapshot if len(candidate.versions) > 1 else ''
        exhibits.append(
            Exhibit(
                coder=name,
                version=version.number,
                text=await _files(version, activity),
                changed=await _changed(before, version, activity) if before else '',
            ).model_dump()
        )
    return {'exhibits': exhibits}


async def _files(version: Version, activity: Activity) -> str:
    shown: list[str] = []
    left = MOST_WORK
    for file in version.files:
        data = await activity.services.workspaces.content(activity.run.id, file.digest)
        text = decoded(data)
        if text is None or left <= 0:
            shown.append(f'--- {file.path} ({file.size} bytes, not shown)')
            continue
        cut = text[: min(MOST_FILE, left)]
        note = f'\n[{len(text) - len(cut)} more characters]' if len(cut) < len(text) else ''
        shown.append(f'--- {file.path}\n{cut.rstrip()}{note}')
        left -= len(cut)
    return '\n\n'.join(shown)


async def _changed(before: str, version: Version, activity: Activity) -> str:
    changes = await activity.services.workspaces.diff(activity.run.id, before, version.snapshot)
    return '\n'.join(change.text or f'{change.kind}: {change.path}' for change in changes)[:MOST_CHANGED]


def results(candidates: Iterable[Candidate]) -> str:
    """What the tests gave, a few lines for each candidate; of those that failed, why."""
    return '\n'.join(line for candidate in candidates for line in _result(candidate))


def _result(candidate: Candidate) -> list[str]:
    version = candidate.latest
    if version is None:
        return [f'{candidate.coder}: no implementation. {candidate.problem}']
    evidence = version.evidence
    lines = [
        f'{candidate.coder} version {version.number}: required tests: {evidence.required.line}; '
        f'tests of its own: {evidence.own.line}'
    ]
    if candidate.problem:
        lines.append(f'{candidate.coder}: its latest attempt came to nothing: {candidate.problem}')
    failing = failures(evidence.required)
    return [*lines, fenced(f'what failed in {candidate.coder}', failing)] if failing else lines


def failures(suite: Suite) -> str:
    """The tests that did not pass, with the end of what each said."""
    shown = [f'{test.name}\n{test.detail[-MOST_DETAIL:]}' for test in suite.failures[:SHOWN_FAILURES]]
    more = suite.failed + suite.errors - len(shown)
    return '\n\n'.join([*shown, *([f'and {more} more'] if shown and more > 0 else [])])
