"""hemicycle delete, restore, purge and retain: which runs are kept."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Conductor, RunId, Tidied
from ui.commands.annotate import RunNames
from ui.commands.exits import Refused
from ui.commands.options import AsJson, Database
from ui.commands.run import catalog_of
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.commands.wording import console
from ui.plain import short
from ui.presenters.words import count, size
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

    async def work() -> None:
        storage, settings = storage_of(context), settings_of(database)
        async with reading(storage, settings) as conductor:
            found = [await find(conductor, name) for name in runs]
            for run in found:
                await _delete(conductor, storage, settings, run)

    asyncio.run(work())


def restore(context: typer.Context, runs: RunNames, database: Database = '') -> None:
    """Take deleted runs back into the list."""

    async def work() -> None:
        async with reading(storage_of(context), settings_of(database)) as conductor:
            found = [await find(conductor, name, place='trash') for name in runs]
            for run in found:
                await conductor.restore(run)

    asyncio.run(work())


def purge(
    context: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar='RUN...', help='Deleted runs.', show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option('--all', help='All that are deleted.')] = False,
    database: Database = '',
) -> None:
    """Remove deleted runs for good, with their histories, files and recordings."""
    if bool(runs) is everything:
        raise Refused('name the runs to remove for good, or give --all')

    async def work() -> int:
        async with reading(storage_of(context), settings_of(database)) as conductor:
            if everything:
                found = [info.id async for info in conductor.every('trash')]
            else:
                found = [await find(conductor, name, place='trash') for name in runs or []]
            for run in found:
                await conductor.purge(run)
            return len(found)

    typer.echo(f'{count(asyncio.run(work()), "run")} removed for good')


def retain(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option('--dry-run', help='Only say what would be deleted.')] = False,
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Let the retention policy delete what it says, and purge what was deleted long enough ago.

    The policy is `[retention]` of `endpoints.toml`. A server does this when it starts, and once a day.
    """
    settings = settings_of(database)
    tidied, idle = asyncio.run(_retain(storage_of(context), settings, dry_run=dry_run))
    if as_json:
        for item in tidied.taken:
            json_line(id=item.info.id, title=item.info.title, bytes=item.bytes, reason=item.reason)
        return
    out = console()
    if idle:
        out.print(f'no policy is set: write [retention] into {settings.endpoints}', style='dim')
    for item in tidied.taken:
        out.print(f'{item.info.id}  {size(item.bytes):>8}  {short(item.info.title, 60)}  ({item.reason})')
    total = sum(item.bytes for item in tidied.taken)
    told = f'{count(len(tidied.taken), "run")} {"would be" if dry_run else ""} deleted, {size(total)}'
    out.print(' '.join(told.split()))
    if tidied.purged:
        out.print(f'{count(len(tidied.purged), "run")} removed for good')


async def _delete(conductor: Conductor, storage: Storage, settings: Settings, run: RunId) -> None:
    info = await conductor.info(run)
    if not info.status.ended and not storage.locks(settings).is_alive(info.owner):
        conductor.stranded[run] = 'its process is gone'
    await conductor.delete(run)


async def _retain(storage: Storage, settings: Settings, *, dry_run: bool) -> tuple[Tidied, bool]:
    catalog = catalog_of(settings)
    if faults := [fault for fault in catalog.faults if fault.path == str(settings.endpoints)]:
        raise Refused(faults[0].problem)
    async with reading(storage, settings, catalog) as conductor:
        idle = conductor.retention.idle
        if dry_run:
            return Tidied(taken=tuple(await conductor.would_take())), idle
        return await conductor.tidy(), idle
