"""Commands to a run of a fleet are carried out exactly once, whatever breaks before the answer arrives."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from engine import Breakpoint, Budget, Conductor, LocalConductor, Transition
from engine.errors import JournalUnavailable
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import RunId, RunInfo, Snapshot
from engine.runtime import LiveRuns
from tests.api.conftest import Asks
from tests.support.api import serve_api
from tests.support.harness import FakeModel, Lone, calls, catalog, start_run, until, wait_for_state
from ui.api.access import PREFIX
from ui.api.client import Connection, HttpConductor
from ui.app.backend import Backend
from ui.fleet.records import Placement
from ui.fleet.temporal import Temporal
from ui.fleet.web import FleetRuns
from ui.fleet.worker import WorkerRuns

Command = Callable[[Conductor, RunId], Awaitable[Any]]


def reply(request: ModelRequest) -> Any:
    """Call a tool once if there is one; otherwise, never finish thinking."""
    asks = request.tools and not request.hints.turn
    return calls(('calculator', {'expression': '1+1'})) if asks else asyncio.Event()


class SharedJournal(MemoryJournal):
    """A journal of several processes: as in a database, an append completes even without its caller."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_after = ''
        """The event after which the next read of a run's info fails."""
        self.gate: asyncio.Event | None = None
        """The next append waits until this is set; meanwhile, `held` is true."""
        self.held = False
        self._info_fails = False

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        return await asyncio.shield(asyncio.create_task(self._append(info, transitions, snapshot)))

    async def _append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> int:
        if self.gate and not self.held:
            self.held = True
            await self.gate.wait()
        stored = await super().append(info, transitions, snapshot)
        if self.fails_after in {step.event.name for step in transitions}:
            self.fails_after, self._info_fails = '', True
        return stored

    async def info(self, run: RunId) -> RunInfo:
        if self._info_fails:
            self._info_fails = False
            raise JournalUnavailable('the disk is slow')
        return await super().info(run)


