"""hemicycle runs audit: decide every recorded step of a run again, and compare the results."""

from __future__ import annotations

import asyncio

import typer

from ui.cli.conductors import find_run, open_reader
from ui.cli.exit_codes import CODES
from ui.cli.options import RunName
from ui.cli.session import Session, with_session

EPILOG = f"""Examples:

```
hemicycle runs audit last
hemicycle runs list --json | jq -r .id | xargs -n 1 hemicycle runs audit
```

{CODES}"""


@with_session('patterns', 'database', 'server')
def audit(run: RunName = 'last', *, session: Session) -> None:
    """Fire a run's recorded events through a fresh chart, and compare every step with the recorded one.

    No model is called. Reports the first step that would be decided differently today, and the difference.
    """
    run_id, count = asyncio.run(_audit(session, run))
    typer.echo(f'run {run_id} is ok: {count} steps, all decided as recorded')


async def _audit(session: Session, name: str) -> tuple[str, int]:
    async with open_reader(session, session.catalog) as conductor:
        run = await find_run(conductor, name)
        return run, await conductor.audit(run)
