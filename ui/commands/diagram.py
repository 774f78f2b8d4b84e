"""hemicycle diagram: a pattern's chart as Mermaid, DOT or SVG."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from engine import Catalog, Conductor, InvalidInput
from ui.commands.exits import CODES
from ui.commands.inputs import parameters_of
from ui.commands.options import Patterns
from ui.commands.run import catalog_of
from ui.commands.session import settings_of
from ui.drawing.diagram import FORMATS, drawn_as

EPILOG = f"""Examples:

```
hemicycle diagram supervisor
hemicycle diagram supervisor --format svg --output supervisor.svg
hemicycle diagram supervisor --set execution="side by side" --set workers=2 --folded
```

{CODES}"""


def diagram(  # noqa: PLR0913  (its arguments are the command's)
    pattern: Annotated[
        str,
        typer.Argument(
            metavar='PATTERN', help='Its name; `hemicycle patterns` lists them.', show_default=False
        ),
    ],
    how: Annotated[
        str, typer.Option('--format', metavar='|'.join(FORMATS), help='In which language.')
    ] = 'mermaid',
    output: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE', help='The file to write; by default standard output.', show_default=False
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            '--set',
            metavar='NAME=VALUE',
            help='A parameter that the chart depends on. Can be given again.',
            show_default=False,
        ),
    ] = None,
    folded: Annotated[
        bool, typer.Option('--folded', help='Each agent as one state, without what is inside it.')
    ] = False,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
) -> None:
    """Draw the chart of a pattern, as a run with these parameters would have it; nothing is run."""
    if how not in FORMATS:
        raise InvalidInput({'--format': f'must be {", ".join(FORMATS)}, not {how!r}'})
    catalog = catalog_of(settings_of('', patterns=patterns))
    made = catalog.pattern(pattern)
    values = parameters_of(made, None, sets or [])
    text = asyncio.run(_drawn(catalog, pattern, values, how, folded))
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, 'utf-8')


async def _drawn(catalog: Catalog, pattern: str, values: dict[str, Any], how: str, folded: bool) -> str:
    async with Conductor(catalog=catalog) as conductor:
        return await drawn_as(conductor.draw(pattern, values), how, folded=folded)
