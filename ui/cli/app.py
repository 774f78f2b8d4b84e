"""The command line: `hemicycle`, its help and its version."""

from __future__ import annotations

from typing import Annotated

import typer

from ui.cli.commands import CommandGroup
from ui.cli.exit_codes import CODES

HELP = """Run multi-agent workflows as statecharts; watch, steer and replay them in the browser or here.

Everything works with no key and no network: until a model is chosen, a simulated one plays the agents."""
EPILOG = f"""Examples:

```
hemicycle serve
hemicycle run pipeline --task "Should a small team adopt event sourcing?"
hemicycle show last
```

{CODES}"""

app = typer.Typer(
    cls=CommandGroup,
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode='markdown',
    pretty_exceptions_show_locals=False,
    context_settings={'help_option_names': ['-h', '--help']},
)


def _version(is_requested: bool) -> None:
    if is_requested:
        import importlib.metadata  # Slow to import.

        try:
            typer.echo(f'hemicycle {importlib.metadata.version("hemicycle")}')
        except importlib.metadata.PackageNotFoundError:
            typer.echo('hemicycle (not installed: run from its sources)')
        raise typer.Exit


@app.callback()
def hemicycle(
    version: Annotated[
        bool, typer.Option('--version', callback=_version, is_eager=True, help='Print the version and exit.')
    ] = False,
) -> None:
    """Without a command, print the help."""
