"""hemicycle worker serve: drive the runs that Temporal assigns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

import typer

from engine import Catalog, InvalidInput, LocalConductor
from engine.host.clock import RealClock
from engine.runtime import LiveRuns
from engine.workspace import close_folders
from ui.app.access.accounts import Accounts
from ui.app.services.files_owner import claim_files
from ui.app.settings import Settings, Storage
from ui.cli.exit_codes import CODES
from ui.cli.options import FLEET, LogShape, Namespace, TemporalAddress
from ui.cli.session import Session, with_session
from ui.server.logs import RunLog, set_up_logging
from ui.server.metrics import Metrics
from ui.server.monitoring import monitoring_routes
from ui.server.observed_journal import observe
from ui.server.serve import listen, page_url
from ui.server.telemetry import trace_exporters

EPILOG = f"""Examples:

```
hemicycle worker serve --temporal 127.0.0.1:7233 --database postgresql://db/hemicycle
hemicycle worker serve --temporal 127.0.0.1:7233 --only race --only vote --label gpu --at-once 4
```

{CODES}"""


@with_session('patterns', 'pace', 'database', 'synchronous', 'files')
def serve(
    temporal: TemporalAddress = '',
    namespace: Namespace = 'default',
    only: Annotated[
        list[str] | None,
        typer.Option(
            '--only',
            metavar='PATTERN',
            help='Serve runs of this pattern only. Repeatable.',
            rich_help_panel=FLEET,
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            '--label',
            metavar='LABEL',
            help='Serve runs with the tag `worker:LABEL`, and no others. Repeatable.',
            rich_help_panel=FLEET,
        ),
    ] = None,
    at_once: Annotated[
        int,
        typer.Option(
            min=1, max=10_000, help='Maximum number of runs to drive at once.', rich_help_panel=FLEET
        ),
    ] = 50,
    host: Annotated[str, typer.Option(help='Where web servers reach this worker.')] = '127.0.0.1',
    port: Annotated[
        int,
        typer.Option(min=0, max=65_535, help='If taken, the next free port is used; 0 means any.'),
    ] = 0,
    url: Annotated[
        str, typer.Option(help='The address that web servers use, if it differs from host and port.')
    ] = '',
    log_format: LogShape = 'text',
    *,
    session: Session,
) -> None:
    """Drive the runs that Temporal assigns, until stopped.

    On SIGTERM or Ctrl+C it accepts no more runs and releases those that it has; calls of real models get 20
    seconds to end first (`HEMICYCLE_GRACE`), unless there is a second signal. Web servers reach it over HTTP
    with the fleet's token (`HEMICYCLE_FLEET_TOKEN`; on one machine, a file in `HEMICYCLE_HOME`).
    """
    from ui.fleet.settings import FleetSettings
    from ui.fleet.worker import FleetWorker, WorkerOptions

    settings, storage = session.settings, session.storage
    if not temporal:
        raise InvalidInput({'--temporal': 'give the address of Temporal as HOST:PORT'})
    if host in ('0.0.0.0', '::', '') and not url:
        raise InvalidInput({'--url': f'needed with --host {host}: how do web servers reach this machine?'})
    fleet = FleetSettings.of(temporal, namespace, settings.home)
    if remote := storage.files(settings):
        remote.check()
    catalog = session.catalog
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with listen(host, port) as listening:
        options = WorkerOptions(
            url=(url or page_url(listening)).rstrip('/'),
            only=tuple(only or ()),
            labels=tuple(labels or ()),
            at_once=at_once,
            grace=settings.grace,
        )
        typer.echo(f'Hemicycle worker at {options.url}')  # flushes
        set_up_logging(settings.home, log_format)

        async def run() -> None:
            metrics = Metrics()
            open_conductor = make_opener(storage, settings, catalog, metrics)
            monitor = partial(monitoring_routes, metrics=metrics)
            measuring = asyncio.create_task(metrics.measure_lag(), name='measure lag')
            try:
                await FleetWorker(fleet, options, listening, open_conductor, monitor).run()
            finally:
                measuring.cancel()

        asyncio.run(run())


def make_opener(
    storage: Storage, settings: Settings, catalog: Catalog, metrics: Metrics
) -> Callable[[str, Callable[..., LiveRuns]], Awaitable[LocalConductor]]:
    """Return the function that opens a worker's conductor."""

    async def open_conductor(owner: str, live_runs: Callable[..., LiveRuns]) -> LocalConductor:
        journal, files = await storage.open(settings), storage.files(settings)
        if files:
            await claim_files(journal.documents, files)
        close_folders(await Accounts(journal.documents, RealClock()).has_any(), private=settings.home)
        catalog.registry.hooks.measure = metrics.measure_call
        return LocalConductor(
            observe(journal, RunLog(), metrics, *trace_exporters(journal)),
            catalog=catalog,
            owner=owner,
            workspaces=settings.workspaces,
            files=files,
            live_runs=live_runs,
        )

    return open_conductor
