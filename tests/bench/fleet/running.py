"""Many runs on one, two and four workers: how many a second, and what each costs PostgreSQL and Temporal."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean

import psycopg
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from engine import Catalog, Conductor, LocalConductor
from engine.records import RunId
from storage import open_journal
from tests.bench.durable.postgres import safe_postgres
from tests.bench.servers.processes import processor
from tests.bench.table import Row
from tests.crash.fleet.processes import Fleet, until
from tests.support.journals.postgres import PostgresServer
from ui.fleet.records import workflow_id
from ui.fleet.settings import Connections, FleetSettings
from ui.fleet.temporal import Temporal
from ui.fleet.web import FleetRuns

TASK = {'task': 'Should a small team adopt event sourcing for its order system?'}
DEADLINE = 1_200.0
ACTIONS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        EventType.EVENT_TYPE_TIMER_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
    }
)
"""Events that are billed in Temporal's own cloud; each heartbeat that reaches the server comes on top."""


@dataclass(slots=True)
class Found:
    """The cost of some runs on some workers."""

    seconds: float
    """Since all workers were ready."""
    left: int
    """Runs that were unfinished at that time."""
    runs: list[RunId]
    transitions: int = 0
    processor: dict[str, float] = field(default_factory=dict)
    """Seconds of processor time by kind of process."""
    bytes: int = 0
    """Growth of the database."""
    actions: float = 0.0
    """Actions of Temporal for each run."""

    @property
    def rate(self) -> float:
        """Runs a second."""
        return self.left / self.seconds

    def each(self, kind: str) -> float:
        """Milliseconds of processor time for each run."""
        return self.processor[kind] / len(self.runs) * 1e3


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """The sample pipeline, with its scripted models, until all runs have ended."""
    number = 8 if fast else 400
    first: Found | None = None
    with safe_postgres() as server:
        for workers in (1, 2) if fast else (1, 2, 4):
            home = folder / f'{workers}'
            home.mkdir()
            with fleet_on(server, home) as fleet:
                outcome = await _drive(server, fleet, workers, number)
            first = first or outcome
            yield Row(
                name=f'{number} runs on {workers} worker{"s" * (workers > 1)}',
                value=outcome.rate,
                unit='runs/s',
                base=None if first is outcome else first.rate,
                against='' if first is outcome else '1 worker',
                details={
                    'transitions_a_second': outcome.rate * outcome.transitions / number,
                    'transitions_a_run': outcome.transitions / number,
                    'bytes_a_run': outcome.bytes / number,
                    **{f'{kind}_ms_a_run': outcome.each(kind) for kind in outcome.processor},
                },
            )
        if first:
            for kind in ('workers', 'PostgreSQL', 'Temporal'):
                yield Row(name=f'CPU time per run, {kind}', value=first.each(kind), unit='ms')
            yield Row(name='Temporal actions per run', value=first.actions, unit='actions')
            yield Row(name='database per run', value=first.bytes / number / 1024, unit='KiB')


@contextmanager
def fleet_on(server: PostgresServer, home: Path) -> Iterator[Fleet]:
    """A fleet on a new database."""
    fleet = Fleet(home, server.create())
    try:
        yield fleet
    finally:
        fleet.close()


@asynccontextmanager
async def starting(fleet: Fleet) -> AsyncIterator[Conductor]:
    """Starts runs as a web server does."""
    address = f'127.0.0.1:{fleet.port}'
    connections = Connections(FleetSettings(temporal=address, namespace='default', token='none'))
    temporal = await Temporal.at(address, namespace='default')
    runs = partial(FleetRuns, temporal=temporal, connect=connections)
    journal = await open_journal(fleet.database)
    async with LocalConductor(journal, catalog=Catalog.load(), live_runs=runs) as conductor:
        yield conductor
    await connections.close()


async def _drive(server: PostgresServer, fleet: Fleet, workers: int, number: int) -> Found:
    temporal = await fleet.temporal()
    client = await Client.connect(f'127.0.0.1:{fleet.port}')
    async with starting(fleet) as conductor:
        runs = [
            (await conductor.start('pipeline', TASK, seed=seed, approvals='none')).id
            for seed in range(number)
        ]
        handles = [client.get_workflow_handle(workflow_id(run)) for run in runs]
        for handle in handles:
            await handle.describe()  # It is placed, but no worker takes it yet.
        size = _size(fleet.database)
        spent = {'PostgreSQL': _postgres(server), 'Temporal': processor(temporal.pid)}
        drivers = await asyncio.gather(*(fleet.worker() for _ in range(workers)))
        ready = time.monotonic()
        started = sum(processor(worker.pid) for worker in drivers)
        unfinished = len(await _list_unfinished(conductor, runs))

        async def all_ended() -> bool:
            await asyncio.sleep(0.1)
            return not await _list_unfinished(conductor, runs)

        await until(all_ended, 'all runs end', seconds=DEADLINE)
        ended = time.monotonic()
        infos = [await conductor.info(run) for run in runs]
        assert all(info.status == 'done' for info in infos), {info.status for info in infos}
        actions = [
            sum([event.event_type in ACTIONS async for event in handle.fetch_history_events()])
            for handle in handles[:20]
        ]
    now = {'PostgreSQL': _postgres(server), 'Temporal': processor(temporal.pid)}
    return Found(
        seconds=ended - ready,
        left=unfinished,
        runs=runs,
        transitions=sum(info.seq for info in infos),
        processor={
            'workers': sum(processor(worker.pid) for worker in drivers) - started,
            **{kind: now[kind] - spent[kind] for kind in spent},
        },
        bytes=_size(fleet.database) - size,
        actions=mean(actions),
    )


async def _list_unfinished(conductor: Conductor, runs: list[RunId]) -> list[RunId]:
    ids = set(runs)
    return [info.id for info in await conductor.journal.unfinished() if info.id in ids]


def _size(database: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute('SELECT pg_database_size(current_database())').fetchone()
    assert row
    return int(row[0])


def _postgres(server: PostgresServer) -> float:
    """Seconds of processor time of all its processes, including ended ones."""
    assert server.process
    fields = Path(f'/proc/{server.process.pid}/stat').read_text().rpartition(')')[2].split()
    own = sum(map(int, fields[11:15])) / os.sysconf('SC_CLK_TCK')
    children = Path(f'/proc/{server.process.pid}/task/{server.process.pid}/children').read_text().split()
    return own + sum(processor(int(child)) for child in children if Path(f'/proc/{child}').exists())
