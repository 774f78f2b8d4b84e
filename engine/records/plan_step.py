"""PlanItem: a plan as a tree of tasks, as screens show it next to the diagram."""

from __future__ import annotations

from typing import Literal

from engine.records.frozen import FrozenModel

StepState = Literal['pending', 'in progress', 'completed', 'failed', 'blocked']


class PlanItem(FrozenModel):
    """One task of a plan; a pattern stores a list of them in the memory field it names as `plan`.

    Screens read it as plain JSON and skip missing fields, so that old runs can still be opened.
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
