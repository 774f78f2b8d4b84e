"""hemicycle serve: the dashboard."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from engine import Catalog, Conductor, JournalUnavailable
from ui.commands.exits import CODES, Refused
from ui.commands.options import Database, Durability, Patterns
from ui.commands.run import Pace, catalog_of
from ui.commands.session import new_owner, settings_of, storage_of
from ui.serving.logs import logged, set_up
from ui.serving.serve import address, check_host, listen, run
from ui.settings import Locks, Places, Settings, Storage

ADDRESS = 'Where the dashboard is'
EPILOG = f"""Examples:

```
hemicycle serve --open
hemicycle serve --port 9000 --database ./team.db --patterns ./my_patterns
```

{CODES}"""


def serve(  # noqa: PLR0913  (its arguments are the command's)
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help='This machine only: there is no login yet.', rich_help_panel=ADDRESS)
    ] = '127.0.0.1',
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help='If it is taken, the next free one is used; 0 is any.',
            rich_help_panel=ADDRESS,
        ),
    ] = 8080,
    show: Annotated[
        bool, typer.Option('--open/--no-open', help='Open it in the browser.', rich_help_panel=ADDRESS)
    ] = False,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Serve the dashboard, and go on with every run whose process is gone.

    The address is the first line that is printed. Ctrl+C stops the server and lets go of its runs; the next
    server goes on with them. One server at a time serves a database.
    """
    check_host(host)
    settings, storage = settings_of(database, synchronous, patterns), storage_of(context)
    locks = storage.locks(settings)
    if storage.file(settings).exists() and (holder := locks.served()):
        raise Refused(_served(holder))
    asyncio.run(_try(storage, settings))
    catalog = catalog_of(settings, pace)
    settings.home.mkdir(parents=True, exist_ok=True)
    with listen(host, port) as listening:
        url = address(listening)
        try:
            locks.serve(f'{url} (pid {os.getpid()})')
        except JournalUnavailable:
            raise Refused(_served(locks.served() or '')) from None
        taken = f' (port {port} is taken)' if port not in (0, listening.getsockname()[1]) else ''
        typer.echo(f'Hemicycle is at {url}{taken}')  # flushes
        set_up(settings.home)
        try:
            opener = _Opener(storage, settings, locks, catalog)
            places = Places(home=settings.home, database=storage.file(settings), endpoints=settings.endpoints)
            run(listening, opener, folder=settings.home, show=show, places=places)
        finally:
            locks.release()


class _Opener:
    """Makes the server's conductor, on the server's event loop."""

    def __init__(self, storage: Storage, settings: Settings, locks: Locks, catalog: Catalog) -> None:
        self._storage, self._settings, self._locks, self._catalog = storage, settings, locks, catalog

    async def __call__(self) -> Conductor:
        journal = logged(await self._storage.open(self._settings))
        owner = new_owner()
        self._locks.take(owner)
        return Conductor(
            journal,
            catalog=self._catalog,
            owner=owner,
            is_alive=self._locks.is_alive,
            workspaces=self._settings.workspaces,
        )


async def _try(storage: Storage, settings: Settings) -> None:
    """Open the database and close it: what is wrong with it is said before anything is served."""
    journal = await storage.open(settings)
    await journal.close()


def _served(holder: str) -> str:
    return (
        f'this database is served already, at {holder or "another address"}: use that page, stop that server,'
        ' or name another database with --database'
    )
