"""hemicycle audit: decide every recorded step of a run again, and compare the results."""

from __future__ import annotations

import asyncio

import typer

from ui.cli.exit_codes import CODES
from ui.cli.options import Database, Patterns, RunName
from ui.cli.session import find_run, load_catalog, open_reader, settings_of, storage_of
from ui.settings import Settings, Storage

EPILOG = f"""Examples:

```
hemicycle audit last
hemicycle runs --json | jq -r .id | xargs -n 1 hemicycle audit
```

{CODES}"""


def audit(
    context: typer.Context,
    run: RunName = 'last',
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    database: Database = '',
) -> None:
    """Fire a run's recorded events through a fresh chart, and compare every step with the recorded one.

    No model is called. Reports the first step that would be decided differently today, and the difference.
    """
    settings = settings_of(database, patterns=patterns)
    found, count = asyncio.run(_audit(storage_of(context), settings, run))
    typer.echo(f'run {found} is ok: {count} steps, all decided as recorded')


async def _audit(storage: Storage, settings: Settings, name: str) -> tuple[str, int]:
    async with open_reader(storage, settings, load_catalog(settings)) as conductor:
        run = await find_run(conductor, name)
        return run, await conductor.audit(run)
