"""Temporal's records of a run: which workers may drive it, and why its worker released it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

WORKFLOW: Final = 'hemicycle-run'
DRIVE, FIND, WAKE = 'drive', 'find', 'wake'
"""The activities, and the signal."""
SCHEDULE_WORKFLOW: Final = 'hemicycle-schedule'
HANDLE: Final = 'handle'
"""The activity of `SCHEDULE_WORKFLOW`."""
CONTROL: Final = 'hemicycle'
"""The task queue that every worker serves, for workflows and for finding workers."""
LABEL_TAG: Final = 'worker:'
"""A run tagged `worker:gpu` can only be driven by workers with the label `gpu`."""
PRIORITY_TAG: Final = 'priority:'
"""Among runs that wait for the same workers, `priority:1` is taken first and `priority:5` last."""
NORMAL, LOWEST = 3, 5
MAX_KEY: Final = 64
"""Maximum bytes of a Temporal fairness key."""
MEMO: Final = 'waits'
"""The field of the workflow's memo with the reason why no worker can take the run."""


def workflow_id(run: str) -> str:
    """Return the id of the workflow that places a run."""
    return f'{WORKFLOW}-{run}'


def label_of(tags: tuple[str, ...]) -> str:
    """Return the label in a run's tags, or ''."""
    return next((tag.removeprefix(LABEL_TAG) for tag in tags if tag.startswith(LABEL_TAG)), '')


def priority_of(tags: tuple[str, ...]) -> int:
    """Return the priority in a run's tags: from 1, the highest, to `LOWEST`."""
    priority = next((tag.removeprefix(PRIORITY_TAG) for tag in tags if tag.startswith(PRIORITY_TAG)), '')
    return int(priority) if priority in map(str, range(1, LOWEST + 1)) else NORMAL


def queue_name(pattern: str, version: str, label: str) -> str:
    """Return the task queue for workers with this version of the pattern and this label."""
    return f'{CONTROL}/{pattern}@{version}' + (f'+{label}' if label else '')


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Which workers may drive a run."""

    run: str
    pattern: str
    version: str
    """The version that the run was started with."""
    label: str = ''
    priority: int = NORMAL
    """The priority among runs that wait for the same workers; 1 is taken first."""
    author: str = ''
    """Who started it: at equal priority, different people's runs are taken in turn."""
    heartbeat: float = 3.0
    """Seconds without a heartbeat after which a worker is considered dead."""

    @property
    def queue(self) -> str:
        """The task queue it waits in."""
        return queue_name(self.pattern, self.version, self.label)


@dataclass(frozen=True, kw_only=True)
class ReleaseReason:
    """Why a worker has released a run."""

    why: Literal['ended', 'rests', 'moves']
    """`rests`: it continues when a person acts or at `until`. `moves`: another worker should take it."""
    until: float | None = None
    """Seconds since 1970."""
    timers: list[dict[str, Any]] = field(default_factory=list)
    """The remaining timeouts."""


@dataclass(frozen=True, kw_only=True)
class PlacementResult:
    """The result of looking for a worker for a run."""

    version: str
    """A version of its pattern that can continue it; '' if no worker can."""
    reason: str = ''
    """Why it has to wait."""
