"""Options shared by several commands, and parameters made of options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Command = Callable[..., None]
STORAGE_PANEL = 'Storage'
SHOWN = 'Output'
FLEET = 'Fleet'

PatternName = Annotated[
    str,
    typer.Argument(metavar='PATTERN', help='Name of a pattern; `hemicycle pattern list` lists them.'),
]
RunName = Annotated[
    str,
    typer.Argument(metavar='RUN', help="The run's id, a unique prefix of it, or `last`.", show_default=False),
]
AtRegion = Annotated[
    str, typer.Option('--at', metavar='STATE', help='An active state: applies only to its region.')
]
EventValues = Annotated[
    list[str] | None,
    typer.Option('--set', metavar='NAME=VALUE', help='A value of the event, as text or JSON. Repeatable.'),
]
ChartParameters = Annotated[
    list[str] | None,
    typer.Option('--set', metavar='NAME=VALUE', help='A parameter that the chart depends on. Repeatable.'),
]
PatternVersion = Annotated[
    str,
    typer.Option(
        '--version',
        metavar='VERSION',
        help='A version of the pattern, not the current one.',
        show_default=False,
    ),
]
Database = Annotated[
    str,
    typer.Option(
        '--database',
        metavar='PATH',
        envvar='HEMICYCLE_DATABASE',
        help='The database: a path, or a URL such as `sqlite:///runs.db` or `postgresql://user@host/name`. By'
        " default `hemicycle.db` in the folder `HEMICYCLE_HOME`, or in the system's folder for your data.",
        rich_help_panel=STORAGE_PANEL,
    ),
]
Files = Annotated[
    str,
    typer.Option(
        '--files',
        metavar='URL',
        envvar='HEMICYCLE_FILES',
        help="Shared storage for the agents' files: `s3://bucket/prefix`; server and keys come from"
        ' the usual `AWS_*` variables. By default the files stay on this machine.',
        rich_help_panel=STORAGE_PANEL,
    ),
]
Server = Annotated[
    str,
    typer.Option(
        '--server',
        metavar='URL',
        envvar='HEMICYCLE_SERVER',
        help='The server to use, such as `http://127.0.0.1:8080`, instead of a local database.',
        rich_help_panel=STORAGE_PANEL,
    ),
]
Durability = Annotated[
    str,
    typer.Option(
        '--synchronous',
        metavar='normal|full',
        help='`normal` survives a crash of the process, `full` a crash of the machine.',
        rich_help_panel=STORAGE_PANEL,
    ),
]
Patterns = Annotated[
    list[Path],
    typer.Option(
        '--patterns',
        metavar='DIR',
        help='A folder with your own patterns and tools, one per `.py` file. Repeatable.',
    ),
]
TemporalAddress = Annotated[
    str,
    typer.Option(
        '--temporal',
        metavar='HOST:PORT',
        envvar='HEMICYCLE_TEMPORAL',
        help='The Temporal server that assigns the runs of a fleet to workers.',
        rich_help_panel=FLEET,
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        '--temporal-namespace',
        metavar='NAME',
        envvar='HEMICYCLE_TEMPORAL_NAMESPACE',
        help='One namespace for each database.',
        rich_help_panel=FLEET,
    ),
]
LogShape = Annotated[
    Literal['text', 'json'],
    typer.Option(help='`json` prints one object per line, with the run, the step and the request.'),
]
AsJson = Annotated[
    bool, typer.Option('--json', help='Print JSON, one object per line.', rich_help_panel=SHOWN)
]
Quietly = Annotated[bool, typer.Option('--quiet', '-q', help='Print only the answer.', rich_help_panel=SHOWN)]
Pace = Annotated[
    float | None,
    typer.Option(
        '--pace',
        min=0,
        envvar='HEMICYCLE_PACE',
        metavar='N',
        help='Pieces of text per second that the simulated model streams; 0 is as fast as possible.',
        rich_help_panel=SHOWN,
    ),
]


def replace_parameter(
    command: Command, name: str, added: Sequence[inspect.Parameter], read: Callable[[dict[str, Any]], Any]
) -> Command:
    """Replace a parameter of a command by others, which help lists in its place.

    Args:
        command: the command.
        name: the parameter's name.
        added: the others.
        read: makes the parameter's value from those of the others, by name.
    """

    @functools.wraps(command)
    def run(**given: Any) -> None:
        value = read({parameter.name: given.pop(parameter.name) for parameter in added})
        command(**given, **{name: value})

    own = inspect.signature(command, eval_str=True).parameters
    both = [one for other in own for one in (added if other == name else [own[other]])]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in both]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in named}
    return run
