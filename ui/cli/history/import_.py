"""hemicycle runs import: import the runs of bundles, and traces of other frameworks."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO

import typer

from engine import Catalog
from engine.errors import BundleError
from engine.history import Imported
from ui.cli.conductors import open_conductor
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.web.exports.text import import_message

EPILOG = """Examples:

```
hemicycle runs import from-a-friend.jsonl.gz
hemicycle runs import *.jsonl.gz --json | jq -r .run
hemicycle runs import traces.json && hemicycle show last
ssh elsewhere hemicycle runs export 3f9 --bundle -o - | hemicycle runs import -
```"""
STANDARD_INPUT = Path('-')


@with_session('as_json', 'database', 'server')
def import_runs(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar='FILE...',
            help='Bundles that `hemicycle runs export` wrote, or OTLP/JSON traces; - reads standard input.',
        ),
    ],
    *,
    session: Session,
) -> None:
    """Import the runs of bundles: each as a whole or not at all. Nothing here is overwritten.

    No run is started: one that was exported unfinished ends here, and can be viewed and forked.

    OpenTelemetry traces (OTLP/JSON) that another framework recorded can be imported too: each trace with
    spans of generative AI becomes a run whose chart is drawn from them.
    """
    for path in files:
        for imported in asyncio.run(_import(session, path)):
            if session.as_json:
                print_json(
                    run=imported.run,
                    origin=imported.origin,
                    outcome=imported.outcome,
                    unfinished=imported.closed,
                )
            else:
                typer.echo(strip_control(import_message(imported)))


async def _import(session: Session, path: Path) -> list[Imported]:
    async with open_conductor(session, Catalog()) as conductor:
        with _open(path) as file:
            try:
                return await conductor.import_bundle(file)
            except BundleError as error:
                raise BundleError(0, f'{path}: {error}') from None


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for `-`. A pipe, which cannot be read twice, is copied first."""
    with ExitStack() as stack:
        file = sys.stdin.buffer if path == STANDARD_INPUT else stack.enter_context(path.open('rb'))
        if not file.seekable():
            copy = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            file = copy
        yield file
