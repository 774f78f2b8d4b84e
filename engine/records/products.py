"""What runs produce, as journaled: artifacts, completion criteria, plans and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.records.frozen import FrozenModel

StepState = Literal['pending', 'in progress', 'completed', 'failed', 'blocked']


class Artifact(FrozenModel):
    """An artifact of an agent, as journaled."""

    value: Any
    """A text or a JSON value; if it is too long, the beginning of its text."""
    by: str = ''
    """The tool that made it; '' for the agent's own words."""
    size: int = 0
    """Length in characters, of the text or of the JSON text."""
    kept: str = ''
    """If it is too long to journal: the id of the full value among the run's contents."""


class Criterion(FrozenModel):
    """Whether a completion criterion is met, as journaled."""

    name: str
    holds: bool
    missing: str = ''
    """What is missing, in words; '' if it is met."""


class PlanItem(FrozenModel):
    """One task of a plan; a pattern stores a list of them in the memory field it names as `plan`.

    Screens read it as plain JSON and skip missing fields: a pattern's own steps may have only some of them.
    """

    id: str
    title: str
    role: str = ''
    """The role that does it."""
    state: StepState = 'pending'
    """`blocked` waits for others to end."""
    after: tuple[str, ...] = ()
    """The ids of the tasks that must end before it starts."""
    result: str = ''
    """Its result, or why it failed."""
    steps: tuple[PlanItem, ...] = ()
    """Its subtasks."""


class PlanEntry(FrozenModel):
    """A step of the plan that an external agent has made for itself."""

    content: str
    status: Literal['pending', 'in_progress', 'completed']
    priority: Literal['high', 'medium', 'low'] = 'medium'


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedReport:
    """The report of a run at one of its steps."""

    text: str = ''
    """As Markdown; '' if there is none."""
    data: Mapping[str, Any] | None = None
    """As JSON values, if the pattern builds it from data."""
    final: bool = True
    """Whether the work has ended; otherwise it only says how far it has come."""