class Network(httpx.AsyncBaseTransport):
    """Delivers requests to the applications of this fleet, until a process dies or a connection breaks."""

    def __init__(self) -> None:
        self.apps: dict[str, Starlette] = {}
        self.breaks: dict[str, Callable[[], Awaitable[None]]] = {}
        """Callbacks by host, called once a command is carried out there, before its answer is lost."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if (app := self.apps.get(request.url.host)) is None:
            raise httpx.ConnectError('nobody listens')
        answer = await httpx.ASGITransport(app).handle_async_request(request)
        if request.method != 'GET' and (broken := self.breaks.pop(request.url.host, None)):
            await broken()
            raise httpx.ReadError('the connection broke')
        return answer


class Fleet:
    """Workers and a web server in this process. Instead of Temporal, the worker `next` gets placed runs."""

    def __init__(self, model: FakeModel) -> None:
        self.journal, self.network, self.model = SharedJournal(), Network(), model
        self.runs: dict[str, WorkerRuns] = {}
        self.next = 'one'
        self.held, self._placing = False, asyncio.Lock()
        self.conductors: dict[str, Conductor] = {}

    def worker(self, name: str) -> None:
        def make(**collaborators: Any) -> LiveRuns:
            self.runs[name] = WorkerRuns(**collaborators)
            return self.runs[name]

        self._serve(
            name,
            LocalConductor(
                self.journal, catalog=self._catalog(), owner=f'http://{name}#{name}', live_runs=make
            ),
        )

    def web(self) -> HttpConductor:
        runs = partial(FleetRuns, temporal=cast(Temporal, self), connect=self.connect)
        self._serve('web', LocalConductor(self.journal, catalog=self._catalog(), live_runs=runs))
        return HttpConductor('http://web', transport=self.network, patience=5.0)

    def connect(self, url: str) -> Connection:
        return Connection(url, patience=0.0, transport=self.network)

    def _catalog(self) -> Any:
        return catalog(self.model, Lone, Asks)

    def _serve(self, name: str, conductor: Conductor) -> None:
        backend = Backend()
        backend.open(conductor)
        self.conductors[name] = conductor
        self.network.apps[name] = Starlette(routes=[Mount(PREFIX, serve_api(backend, name))])

    async def place(self, placement: Placement) -> None:
        async with self._placing:
            if self.next and placement.run not in self.runs[self.next].runs:
                await self.runs[self.next].take_over(RunId(placement.run))

    async def is_held(self, run: RunId) -> bool:
        return self.held

    async def why_waiting(self, run: RunId) -> str:
        return ''

    async def close(self) -> None:
        for conductor in reversed(self.conductors.values()):
            await conductor.close()


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    fleet = Fleet(FakeModel(reply))
    fleet.worker('one')
    fleet.worker('two')
    yield fleet
    await fleet.close()


@pytest.fixture
async def web(fleet: Fleet) -> AsyncIterator[Conductor]:
    async with fleet.web() as conductor:
        yield cast(Conductor, conductor)


async def events(fleet: Fleet, run: RunId) -> Counter[str]:
    return Counter(step.event.name for step in await fleet.journal.transitions(run) if not step.raised)


async def keep_run(fleet: Fleet, run: RunId) -> None:
    """Only the connection breaks: the worker keeps the run."""


async def kill_worker(fleet: Fleet, run: RunId) -> None:
    """The worker dies, and no other takes over the run: the web server decides."""
    del fleet.network.apps['one']
    fleet.next = ''


async def move_run(fleet: Fleet, run: RunId) -> None:
    """Another worker takes over the run, as if the first one had frozen."""
    await fleet.runs['two'].take_over(run)
    fleet.next = 'two'


COMMANDS: dict[str, tuple[dict[str, Any], Command]] = {
    'pause': ({}, lambda conductor, run: conductor.pause(run)),
    'resume': ({'paused': True}, lambda conductor, run: conductor.resume(run)),
    'step': ({'paused': True}, lambda conductor, run: conductor.step(run)),
    'cancel': ({}, lambda conductor, run: conductor.cancel(run, 'enough')),
    'extend': ({}, lambda conductor, run: conductor.extend(run, tokens=1_000)),
    'breakpoints': ({}, lambda conductor, run: conductor.set_breakpoints(run, [Breakpoint(enter='over')])),
    'failed': ({}, lambda conductor, run: conductor.send(run, 'failed', at='working.thinking')),
    'approve': (
        {'pattern': 'asks', 'approvals': 'all'},
        lambda conductor, run: conductor.send(run, 'approve', at='working.approving'),
    ),
}
"""The options of the run and the command, by event."""


async def start(fleet: Fleet, web: Conductor, pattern: str = 'lone', **options: Any) -> RunId:
    """Start a run, and wait until a worker has it and it cannot continue by itself."""
    run = await start_run(web, pattern, budget=Budget(tokens=9_000), **options)
    await until(lambda: run in fleet.runs['one'].runs and fleet.runs['one'].runs[run].info.seq > 1)
    if 'approvals' in options:
        await wait_for_state(fleet.conductors['one'], run, 'working.approving')
    return run


@pytest.mark.parametrize(
    ('host', 'fate'), [('one', keep_run), ('one', kill_worker), ('one', move_run), ('web', keep_run)]
)
@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_whose_answer_is_lost_is_carried_out_once(
    fleet: Fleet, web: Conductor, event: str, host: str, fate: Callable[[Fleet, RunId], Awaitable[None]]
) -> None:
    """The web server loses the answer of the worker, or the client that of the web server."""
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    fleet.network.breaks[host] = partial(fate, fleet, run)
    await command(web, run)
    assert (await events(fleet, run))[event] == 1


@pytest.mark.parametrize('sender', ['a program', 'a page'])
@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_is_carried_out_once_even_if_the_journal_fails_after_it(
    fleet: Fleet, web: Conductor, event: str, sender: str
) -> None:
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    fleet.journal.fails_after = event
    await command(web if sender == 'a program' else fleet.conductors['web'], run)
    assert (await events(fleet, run))[event] == 1


@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_is_carried_out_once_even_if_its_worker_leaves_while_it_is_journaled(
    fleet: Fleet, web: Conductor, event: str
) -> None:
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    worker, fleet.next = fleet.runs['one'], 'two'
    fleet.journal.gate = asyncio.Event()
    sent = asyncio.ensure_future(command(web, run))
    await until(lambda: fleet.journal.held)
    fleet.journal.gate.set()
    await worker.release_run(worker.runs[run])  # Nobody waits for the append any more, but it completes.
    await sent
    assert (await events(fleet, run))[event] == 1


async def test_commands_are_all_carried_out_while_no_worker_has_the_run(fleet: Fleet, web: Conductor) -> None:
    run = await start(fleet, web, paused=True)
    await kill_worker(fleet, run)
    await asyncio.gather(*(web.step(run) for _ in range(5)))
    assert (await events(fleet, run))['step'] == 5


async def test_a_command_that_cannot_be_sent_says_so(
    fleet: Fleet, web: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('ui.fleet.web.COMMAND_TIMEOUT', 0.0)
    monkeypatch.setattr(fleet, 'held', True)
    run = await start(fleet, web)
    server = fleet.conductors['web']
    fleet.network.breaks['one'] = partial(keep_run, fleet, run)
    with pytest.raises(JournalUnavailable, match='the run shows whether it was done'):
        await server.pause(run)
    await kill_worker(fleet, run)
    with pytest.raises(JournalUnavailable, match='nothing was done; try again'):
        await server.resume(run)
    assert (await events(fleet, run))['resume'] == 0
