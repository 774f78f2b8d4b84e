"""The retention policy: which runs are old, many or large enough to be deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.records import RunId, RunInfo

DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long runs are kept. A limit of None deletes nothing.

    Never deleted: runs that are pinned, starred or unfinished, and ancestors of runs that stay. They count
    towards `size`, since they occupy space, but not towards `runs`.
    """

    days: float | None = None
    """Runs that ended more days ago than this are deleted."""
    runs: int | None = None
    """How many of the newest runs to keep per pattern, so that a busy pattern does not displace others."""
    size: int | None = None
    """Maximum size of all runs together, in bytes; those that ended first are deleted first."""
    trash_days: float = 7.0
    """Number of days for which a deleted run can be restored."""

    @property
    def idle(self) -> bool:
        """Whether the policy deletes nothing."""
        return self.days is None and self.runs is None and self.size is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredRun:
    """A run that is due to be deleted, and why."""

    info: RunInfo
    bytes: int
    reason: str


def expired_runs(policy: Retention, runs: Sequence[tuple[RunInfo, int]], now: float) -> list[ExpiredRun]:
    """Return the runs the policy deletes now, oldest first.

    Args:
        policy: the limits.
        runs: all runs outside the trash, with their bytes.
        now: seconds since 1970.
    """
    sizes = {info.id: size for info, size in runs}
    candidates = sorted(
        (info for info, _ in runs if _is_deletable(info)), key=lambda info: (info.updated, info.id)
    )
    reasons = _by_age(policy, candidates, now) | _by_count(policy, candidates)
    _spare_parents(reasons, [info for info, _ in runs])
    if policy.size is not None:
        _by_size(policy.size, candidates, reasons, sizes, [info for info, _ in runs])
    return [
        ExpiredRun(info=info, bytes=sizes[info.id], reason=reasons[info.id])
        for info in candidates
        if info.id in reasons
    ]


def _is_deletable(info: RunInfo) -> bool:
    return info.status.ended and not (info.pinned or info.starred or info.deleted)


def _by_age(policy: Retention, candidates: Iterable[RunInfo], now: float) -> dict[RunId, str]:
    if policy.days is None:
        return {}
    reason = f'ended more than {policy.days:g} days ago'
    return {info.id: reason for info in candidates if now - info.updated > policy.days * DAY}


def _by_count(policy: Retention, candidates: Iterable[RunInfo]) -> dict[RunId, str]:
    if policy.runs is None:
        return {}
    reasons: dict[RunId, str] = {}
    of_pattern: dict[str, list[RunInfo]] = defaultdict(list)
    for info in candidates:
        of_pattern[info.pattern].append(info)
    for pattern, infos in of_pattern.items():
        newest = sorted(infos, key=lambda info: (info.created, info.id), reverse=True)
        reason = f'not among the {policy.runs:,} newest of {pattern}'
        reasons |= {info.id: reason for info in newest[policy.runs :]}
    return reasons


def _spare_parents(reasons: dict[RunId, str], everything: Iterable[RunInfo]) -> None:
    """Spare runs with a surviving descendant."""
    parents = {info.id: info.parent for info in everything}
    for run in [run for run in parents if run not in reasons]:
        parent = parents[run]
        while parent is not None and parent in reasons:
            del reasons[parent]
            parent = parents.get(parent)


def _by_size(
    most: int,
    candidates: Sequence[RunInfo],
    reasons: dict[RunId, str],
    sizes: dict[RunId, int],
    everything: Sequence[RunInfo],
) -> None:
    """Pick runs, earliest end first, until the rest fit; a parent only once all its forks are picked."""
    left = sum(sizes.values()) - sum(sizes[run] for run in reasons)
    forks: dict[RunId, set[RunId]] = defaultdict(set)
    for info in everything:
        if info.parent and info.id not in reasons:
            forks[info.parent].add(info.id)
    todo = [info for info in candidates if info.id not in reasons]
    while left > most:
        free = next((info for info in todo if not forks[info.id]), None)
        if free is None:
            return
        todo.remove(free)
        reasons[free.id] = f'all runs together take more than {most:,} bytes'
        left -= sizes[free.id]
        if free.parent:
            forks[free.parent].discard(free.id)
