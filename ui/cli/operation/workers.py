"""hemicycle worker: the processes that execute the runs of a fleet: list and drain them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from engine import EngineError, InvalidInput
from engine.host.clock import RealClock
from ui.app.access.access import Access
from ui.app.access.caller import Caller
from ui.cli.conductors import read_here
from ui.cli.options import Namespace, TemporalAddress
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import count, moment_text

if TYPE_CHECKING:
    from ui.app.fleet import FleetView, WaitingRun, WorkerInfo

EPILOG = """Examples:

```
hemicycle worker list --temporal 127.0.0.1:7233
hemicycle worker drain worker1
```"""
DRAIN = 'fleet.drain'


@with_session('as_json', 'database')
def list_workers(
    temporal: TemporalAddress = '',
    namespace: Namespace = 'default',
    *,
    session: Session,
) -> None:
    """List the workers with their runs, and the runs that wait for a worker with the reasons."""

    async def work() -> tuple[list[WorkerInfo], list[WaitingRun]]:
        async with _open_fleet(session, temporal, namespace) as fleet:
            return await fleet.workers(), await fleet.waiting()

    workers_found, waiting = asyncio.run(work())
    if session.as_json:
        for worker in workers_found:
            print_json(**asdict(worker))
        for item in waiting:
            print_json(run=item.info.id, pattern=item.info.pattern, waits=item.reason)
        return
    for worker in workers_found:
        typer.echo(strip_control(_describe(worker)))
        for run in worker.runs:
            typer.echo(strip_control(f'    {run.run}  {run.pattern}, since {moment_text(run.since)}'))
    if not workers_found:
        typer.echo('no workers: runs wait until one connects')
    for item in waiting:
        typer.echo(
            strip_control(f'waiting: {item.info.id}  {item.info.pattern}: {one_line(item.reason, 300)}')
        )


@with_session('database')
def drain(
    name: Annotated[str, typer.Argument(metavar='WORKER', help='Its name, as `list` shows it.')],
    temporal: TemporalAddress = '',
    namespace: Namespace = 'default',
    *,
    session: Session,
) -> None:
    """Have a worker hand over its runs, accept no more, and exit."""

    async def work() -> None:
        async with _open_fleet(session, temporal, namespace) as fleet:
            names = [worker.name for worker in await fleet.workers()]
            if name not in names:
                listed = ', '.join(names) or 'none'
                raise InvalidInput({'WORKER': f'there is no worker {name!r}; available: {listed}'})
            await fleet.drain(name)

    try:
        asyncio.run(work())
    except InvalidInput:
        raise
    except EngineError as error:
        asyncio.run(_note(session, name, str(error)))
        raise
    asyncio.run(_note(session, name))
    typer.echo(strip_control(f'{name} is handing over its runs'))


@asynccontextmanager
async def _open_fleet(session: Session, temporal: str, namespace: str) -> AsyncIterator[FleetView]:
    """Open the fleet of a database. Raises `EngineError`."""
    if not temporal:
        raise InvalidInput({'--temporal': 'give the address of Temporal as HOST:PORT'})
    from ui.fleet.settings import FleetSettings

    fleet_settings = FleetSettings.of(temporal, namespace, session.settings.home)
    from ui.fleet.web_fleet import WebFleet

    fleet = WebFleet(fleet_settings)
    async with read_here(session) as conductor:
        await fleet.live_runs()
        try:
            yield fleet.view(conductor)
        finally:
            await fleet.close()


async def _note(session: Session, name: str, refused: str = '') -> None:
    """Write to the audit log who drained a worker."""
    me = Caller.at_terminal()
    journal = await session.storage.open(session.settings)
    try:
        await Access(journal.documents, RealClock()).audit.write(
            me, DRAIN, details={'worker': name}, refused=refused
        )
    finally:
        await journal.close()


def _describe(worker: WorkerInfo) -> str:
    patterns = list(worker.patterns)
    facts = [
        f'since {moment_text(worker.started)}' if worker.started else '',
        f'{len(worker.runs)} of {worker.at_once} runs' if worker.at_once else '',
        f'labels: {", ".join(worker.labels)}' if worker.labels else '',
        patterns[0] if len(patterns) == 1 else count(len(patterns), 'pattern') if patterns else '',
        worker.program,
        'draining' if worker.draining else '',
        worker.problem,
    ]
    return f'{worker.name}  {" · ".join(filter(None, facts))}'
