"""The options for the run that a schedule or trigger starts, and a line for each time it was due."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from engine.records import Launch
from ui.cli.inputs import parse_data
from ui.services.schedules import Tick

PatternOption = Annotated[
    str | None, typer.Option('--pattern', help='The pattern to run.', show_default=False)
]
Parameters = Annotated[
    list[str] | None,
    typer.Option('--set', metavar='NAME=VALUE', help='A parameter; repeatable.', show_default=False),
]
NOT_LATER = 'replay', 'paused', 'breakpoints'
"""Fields of a launch that a schedule or trigger has no options for."""


def new_launch(pattern: str | None, sets: list[str] | None, launch: Mapping[str, Any]) -> Launch:
    """Return the run to start, from the options. Raises `InvalidInput`."""
    return Launch.parse({**launch, 'pattern': pattern or '', 'parameters': parse_data(sets or ())})


def changed_launch(
    before: Launch, pattern: str | None, sets: list[str] | None, launch: Mapping[str, Any]
) -> Launch:
    """Return a run to start with changes: parameters are changed one by one, all else as a whole.

    Another pattern starts without the parameters of the former one. Raises `InvalidInput`.
    """
    values = parse_data(sets or ())
    other = pattern is not None and pattern != before.pattern
    changes = {
        **launch,
        'pattern': before.pattern if pattern is None else pattern,
        'parameters': values if other else {**before.parameters, **values},
    }
    return before.change(changes)


def format_tick(tick: Tick) -> str:
    """Format a due time with its outcome: the run that was started, or why none was."""
    outcome = ' '.join(filter(None, [tick.run if tick.state == 'started' else '', tick.reason]))
    return f'    {format_moment(tick.due, "UTC")}  {tick.state:8}  {outcome}'


def format_moment(moment: float, zone: str) -> str:
    """Format a time in a time zone, with its name."""
    return datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime('%Y-%m-%d %H:%M:%S %Z')
