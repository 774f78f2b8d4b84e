"""What Temporal knows about a run: where it belongs, and why its worker has released it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

WORKFLOW: Final = 'hemicycle-run'
DRIVE, FIND, WAKE = 'drive', 'find', 'wake'
"""The activities, and the signal."""
SCHEDULE_WORKFLOW: Final = 'hemicycle-schedule'
HANDLE: Final = 'handle'
"""Its activity."""
CONTROL: Final = 'hemicycle'
"""The task queue that every worker serves: workflows, and finding workers for runs."""
LABEL_TAG: Final = 'worker:'
"""A run tagged `worker:gpu` is only for workers with the label `gpu`."""
PRIORITY_TAG: Final = 'priority:'
"""Of the runs that wait for the same workers, `priority:1` is taken first and `priority:5` last."""
NORMAL, LOWEST = 3, 5
MAX_KEY: Final = 64
"""Bytes of a fairness key that Temporal takes."""
MEMO: Final = 'waits'
"""The field of the workflow's memo that says why no worker can take its run."""


def workflow_id(run: str) -> str:
    """The id of the workflow that places a run."""
    return f'{WORKFLOW}-{run}'


def label_of(tags: tuple[str, ...]) -> str:
    """The label that a run's tags ask for, or ''."""
    return next((tag.removeprefix(LABEL_TAG) for tag in tags if tag.startswith(LABEL_TAG)), '')


def priority_of(tags: tuple[str, ...]) -> int:
    """The priority that a run's tags ask for: 1, the highest, to `LOWEST`."""
    asked = next((tag.removeprefix(PRIORITY_TAG) for tag in tags if tag.startswith(PRIORITY_TAG)), '')
    return int(asked) if asked in map(str, range(1, LOWEST + 1)) else NORMAL


def queue_name(pattern: str, version: str, label: str) -> str:
    """The task queue of runs that a worker can drive if it has this version of the pattern, and the label."""
    return f'{CONTROL}/{pattern}@{version}' + (f'+{label}' if label else '')


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Which workers may drive a run."""

    run: str
    pattern: str
    version: str
    """Of the pattern's code."""
    label: str = ''
    priority: int = NORMAL
    """Among the runs that wait for the same workers; 1 is taken first."""
    author: str = ''
    """Who started it: of equal priority, the runs of different people are taken in turn."""
    heartbeat: float = 3.0
    """Seconds without a heartbeat after which a worker is considered dead."""

    @property
    def queue(self) -> str:
        """The task queue it waits in."""
        return queue_name(self.pattern, self.version, self.label)


@dataclass(frozen=True, kw_only=True)
class Rest:
    """Why a worker has released a run."""

    why: Literal['ended', 'rests', 'moves']
    """`rests`: it goes on when a person acts or `until` has come. `moves`: another worker should take it."""
    until: float | None = None
    """In seconds since 1970."""
    timers: list[dict[str, Any]] = field(default_factory=list)
    """What is left of its timeouts."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Where a run can continue."""

    version: str
    """Of its pattern; '' if no worker can take it."""
    reason: str = ''
    """Why it has to wait."""
