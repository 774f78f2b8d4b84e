"""hemicycle import: take in the runs of bundles."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from engine import BundleError, Catalog, Imported, import_bundle
from ui.commands.options import AsJson, Database
from ui.commands.session import running, settings_of, storage_of
from ui.commands.showers import json_line
from ui.exports.outcomes import told
from ui.plain import plain
from ui.settings import Settings, Storage

EPILOG = """Examples:

```
hemicycle import from-a-friend.jsonl.gz
hemicycle import *.jsonl.gz --json | jq -r .run
```"""


def bring(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar='FILE...', help='Bundles that `hemicycle export` wrote.')
    ],
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Take in the runs of bundles. A file is taken in as a whole or not at all; nothing here is overwritten.

    No run starts by itself: one that came unfinished ends here, and can be looked at and forked.
    """
    storage, settings = storage_of(context), settings_of(database)
    for path in files:
        for found in asyncio.run(_bring(storage, settings, path)):
            if as_json:
                json_line(run=found.run, origin=found.origin, outcome=found.outcome, unfinished=found.closed)
            else:
                typer.echo(plain(told(found)))


async def _bring(storage: Storage, settings: Settings, path: Path) -> list[Imported]:
    async with running(storage, settings, Catalog()) as conductor:
        with path.open('rb') as file:
            try:
                return await import_bundle(conductor, file)
            except BundleError as error:
                raise BundleError(0, f'{path}: {error}') from None
