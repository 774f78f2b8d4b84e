"""The options for the run that a schedule or trigger starts, and a line for each time it was due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records import Launch
from ui.app.services.schedules import Tick
from ui.formatting.values import moment_text

NOT_LATER = 'replay', 'stubs', 'paused', 'breakpoints'
"""Fields of a launch that a schedule or trigger has no options for."""


def new_launch(launch: Mapping[str, Any]) -> Launch:
    """Return the run to start, from the options. Raises `InvalidInput`."""
    return Launch.parse({'pattern': '', **launch})


def changed_launch(before: Launch, launch: Mapping[str, Any]) -> Launch:
    """Return a run to start with changes: parameters are changed one by one, all else as a whole.

    Another pattern starts without the parameters of the former one. Raises `InvalidInput`.
    """
    parameters = before.parameters if launch.get('pattern', before.pattern) == before.pattern else {}
    return before.change({**launch, 'parameters': {**parameters, **launch.get('parameters', {})}})


def format_tick(tick: Tick) -> str:
    """Format a due time with its outcome: the run that was started, or why none was."""
    outcome = ' '.join(filter(None, [tick.run if tick.state == 'started' else '', tick.reason]))
    return f'    {moment_text(tick.due, "UTC")}  {tick.state:8}  {outcome}'
