"""hemicycle lineage: the family of a run, as a tree."""

from __future__ import annotations

import asyncio

import typer

from engine import Kin
from ui.commands.exits import CODES
from ui.commands.options import AsJson, Database, RunName
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.plain import plain
from ui.settings import Settings, Storage

EPILOG = f"""Examples:

```
hemicycle lineage last
hemicycle lineage last --json | jq -r 'select(.winner) | .id'
```

{CODES}"""


def lineage(
    context: typer.Context, run: RunName = 'last', as_json: AsJson = False, database: Database = ''
) -> None:
    """Show what a run was forked from, and all that was forked, run again or retried of these."""
    found, kin = asyncio.run(_lineage(storage_of(context), settings_of(database), run))
    for depth, one in kin.members():
        if as_json:
            json_line(
                id=one.run, parent=one.info.parent, at=one.at, kind=one.kind, status=one.status,
                title=one.info.title, group=one.group, winner=one.winner,
            )  # fmt: skip
            continue
        how = {'root': '', 'rerun': 'run again', 'retry': f'retried at {one.at}'}.get(
            one.kind, f'forked at {one.at}'
        )
        marks = [how, str(one.status), 'winner' if one.winner else '', 'this one' if one.run == found else '']
        typer.echo(f'{"  " * depth}{one.run}  {plain(one.info.title)}  ({", ".join(filter(None, marks))})')


async def _lineage(storage: Storage, settings: Settings, name: str) -> tuple[str, Kin]:
    async with reading(storage, settings) as conductor:
        run = await find(conductor, name)
        return run, await conductor.lineage(run)
