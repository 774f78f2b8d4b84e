"""hemicycle runs import: import bundles of runs and of experiments, and traces of other frameworks."""

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
from ui.web.exports.text import import_messages

EPILOG = """Examples:

```
hemicycle runs import from-a-friend.jsonl.gz
hemicycle runs import *.jsonl.gz --json | jq -r .id
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
            help='Bundles of runs or of an experiment, or OTLP/JSON traces; - reads standard input.',
        ),
    ],
    *,
    session: Session,
) -> None:
    """Import bundles: each as a whole or not at all. Nothing here is overwritten.

    No run is started: one that was exported unfinished ends here, and can be viewed and forked. An experiment
    comes with its dataset, runs, scores and marks; one that was under way is cancelled here.

    OpenTelemetry traces (OTLP/JSON) that another framework recorded can be imported too: each trace with
    spans of generative AI becomes a run whose chart is drawn from them.
    """
    for path in files:
        imported = asyncio.run(_import(session, path))
        for item in imported if session.as_json else ():
            print_json(
                kind=item.kind,
                id=item.id,
                origin=item.origin,
                outcome=item.outcome,
                unfinished=item.closed,
            )
        for text, _ in () if session.as_json else import_messages(imported):
            typer.echo(strip_control(text))


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
