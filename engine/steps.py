"""Steps: a plan as a tree of what is to be done, as screens show it beside the diagram."""

from __future__ import annotations

from typing import Literal

from engine.frozen import Record

StepState = Literal['pending', 'in progress', 'completed', 'failed', 'blocked']


class Step(Record):
    """One thing that is to be done; a pattern keeps a list of them in the field of memory it names as `plan`.

    Screens read it as plain JSON and leave out what is not there, so that old runs keep opening.
    """

    id: str
    title: str
    role: str = ''
    """Who does it."""
    state: StepState = 'pending'
    """`blocked` is one that waits for others to end."""
    after: tuple[str, ...] = ()
    """The ids of those that must have ended before it begins."""
    result: str = ''
    """What came of it, or why it failed."""
    steps: tuple[Step, ...] = ()
    """What it consists of."""
