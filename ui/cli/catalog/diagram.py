"""hemicycle pattern draw: a pattern's chart as Mermaid, DOT or SVG."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from engine import InvalidInput
from ui.cli.exit_codes import CODES
from ui.cli.inputs import parse_parameters
from ui.cli.options import ChartParameters, PatternName, PatternVersion
from ui.cli.remote import find_pattern, find_shape
from ui.cli.session import Session, with_session
from ui.formatting.diagram.rendering import FORMATS, export_chart

EPILOG = f"""Examples:

```
hemicycle pattern draw supervisor
hemicycle pattern draw supervisor --format svg --output supervisor.svg
hemicycle pattern draw supervisor --set execution="side by side" --set workers=2 --folded
```

{CODES}"""


@with_session('patterns', 'server')
def draw(
    pattern: PatternName,
    how: Annotated[
        str, typer.Option('--format', metavar='|'.join(FORMATS), help='Output format.')
    ] = 'mermaid',
    output: Annotated[
        Path | None,
        typer.Option(metavar='FILE', help='File to write. Default: standard output.'),
    ] = None,
    sets: ChartParameters = None,
    folded: Annotated[bool, typer.Option('--folded', help='Draw each agent as one state.')] = False,
    version: PatternVersion = '',
    *,
    session: Session,
) -> None:
    """Draw the chart of a pattern with these parameters, without running it."""
    if how not in FORMATS:
        raise InvalidInput({'--format': f'must be {", ".join(FORMATS)}, not {how!r}'})
    text = asyncio.run(_draw(session, pattern, sets or [], how, folded, version))
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, 'utf-8')


async def _draw(session: Session, pattern: str, sets: list[str], how: str, folded: bool, version: str) -> str:
    values = parse_parameters(await find_pattern(session, pattern, version=version), None, sets)
    return await export_chart(await find_shape(session, pattern, values, version), how, folded=folded)
