"""The command line: `hemicycle` and its commands."""

from __future__ import annotations

import importlib.metadata
from typing import Annotated

import typer

from ui.commands import (
    annotate,
    audit,
    breaking,
    bring,
    checking,
    compare,
    diagram,
    export,
    fork,
    lineage,
    patterns,
    remove,
    resume,
    run,
    runs,
    serve,
    show,
    stepping,
    traffic,
)
from ui.commands.exits import CODES, Guarded

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
    cls=Guarded,
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode='markdown',
    pretty_exceptions_show_locals=False,
    context_settings={'help_option_names': ['-h', '--help']},
)
for name, command, epilog, panel in (
    ('serve', serve.serve, serve.EPILOG, 'Run'),
    ('run', run.run, run.EPILOG, 'Run'),
    ('resume', resume.resume, resume.EPILOG, 'Run'),
    ('fork', fork.fork, fork.FORK, 'Run'),
    ('rerun', fork.rerun, fork.RERUN, 'Run'),
    ('retry', fork.retry, fork.RETRY, 'Run'),
    ('step', stepping.step, stepping.STEP_EPILOG, 'Debug'),
    ('pause', stepping.pause, stepping.PAUSE_EPILOG, 'Debug'),
    ('break', breaking.break_, breaking.EPILOG, 'Debug'),
    ('runs', runs.runs, runs.EPILOG, 'Look'),
    ('show', show.show, show.EPILOG, 'Look'),
    ('lineage', lineage.lineage, lineage.EPILOG, 'Look'),
    ('compare', compare.compare, compare.EPILOG, 'Look'),
    ('traffic', traffic.traffic, traffic.EPILOG, 'Look'),
    ('save-test', checking.save_test, checking.SAVE, 'Look'),
    ('check', checking.check, checking.CHECK, 'Look'),
    ('audit', audit.audit, audit.EPILOG, 'Look'),
    ('note', annotate.note, annotate.NOTE, 'Keep'),
    ('star', annotate.star, annotate.STAR, 'Keep'),
    ('pin', annotate.pin, annotate.PIN, 'Keep'),
    ('delete', remove.delete, remove.DELETE, 'Keep'),
    ('restore', remove.restore, remove.RESTORE, 'Keep'),
    ('purge', remove.purge, remove.PURGE, 'Keep'),
    ('retain', remove.retain, remove.RETAIN, 'Keep'),
    ('export', export.export, export.EPILOG, 'Share'),
    ('import', bring.bring, bring.EPILOG, 'Share'),
    ('patterns', patterns.patterns, patterns.EPILOG, 'Look'),
    ('diagram', diagram.diagram, diagram.EPILOG, 'Look'),
):
    app.command(name, epilog=epilog, rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f'hemicycle {importlib.metadata.version("hemicycle")}')
        except importlib.metadata.PackageNotFoundError:
            typer.echo('hemicycle (not installed: run from its sources)')
        raise typer.Exit


@app.callback()
def hemicycle(
    version: Annotated[
        bool, typer.Option('--version', callback=_version, is_eager=True, help='Say the version, and stop.')
    ] = False,
) -> None:
    """Nothing by itself: the help says what there is."""
