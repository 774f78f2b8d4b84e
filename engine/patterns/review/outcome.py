"""The outcome of a parallel review, in words: what was delivered, or why nothing was."""

from __future__ import annotations

from engine.patterns.review.memory import ReviewMemory
from engine.patterns.review.prompts import demands


def record_delivery(memory: ReviewMemory, *, wanted_approval: bool) -> None:
    """Record how the delivered candidate did, and how it falls short.

    Args:
        memory: the run's memory; `result` is set.
        wanted_approval: whether the reviewers agreed to approve.
    """
    version = memory.candidates[memory.result].latest
    assert version is not None
    evidence = version.evidence
    count = memory.revision_count
    after = f'after {count} revision{"s" if count != 1 else ""}'
    outcome = 'Approved'
    if not memory.approved:
        outcome, memory.caveat = 'Not approved', f'not approved {after}'
        other = memory.other_approval
        if wanted_approval and other:
            memory.caveat = f'not approved: {other}'
            outcome = f'Not approved: {other}. Delivered'
    unmerged = f' Nothing was merged: {memory.plan_problem}.' if memory.plan_problem else ''
    open_points = '' if memory.approved else ''.join(f'\n- {point}' for point in demands(memory))
    unheeded = ''.join(f'\n- {comment.line_text}' for comment in memory.comments if comment.is_unheeded)
    memory.outcome = (
        f'{outcome}: {memory.result}, version {version.number}, {after}. '
        f'{evidence.title.capitalize()}: {evidence.required.line}.{unmerged}'
        + (f'\nStill to be changed:{open_points}' if open_points else '')
        + (f'\nComments by people that no coder received:{unheeded}' if unheeded else '')
        + ''.join(f'\n{name} took no part in the end: {why}' for name, why in memory.silent.items())
    )


def record_failure(memory: ReviewMemory, problem: str) -> None:
    """Record why there is nothing to deliver; `problem` comes first, if there is one."""
    reasons = [problem] if problem else []
    reasons += [
        f'{conflict.path} differs between {" and ".join(conflict.coders)}'
        for conflict in reversed(memory.file_conflicts)
        if not conflict.taken
    ]
    reasons += [f'{item.coder}: {item.problem}' for item in memory.candidates.values() if item.problem]
    reasons += [f'{name}: {reason}' for name, reason in memory.debate.absent.items()]
    memory.caveat = reasons[0] if reasons else ''
    memory.outcome = ''.join(['Failed.', *(f'\n- {line}' for line in dict.fromkeys(reasons))])


def objection(memory: ReviewMemory, *, must_pass: bool) -> str:
    """Return why the best candidate cannot be approved, or ''.

    Args:
        memory: the run's memory.
        must_pass: whether tests have to pass.
    """
    if not memory.best:
        return 'no candidate was picked'
    version = memory.candidates[memory.best].latest
    assert version is not None
    if memory.other_approval:
        return memory.other_approval
    if not is_shown(memory, memory.best):
        return f'version {version.number} was not reviewed'
    if comments := memory.open_comments(memory.best, human=True):
        noun = 'comment' if len(comments) == 1 else 'comments'
        return f'version {version.number} has {len(comments)} open {noun}'
    return test_problem(memory, memory.best, must_pass=must_pass)


def test_problem(memory: ReviewMemory, name: str, *, must_pass: bool) -> str:
    """Return why the tests object to a candidate in play, or ''."""
    version = memory.candidates[name].latest
    if must_pass and version and not version.evidence.ok:
        return f'{version.evidence.title}: {version.evidence.required.line}'
    return ''


def is_shown(memory: ReviewMemory, name: str) -> bool:
    """Return whether the reviewers were shown a candidate's latest version."""
    latest, exhibit = memory.candidates[name].latest, memory.exhibits.get(name)
    return latest is not None and exhibit is not None and exhibit.version == latest.number
