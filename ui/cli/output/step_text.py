"""Lines and styles shared by commands that list runs or steps."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from engine import Status, Transition
from engine.records import Shape
from ui.app.colours import FAILED, style_of
from ui.formatting.plain_text import one_line
from ui.formatting.sentences import FAILURES, step_sentence


def status_in_color(status: Status, error: str = '') -> Text:
    """Return a run's status in its colour, by `style_of`."""
    short = status is Status.DONE and error
    return Text('done with issues' if short else str(status), style=style_of(status, error))


UNBOUNDED = 10_000
"""Width of an output that is not a terminal, where nothing is cut."""


def console(*, stderr: bool = False) -> Console:
    """Return the console that a command writes to; text is not interpreted as markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBOUNDED
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def step_line(transition: Transition, shape: Shape, started: float) -> Text:
    """Return a step's line in a list: its time, its number, and its sentence."""
    line = Text(f'{transition.time - started:8.1f} s {transition.seq:4}  ')
    style = 'bold' if is_workflow_step(transition, shape) else ''
    if transition.event.name in FAILURES:
        style = FAILED
    return line.append(one_line(step_sentence(transition, shape), UNBOUNDED), style=style)


def is_workflow_step(transition: Transition, shape: Shape) -> bool:
    """Whether a step moves the workflow itself, not just an agent inside one of its states."""
    tops = {state.path for state in shape.states if not state.parent}
    return any(path in tops for path in (*transition.left, *transition.entered))


def format_value(value: Any, length: int = 100) -> str:
    """Format a JSON value on one line."""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), length)
