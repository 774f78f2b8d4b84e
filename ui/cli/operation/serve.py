"""hemicycle serve: the dashboard."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from engine import InvalidInput, LocalConductor
from engine.errors import JournalUnavailable
from engine.host.clock import RealClock
from engine.runtime import LiveRuns
from ui.app.access.accounts import Accounts
from ui.app.access.oidc import ProviderSettings
from ui.app.services.endpoint_limits import share_limits
from ui.app.services.files_owner import claim_files
from ui.app.settings import Locks, ServerPaths, Settings, Storage
from ui.cli.conductors import new_owner
from ui.cli.exit_codes import CODES
from ui.cli.options import FLEET, LogShape, Namespace, TemporalAddress
from ui.cli.output.errors import CommandError
from ui.cli.session import Session, with_session
from ui.server.logs import RunLog, set_up_logging
from ui.server.metrics import Metrics
from ui.server.observed_journal import observe
from ui.server.serve import (
    check_host,
    is_local,
    listen,
    page_url,
    run,
    served_names,
    valid_origin,
    valid_root_path,
)
from ui.server.settings import AccessSettings, ServerSettings
from ui.server.telemetry import trace_exporters

if TYPE_CHECKING:
    from ui.fleet.web_fleet import WebFleet

ADDRESS = 'Address'
EPILOG = f"""Examples:

```
hemicycle serve --open
hemicycle serve --port 9000 --database ./team.db --patterns ./my_patterns
```

