"""hemicycle delete, restore, purge and retain: the trash, and the retention policy."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Conductor
from engine.history import CleanupResult
from engine.records import RunId
from ui.cli.history.annotate import RunNames, change_runs
from ui.cli.options import AsJson, Database, Files
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.remote import named_server
from ui.cli.session import find_run, load_catalog, open_reader, settings_of, storage_of
from ui.formatting.safe_text import one_line
from ui.formatting.values import byte_size, count
from ui.settings import Settings, Storage

DELETE = """Examples:

```
hemicycle delete last
hemicycle runs --tag scratch --json | jq -r .id | xargs hemicycle delete
hemicycle runs --deleted
```"""
RESTORE = """Examples:

```
hemicycle runs --deleted
hemicycle restore 3f9
```"""
PURGE = """Examples:

```
hemicycle purge 3f9
hemicycle purge --all
```"""
RETAIN = """Examples:

```
hemicycle retain --dry-run
hemicycle retain
```"""


def delete(context: typer.Context, runs: RunNames, database: Database = '') -> None:
    """Delete runs that have ended; they can be restored for a while, by default for 7 days."""
    storage, settings = storage_of(context), settings_of(database)

    async def move_to_trash(conductor: Conductor, run: RunId) -> None:
        info = await conductor.info(run)
        if not named_server() and not info.status.ended and not storage.locks(settings).is_alive(info.owner):
            conductor.stranded[run] = 'its process is gone'
        await conductor.delete(run)

    asyncio.run(change_runs(context, database, runs, move_to_trash))


def restore(context: typer.Context, runs: RunNames, database: Database = '') -> None:
    """Restore deleted runs to the list."""
    asyncio.run(change_runs(context, database, runs, lambda here, run: here.restore(run), 'trash'))


def purge(
    context: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar='RUN...', help='Deleted runs.', show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option('--all', help='All deleted runs.')] = False,
    database: Database = '',
    stored: Files = '',
) -> None:
    """Permanently remove deleted runs, with their histories, files and recordings."""
    if bool(runs) is everything:
        raise CommandError('name the runs to remove permanently, or give --all')

    async def work() -> int:
        async with open_reader(storage_of(context), settings_of(database, files=stored)) as conductor:
            if everything:
                found = [info.id async for info in conductor.iter_runs('trash')]
            else:
                found = [await find_run(conductor, name, place='trash') for name in runs or []]
            for run in found:
                await conductor.purge(run)
            return len(found)

    typer.echo(f'{count(asyncio.run(work()), "run")} permanently removed')


def retain(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option('--dry-run', help='Only show what would be deleted.')] = False,
    as_json: AsJson = False,
    database: Database = '',
    stored: Files = '',
) -> None:
    """Apply the retention policy: delete what it selects, and purge what was deleted long enough ago.

    The policy is `[retention]` of `endpoints.toml`. A server applies it when it starts, and once a day.
    """
    settings = settings_of(database, files=stored)
    tidied, idle = asyncio.run(_retain(storage_of(context), settings, dry_run=dry_run))
    if as_json:
        for item in tidied.taken:
            print_json(id=item.info.id, title=item.info.title, bytes=item.bytes, reason=item.reason)
        return
    out = console()
    if idle:
        out.print(f'no policy is set: add [retention] to {settings.endpoints}', style='dim')
    for item in tidied.taken:
        out.print(
            f'{item.info.id}  {byte_size(item.bytes):>8}  {one_line(item.info.title, 60)}  ({item.reason})'
        )
    total = sum(item.bytes for item in tidied.taken)
    summary = f'{count(len(tidied.taken), "run")} {"would be" if dry_run else ""} deleted, {byte_size(total)}'
    out.print(' '.join(summary.split()))
    if tidied.purged:
        out.print(f'{count(len(tidied.purged), "run")} permanently removed')


async def _retain(storage: Storage, settings: Settings, *, dry_run: bool) -> tuple[CleanupResult, bool]:
    catalog = load_catalog(settings)
    if faults := [fault for fault in catalog.faults if fault.path == str(settings.endpoints)]:
        raise CommandError(faults[0].problem)
    async with open_reader(storage, settings, catalog) as conductor:
        idle = conductor.retention.idle
        if dry_run:
            return CleanupResult(taken=tuple(await conductor.preview_cleanup())), idle
        return await conductor.clean_up(), idle
