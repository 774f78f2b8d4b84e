"""hemicycle chart export: a pattern in Python as a chart file, as far as that can say it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.charts.export import export_chart
from ui.cli.exit_codes import CODES
from ui.cli.inputs import parse_parameters
from ui.cli.options import ChartParameters, PatternName
from ui.cli.session import Session, with_session
from ui.formatting.fields.parameters import describe_pattern

EPILOG = f"""Examples:

```
hemicycle chart export pipeline > my-pipeline.chart.yaml
hemicycle chart export vote --set voters=5 --name five-voters --output five-voters.chart.yaml
```

What only Python can do is left out: a comment says so at its place, and standard error lists it.

{CODES}"""


@with_session('patterns')
def export(
    pattern: PatternName,
    sets: ChartParameters = None,
    name: Annotated[
        str,
        typer.Option(metavar='NAME', help="The chart's name. Default: the pattern's.", show_default=False),
    ] = '',
    output: Annotated[
        Path | None, typer.Option(metavar='FILE', help='File to write. Default: standard output.')
    ] = None,
    *,
    session: Session,
) -> None:
    """Print a pattern as a chart file, with the states it has for these parameters."""
    python = session.catalog.pattern(pattern)
    values = parse_parameters(describe_pattern(python), None, sets or [])
    exported = export_chart(python, values, name=name)
    if output is None:
        typer.echo(exported.text, nl=False)
    else:
        output.write_text(exported.text, 'utf-8')
    for line in exported.missing:
        typer.echo(f'cannot be said: {line}', err=True)
