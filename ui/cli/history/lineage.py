"""hemicycle lineage: the fork tree of a run."""

from __future__ import annotations

import asyncio

import typer

from engine.history import LineageNode
from ui.cli.exit_codes import CODES
from ui.cli.options import AsJson, Database, RunName
from ui.cli.output.reporters import print_json
from ui.cli.session import find_run, open_reader, settings_of, storage_of
from ui.formatting.safe_text import strip_control
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
    """Show a run's fork tree: the runs it was forked from, and all their forks, reruns and retries."""
    found, kin = asyncio.run(_lineage(storage_of(context), settings_of(database), run))
    for depth, one in kin.members():
        if as_json:
            print_json(
                id=one.run, parent=one.info.parent, at=one.at, kind=one.kind, status=one.status,
                title=one.info.title, group=one.group, winner=one.winner,
            )  # fmt: skip
            continue
        how = {'root': '', 'rerun': 'run again', 'retry': f'retried at {one.at}'}.get(
            one.kind, f'forked at {one.at}'
        )
        marks = [how, str(one.status), 'winner' if one.winner else '', 'this one' if one.run == found else '']
        typer.echo(
            f'{"  " * depth}{one.run}  {strip_control(one.info.title)}  ({", ".join(filter(None, marks))})'
        )


async def _lineage(storage: Storage, settings: Settings, name: str) -> tuple[str, LineageNode]:
    async with open_reader(storage, settings) as conductor:
        run = await find_run(conductor, name)
        return run, await conductor.lineage(run)