{CODES}"""


@with_session('patterns', 'pace', 'database', 'synchronous', 'files')
def serve(
    host: Annotated[
        str,
        typer.Option(
            help='Beyond loopback, people have to log in: `hemicycle user add` creates the first account.',
            rich_help_panel=ADDRESS,
        ),
    ] = '127.0.0.1',
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help='If taken, the next free port is used; 0 means any.',
            rich_help_panel=ADDRESS,
        ),
    ] = 8080,
    show: Annotated[
        bool, typer.Option('--open/--no-open', help='Open the browser.', rich_help_panel=ADDRESS)
    ] = False,
    origins: Annotated[
        list[str] | None,
        typer.Option(
            '--origin',
            metavar='URL',
            envvar='HEMICYCLE_ORIGINS',
            help='Another site whose pages may use the API and the MCP server (CORS), such as'
            ' `https://tool.example`. Repeatable; none by default.',
            rich_help_panel=ADDRESS,
        ),
    ] = None,
    url: Annotated[
        str,
        typer.Option(
            '--url',
            metavar='URL',
            envvar='HEMICYCLE_URL',
            help='The address at which people reach the server, such as `https://hemicycle.example`.',
            rich_help_panel=ADDRESS,
        ),
    ] = '',
    root_path: Annotated[
        str,
        typer.Option(
            '--root-path',
            metavar='PATH',
            envvar='HEMICYCLE_ROOT_PATH',
            help='The path below which a proxy serves it, such as `/hemicycle`; by default, what it sends as'
            ' `X-Forwarded-Prefix`.',
            rich_help_panel=ADDRESS,
        ),
    ] = '',
    log_format: LogShape = 'text',
    *,
    dev: Annotated[
        bool, typer.Option('--dev', help='Also serve `/style`: every part of the pages in every state.')
    ] = False,
    session: Session,
    temporal: TemporalAddress = '',
    namespace: Namespace = 'default',
    drive: Annotated[
        bool,
        typer.Option(
            '--drive', help='Also drive runs, with a worker next to the server.', rich_help_panel=FLEET
        ),
    ] = False,
) -> None:
    """Serve the dashboard, and continue every run whose process has died.

    The address is the first line that is printed. Ctrl+C stops the server and releases its runs; the next
    server continues them. Calls of real models get 20 seconds to end first (`HEMICYCLE_GRACE`); a second
    Ctrl+C cuts them off. One server at a time serves an SQLite file; on PostgreSQL there may be several.
    Each drives the runs that it started, and adopts those of a server that was killed.

    With `--temporal`, workers drive the runs, and any number of servers show and steer all of them. With
    `--drive`, a server starts its own worker, and stops it when it ends.
    """
    if drive and not temporal:
        raise InvalidInput({'--drive': 'needs --temporal; without it, the server drives its runs itself'})
    public = valid_origin(url, '--url') if url else ''
    below = valid_root_path(root_path)
    provider = ProviderSettings.of(os.environ)
    shared = [valid_origin(text) for text in origins or ()]
    settings, storage = session.settings, session.storage
    fleet = _fleet(temporal, namespace, settings) if temporal else None
    locks = None if fleet else storage.locks(settings)
    file = storage.file(settings)
    if locks and file and file.exists() and (holders := locks.servers()):
        raise CommandError(_already_served(holders))
    if file and not file.exists():
        check_host(host, login=provider is not None)  # No database, no account: refuse before one is made.
    login = asyncio.run(_check_storage(storage, settings)) or provider is not None
    check_host(host, login=login)
    access = AccessSettings(
        required=login or not is_local(host),
        names=served_names(host, public),
        url=public,
        root_path=below,
        provider=provider,
    )
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    driving = _own_worker(session, log_format, temporal, namespace) if drive else nullcontext()
    with listen(host, port) as listening, driving:
        url = page_url(listening) + below
        if locks:
            try:
                locks.serve(f'{url} (pid {os.getpid()})')
            except JournalUnavailable:
                raise CommandError(_already_served(locks.servers())) from None
        taken = f' (port {port} is taken)' if port not in (0, listening.getsockname()[1]) else ''
        typer.echo(f'Hemicycle is at {url}{taken}')  # flushes
        set_up_logging(settings.home, log_format)
        try:
            metrics = Metrics()
            serving = ServerSettings(
                places=ServerPaths(
                    home=settings.home, database=file or storage.name(settings), endpoints=settings.endpoints
                ),
                locks=locks,
                metrics=metrics,
                origins=shared,
                grace=settings.grace,
                fleet=fleet.view if fleet else None,
                access=access,
                dev=dev,
            )
            opener = _make_opener(session, locks, metrics, fleet)
            run(listening, opener, serving, folder=settings.home, show=show)
        finally:
            if locks:
                locks.release()


def _make_opener(
    session: Session, locks: Locks | None, metrics: Metrics, fleet: WebFleet | None
) -> Callable[[], Awaitable[LocalConductor]]:
    """Return the function that opens the server's conductor, on the server's event loop."""
    storage, settings, catalog = session.storage, session.settings, session.catalog

    async def open_conductor() -> LocalConductor:
        journal = await storage.open(settings)
        owner = new_owner()
        catalog.registry.hooks.measure = metrics.measure_call
        if locks:
            locks.acquire(owner)
        conductor = LocalConductor(
            observe(journal, RunLog(), metrics, *trace_exporters(journal)),
            catalog=catalog,
            owner=owner,
            is_alive=locks.is_alive if locks else lambda owner: True,
            workspaces=settings.workspaces,
            files=storage.files(settings),
            live_runs=await fleet.live_runs() if fleet else LiveRuns,
        )
        if fleet or storage.file(settings) is None:  # Otherwise no other process has runs.
            share_limits(conductor)
        return conductor

    return open_conductor


def _fleet(temporal: str, namespace: str, settings: Settings) -> WebFleet:
    from ui.fleet.settings import FleetSettings
    from ui.fleet.web_fleet import WebFleet

    return WebFleet(FleetSettings.of(temporal, namespace, settings.home))


@contextmanager
def _own_worker(session: Session, log_format: str, temporal: str, namespace: str) -> Iterator[None]:
    """Run a worker with the server's options, until the server ends."""
    settings = session.settings
    command = [sys.executable, '-m', __package__.rsplit('.', 2)[0], 'worker', 'serve']
    command += ['--synchronous', settings.synchronous, '--log-format', log_format]
    command += [part for folder in settings.patterns for part in ('--patterns', str(folder))]
    command += [] if session.pace is None else ['--pace', str(session.pace)]
    # A database URL may hold a password, and every user can see a process's arguments.
    variables = {
        'HEMICYCLE_TEMPORAL': temporal,
        'HEMICYCLE_TEMPORAL_NAMESPACE': namespace,
        'HEMICYCLE_DATABASE': settings.database,
        'HEMICYCLE_FILES': settings.files,
    }
    environment = {**os.environ, **{name: text for name, text in variables.items() if text}}
    # In its own session: otherwise Ctrl+C would reach it twice, which cuts calls off.
    worker = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait()
        except KeyboardInterrupt:
            worker.terminate()
            worker.wait()


async def _check_storage(storage: Storage, settings: Settings) -> bool:
    """Test database and files before anything is served; return whether there are accounts."""
    if files := storage.files(settings):
        await asyncio.to_thread(files.check)
    journal = await storage.open(settings)
    try:
        if files:
            await claim_files(journal.documents, files)
        return await Accounts(journal.documents, RealClock()).has_any()
    finally:
        await journal.close()


def _already_served(holders: list[str]) -> str:
    place = next(iter(holders), 'another address')
    return (
        f'this database is already served at {place}: use that page, stop that server,'
        ' or choose another database with --database'
    )
