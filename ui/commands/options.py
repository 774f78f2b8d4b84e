"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WHERE = 'Where runs are kept'
SHOWN = 'What is shown'

RunName = Annotated[
    str,
    typer.Argument(
        metavar='RUN',
        help="The run's id, the beginning of it where that is unique, or `last`.",
        show_default=False,
    ),
]
Database = Annotated[
    str,
    typer.Option(
        '--database',
        metavar='PATH',
        envvar='HEMICYCLE_DATABASE',
        help='The database: a path, or a URL such as `sqlite:///runs.db`. By default `hemicycle.db` in the'
        ' folder `HEMICYCLE_HOME`, or in the one the system has for your data.',
        rich_help_panel=WHERE,
        show_default=False,
    ),
]
Durability = Annotated[
    str,
    typer.Option(
        '--synchronous',
        metavar='normal|full',
        help='`normal` survives the death of the process, `full` that of the machine.',
        rich_help_panel=WHERE,
    ),
]
Patterns = Annotated[
    list[Path],
    typer.Option(
        '--patterns',
        metavar='DIR',
        help='A folder with patterns and tools of your own, one to a `.py` file. Can be given again.',
        show_default=False,
    ),
]
AsJson = Annotated[
    bool, typer.Option('--json', help='JSON on standard output, one object a line.', rich_help_panel=SHOWN)
]
