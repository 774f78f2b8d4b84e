"""Records of schedules, triggers and ticks (one tick per due time, with its outcome)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from engine.errors import EngineError
from engine.operations.experiments import Experiment
from engine.records import COMPUTED, HIDDEN, Instant, Label, Launch, RunId
from ui.app.services.schedules.spec import Overlap, ScheduleSpec

TickState = Literal['claimed', 'started', 'skipped', 'missed', 'buffered', 'failed', 'seen']


KINDS = Label('Triggered by', {'webhook': 'A signed webhook', 'file': 'A file'})


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
    """How late a run may start after an outage, in seconds; 3,600 by default."""
    pause_on_failure: StrictBool = False
    """Pause after a failed run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Starts a run or an experiment whenever it is due."""

    id: Annotated[str, COMPUTED] = ''
    name: Annotated[str, Field(max_length=200), Label('Name')]
    """What to call it."""
    action: Launch | None = None
    """The run to start; none if it starts an experiment."""
    experiment: Experiment | None = None
    """The experiment to start in place of a run."""
    spec: ScheduleSpec
    policy: SchedulePolicy = SchedulePolicy()
    paused: StrictBool = False
    """Start no runs for now."""
    note: Annotated[str, Field(max_length=2_000)] = ''
    """A note, such as why it is paused."""
    created: Annotated[Instant, COMPUTED] = 0.0
    author: Annotated[str, COMPUTED] = ''
    next_times: Annotated[tuple[Instant, ...], COMPUTED] = ()
    """The next due times; none while it is paused."""
    problem: Annotated[str, COMPUTED] = ''
    """Why it could start nothing now, such as a pattern or a dataset that is gone; '' if it could."""

    @property
    def launch(self) -> Launch | None:
        """The run that it starts, or how its experiment runs cases."""
        return self.experiment.base if self.experiment else self.action

    @property
    def pattern(self) -> str:
        """The pattern of what it starts."""
        return self.launch.pattern if self.launch else ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Starts a run when a signed webhook or a file arrives."""

    id: Annotated[str, COMPUTED] = ''
    name: Annotated[str, Field(max_length=200), Label('Name')]
    """What to call it."""
    kind: Annotated[Literal['webhook', 'file'], KINDS] = 'webhook'
    """What sets it off."""
    action: Launch
    """The run to start."""
    files: Annotated[str, Field(max_length=1_000), Label('Files')] = ''
    """Start a run for each new file here; the last part may have wildcards: `/srv/in/*.csv`."""
    mapping: Annotated[Mapping[str, str], Field(max_length=100)] = field(default_factory=dict)
    """Take a parameter from the payload: a JSON Pointer into the body of the webhook, or `/path`, `/name`,
    `/size` or `/text` of the file."""
    secret: Annotated[str, Field(max_length=200), HIDDEN] = ''
    """Signs webhooks: `whsec_` and base64. By default a new one, which is shown once."""
    paused: StrictBool = False
    """Start no runs for now."""
    created: Annotated[Instant, COMPUTED] = 0.0
    author: Annotated[str, COMPUTED] = ''

    @property
    def pattern(self) -> str:
        """The pattern of what it starts."""
        return self.action.pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One time at which a schedule was due or a trigger fired, and its outcome."""

    id: str
    source: str
    """The schedule or trigger."""
    due: Instant
    state: TickState
    run: RunId = RunId('')
    """The id of the run, or of the experiment, that it starts."""
    experiment: bool = False
    """Whether it starts an experiment."""
    reason: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that a trigger adds to those of the action."""
    version: int = 0


def tick_run(tick: str) -> RunId:
    """Return the id of what a tick starts, which is the same for every attempt."""
    return RunId(hashlib.sha256(tick.encode()).hexdigest()[:12])
