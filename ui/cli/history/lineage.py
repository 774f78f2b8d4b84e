"""hemicycle fork list: the fork tree of a run."""

from __future__ import annotations

import asyncio

import typer

from engine.history import LineageNode
from ui.cli.conductors import find_run, open_reader
from ui.cli.exit_codes import CODES
from ui.cli.options import RunName
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = f"""Examples:

```
hemicycle fork list last
hemicycle fork list last --json | jq -r 'select(.winner) | .id'
```

{CODES}"""


@with_session('as_json', 'database', 'server')
def lineage(run: RunName = 'last', *, session: Session) -> None:
    """Show a run's fork tree: the runs it was forked from, and all their forks, reruns and retries."""
    run_id, kin = asyncio.run(_lineage(session, run))
    for depth, member in kin.members():
        if session.as_json:
            print_json(
                id=member.run, parent=member.info.parent, at=member.at, kind=member.kind,
                status=member.status, title=member.info.title, group=member.group, winner=member.winner,
            )  # fmt: skip
            continue
        how = {'root': '', 'rerun': 'run again', 'retry': f'retried at {member.at}'}.get(
            member.kind, f'forked at {member.at}'
        )
        marks = [
            how,
            str(member.status),
            'winner' if member.winner else '',
            'this one' if member.run == run_id else '',
        ]
        title, note = strip_control(member.info.title), ', '.join(filter(None, marks))
        typer.echo(f'{"  " * depth}{member.run}  {title}  ({note})')


async def _lineage(session: Session, name: str) -> tuple[str, LineageNode]:
    async with open_reader(session) as conductor:
        run = await find_run(conductor, name)
        return run, await conductor.lineage(run)
