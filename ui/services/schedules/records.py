"""Records of schedules, triggers and ticks (one tick per due time, with its outcome)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.errors import EngineError
from engine.records import Instant, Launch, RunId
from ui.services.schedules.spec import Overlap, ScheduleSpec

TickState = Literal['claimed', 'started', 'skipped', 'missed', 'buffered', 'failed', 'seen']


class UnknownSchedule(EngineError):
    """There is no schedule with that id."""

    def __init__(self, schedule: str) -> None:
        super().__init__(f'there is no schedule {schedule!r}')


class UnknownTrigger(EngineError):
    """There is no trigger with that id."""

    def __init__(self, trigger: str) -> None:
        super().__init__(f'there is no trigger {trigger!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePolicy:
    """The policy for overlapping runs and missed times."""

    overlap: Overlap = 'skip'
    """While the previous run is unfinished: `skip` this time, `buffer_one` until it ends, `allow_all`, or
    `cancel_other`, which cancels the previous run."""
    catchup_window: float = 3_600.0
    """Seconds after which a time that passed while no server was running counts as missed."""
    pause_on_failure: bool = False
    """Whether to pause once a run has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Starts a run whenever it is due."""

    id: str = ''
    name: str
    action: Launch
    """The run to start."""
    spec: ScheduleSpec
    policy: SchedulePolicy = SchedulePolicy()
    paused: bool = False
    note: str = ''
    """Why it is paused, for example."""
    created: Instant = 0.0
    author: str = ''
    next_times: tuple[Instant, ...] = ()
    """Computed: the next due times; none while it is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Starts a run when a signed webhook or a file arrives."""

    id: str = ''
    name: str
    kind: Literal['webhook', 'file']
    action: Launch
    """The run to start."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """JSON Pointers into the payload by parameter. A file's payload has `path`, `name`, `size` and `text`."""
    files: str = ''
    """For files: a path with wildcards in the last part, such as `/srv/in/*.csv`."""
    secret: str = ''
    """For webhooks: the signing secret."""
    paused: bool = False
    created: Instant = 0.0
    author: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One time at which a schedule was due or a trigger fired, and its outcome."""

    id: str
    source: str
    """The schedule or trigger."""
    due: Instant
    state: TickState
    run: RunId = RunId('')
    reason: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that a trigger adds to those of the action."""
    version: int = 0


def tick_run(tick: str) -> RunId:
    """Return the id of the run that a tick starts, which is the same for every attempt."""
    return RunId(hashlib.sha256(tick.encode()).hexdigest()[:12])
