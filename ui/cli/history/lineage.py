"""hemicycle lineage: the fork tree of a run."""

from __future__ import annotations

import asyncio

import typer

from engine.history import LineageNode
from ui.cli.exit_codes import CODES
from ui.cli.options import RunName
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, find_run, open_reader, with_session
from ui.formatting.plain_text import strip_control

EPILOG = f"""Examples:

```
hemicycle lineage last
hemicycle lineage last --json | jq -r 'select(.winner) | .id'
```

{CODES}"""


@with_session('as_json', 'database')
def lineage(run: RunName = 'last', *, session: Session) -> None:
    """Show a run's fork tree: the runs it was forked from, and all their forks, reruns and retries."""
    found, kin = asyncio.run(_lineage(session, run))
    for depth, one in kin.members():
        if session.as_json:
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


async def _lineage(session: Session, name: str) -> tuple[str, LineageNode]:
    async with open_reader(session) as conductor:
        run = await find_run(conductor, name)
        return run, await conductor.lineage(run)
