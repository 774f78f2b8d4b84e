"""Collects the candidates' files and test results for the reviewers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.patterns.competition.evidence import given_files
from engine.patterns.competition.records import Candidate, CandidateSummary, ContestMemory, Suite, Version
from engine.runtime.activity import Activity
from engine.statechart.expressions.quoting import fence
from engine.workspace.diff import decode_text

MAX_FILE = 16_000
"""Maximum characters of one file."""
MAX_WORK = 40_000
"""Maximum characters of a candidate's files in total."""
MAX_CHANGED = 12_000
MAX_LISTED = 200
"""Maximum number of files not shown that are named."""
MAX_DETAIL = 300
SHOWN_FAILURES = 6


async def collect_summaries(
    memory: ContestMemory, projects: Sequence[str], activity: Activity, *, worktree: bool
) -> dict[str, object]:
    """Return the newest version of each candidate in play, as `exhibits`; of many files, changed ones first.

    Args:
        memory: the candidates.
        projects: what their folders started with.
        activity: the run's activity.
        worktree: whether the first project was given as a git worktree.
    """
    exhibits = []
    latest = [memory.candidates[name].latest for name in memory.in_play()]
    is_large = any(version and len(version.files) > MAX_LISTED for version in latest)
    given = await given_files(projects, activity, worktree=worktree) if is_large else {}
    for name in memory.in_play():
        candidate = memory.candidates[name]
        version = candidate.latest
        assert version is not None
        before = candidate.versions[-2].snapshot if len(candidate.versions) > 1 else ''
        exhibits.append(
            CandidateSummary(
                coder=name,
                version=version.number,
                text=await _files(version, given, activity),
                changed=await _diff_text(before, version, activity) if before else '',
            ).model_dump()
        )
    return {'exhibits': exhibits}


async def copy_versions(memory: ContestMemory, folders: Iterable[str], activity: Activity) -> dict[str, str]:
    """Copy the newest version of each candidate in play into a subfolder of each of these folders.

    Returns:
        The folders' snapshots, by name.
    """
    snapshots = {}
    for folder in folders:
        place = activity.workspace(folder)
        for name in memory.in_play():
            version = memory.candidates[name].latest
            assert version is not None
            await place.subfolder(name).restore(version.snapshot)
        snapshots[folder] = await place.snapshot()
    return snapshots


def describe_copies(candidates: Iterable[Candidate]) -> str:
    """Describe the contents of a folder after `copy_versions`."""
    latest = ((candidate.coder, candidate.latest) for candidate in candidates if candidate.in_play)
    return ', '.join(
        f'{name}/ (version {version.number}, {len(version.files)} files)'
        for name, version in latest
        if version
    )


async def _files(version: Version, given: Mapping[str, str], activity: Activity) -> str:
    sections: list[str] = []
    chars_left, listed = MAX_WORK, 0
    for file in sorted(version.files, key=lambda file: given.get(file.path) == file.digest):
        text = None
        if chars_left > 0:
            text = decode_text(await activity.services.workspaces.content(activity.run.id, file.digest))
        if text is None:
            listed += 1
            if listed <= MAX_LISTED:
                sections.append(f'--- {file.path} ({file.size} bytes, not shown)')
            continue
        cut = text[: min(MAX_FILE, chars_left)]
        note = f'\n[{len(text) - len(cut)} more characters]' if len(cut) < len(text) else ''
        sections.append(f'--- {file.path}\n{cut.rstrip()}{note}')
        chars_left -= len(cut)
    if listed > MAX_LISTED:
        sections.append(f'[{listed - MAX_LISTED:,} more files, not shown]')
    return '\n\n'.join(sections)


async def _diff_text(before: str, version: Version, activity: Activity) -> str:
    changes = await activity.services.workspaces.diff(activity.run.id, before, version.snapshot)
    return '\n'.join(change.text or f'{change.kind}: {change.path}' for change in changes)[:MAX_CHANGED]


def summarize_tests(candidates: Iterable[Candidate]) -> str:
    """Summarize test results in a few lines per candidate, with reasons for failures."""
    return '\n'.join(line for candidate in candidates for line in _result(candidate))


def _result(candidate: Candidate) -> list[str]:
    version = candidate.latest
    if version is None:
        return [f'{candidate.coder}: no implementation. {candidate.problem}']
    evidence = version.evidence
    lines = [f'{candidate.coder} version {version.number}: {evidence.line}']
    if candidate.problem:
        lines.append(f'{candidate.coder}: its latest attempt failed: {candidate.problem}')
    failing = list_failures(evidence.required)
    return [*lines, fence(f'failed tests of {candidate.coder}', failing)] if failing else lines


def list_failures(suite: Suite) -> str:
    """List the tests that did not pass, with the end of their output."""
    items = [f'{test.name}\n{test.detail[-MAX_DETAIL:]}' for test in suite.failures[:SHOWN_FAILURES]]
    unlisted = suite.failed + suite.errors - len(items)
    return '\n\n'.join([*items, *([f'and {unlisted} more'] if items and unlisted > 0 else [])])
