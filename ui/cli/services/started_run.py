"""The options for the run that a schedule or trigger starts, and a line for each time it was due."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from ui.cli.inputs import parse_data
from ui.services.schedules import Action, Tick

PatternOption = Annotated[
    str | None, typer.Option('--pattern', help='The pattern to run.', show_default=False)
]
Parameters = Annotated[
    list[str] | None,
    typer.Option('--set', metavar='NAME=VALUE', help='A parameter; repeatable.', show_default=False),
]
Tags = Annotated[
    list[str] | None, typer.Option('--tag', help='Tag of the runs. Repeatable.', show_default=False)
]
NewName = Annotated[
    str | None, typer.Option('--name', metavar='NAME', help='With `change`: a new name.', show_default=False)
]


def new_action(pattern: str | None, sets: list[str] | None, tags: list[str] | None) -> Action:
    """Return the run to start, from the options. Raises `InvalidInput`."""
    return Action(pattern=pattern or '', parameters=parse_data(sets or ()), tags=tuple(tags or ()))


def changed_action(
    before: Action, pattern: str | None, sets: list[str] | None, tags: list[str] | None
) -> Action:
    """Return a run to start with changes: parameters are changed one by one, tags as a whole.

    Another pattern starts without the parameters of the former one. Raises `InvalidInput`.
    """
    values = parse_data(sets or ())
    other = pattern is not None and pattern != before.pattern
    return replace(
        before,
        pattern=before.pattern if pattern is None else pattern,
        parameters=values if other else {**before.parameters, **values},
        tags=before.tags if tags is None else tuple(tag for tag in tags if tag),
    )


def format_tick(tick: Tick) -> str:
    """Format a due time with its outcome: the run that was started, or why none was."""
    outcome = ' '.join(filter(None, [tick.run if tick.state == 'started' else '', tick.reason]))
    return f'    {format_moment(tick.due, "UTC")}  {tick.state:8}  {outcome}'


def format_moment(moment: float, zone: str) -> str:
    """Format a time in a time zone, with its name."""
    return datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime('%Y-%m-%d %H:%M:%S %Z')
