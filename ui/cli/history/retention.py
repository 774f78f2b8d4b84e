"""hemicycle runs remove, restore, purge and retain: the trash, and the retention policy."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from engine import Conductor, LocalConductor
from engine.history import CleanupResult
from engine.records import RunId
from ui.cli.conductors import find_run, open_reader
from ui.cli.history.annotate import RunNames, change_runs
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line
from ui.formatting.values import byte_size, count

EPILOG = """Examples:

```
hemicycle runs remove last
hemicycle runs list --tag scratch --json | jq -r .id | xargs hemicycle runs remove
hemicycle runs list --deleted
hemicycle runs restore 3f9
hemicycle runs purge --all
hemicycle runs retain --dry-run
```"""


@with_session('database', 'server')
def remove(runs: RunNames, *, session: Session) -> None:
    """Delete runs that have ended; they can be restored for a while, by default for 7 days."""

    async def move_to_trash(conductor: Conductor, run: RunId) -> None:
        info = await conductor.info(run)
        if isinstance(conductor, LocalConductor) and not info.status.ended:
            locks = session.storage.locks(session.settings)
            if not locks.is_alive(info.owner):
                conductor.stranded[run] = 'its process is gone'
        await conductor.delete(run)

    asyncio.run(change_runs(session, runs, move_to_trash))


@with_session('database', 'server')
def restore(runs: RunNames, *, session: Session) -> None:
    """Restore deleted runs to the list."""
    asyncio.run(change_runs(session, runs, lambda here, run: here.restore(run), 'trash'))


@with_session('database', 'files', 'server')
def purge(
    runs: Annotated[list[str] | None, typer.Argument(metavar='RUN...', help='Deleted runs.')] = None,
    everything: Annotated[bool, typer.Option('--all', help='All deleted runs.')] = False,
    *,
    session: Session,
) -> None:
    """Permanently remove deleted runs, with their histories, files and recordings."""
    if bool(runs) is everything:
        raise CommandError('name the runs to remove permanently, or give --all')

    async def work() -> int:
        async with open_reader(session) as conductor:
            if everything:
                run_ids = [info.id async for info in conductor.iter_runs('trash')]
            else:
                run_ids = [await find_run(conductor, name, place='trash') for name in runs or []]
            for run in run_ids:
                await conductor.purge(run)
            return len(run_ids)

    typer.echo(f'{count(asyncio.run(work()), "run")} permanently removed')


@with_session('as_json', 'database', 'files', 'server')
def retain(
    dry_run: Annotated[bool, typer.Option('--dry-run', help='Only show what would be deleted.')] = False,
    *,
    session: Session,
) -> None:
    """Apply the retention policy: delete what it selects, and purge what was deleted long enough ago.

    The policy is `[retention]` of `endpoints.toml`. A server applies it when it starts, and once a day.
    """
    tidied, idle = asyncio.run(_retain(session, dry_run=dry_run))
    if session.as_json:
        for item in tidied.taken:
            print_json(id=item.info.id, title=item.info.title, bytes=item.bytes, reason=item.reason)
        return
    out = console()
    if idle:
        out.print(f'no policy is set: add [retention] to {session.settings.endpoints}', style='dim')
    for item in tidied.taken:
        out.print(
            f'{item.info.id}  {byte_size(item.bytes):>8}  {one_line(item.info.title, 60)}  ({item.reason})'
        )
    total = sum(item.bytes for item in tidied.taken)
    summary = f'{count(len(tidied.taken), "run")} {"would be" if dry_run else ""} deleted, {byte_size(total)}'
    out.print(' '.join(summary.split()))
    if tidied.purged:
        out.print(f'{count(len(tidied.purged), "run")} permanently removed')


async def _retain(session: Session, *, dry_run: bool) -> tuple[CleanupResult, bool]:
    endpoints = str(session.settings.endpoints)
    if faults := [fault for fault in session.catalog.faults if fault.path == endpoints]:
        raise CommandError(faults[0].problem)
    async with open_reader(session, session.catalog) as conductor:
        idle = conductor.retention.idle
        if dry_run:
            return CleanupResult(taken=tuple(await conductor.preview_cleanup())), idle
        return await conductor.clean_up(), idle
