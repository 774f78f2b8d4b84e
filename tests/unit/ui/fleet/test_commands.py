"""Commands to a run of a fleet are carried out once, whatever breaks before their answer arrives."""

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

from engine import Breakpoint, Budget, Conductor, Pattern, Transition
from engine.agents.chart import agent
from engine.errors import JournalUnavailable
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import RunId, RunInfo, Snapshot
from engine.runtime import LiveRuns
from tests.support.api import serve_api
from tests.support.harness import FakeModel, Lone, calls, catalog, start_run, until, wait_for_state
from ui.api.access import PREFIX
from ui.api.client import Connection, HttpConductor
from ui.fleet.records import Placement
from ui.fleet.runs import WorkerRuns
from ui.fleet.temporal import Temporal
from ui.fleet.web import FleetRuns
from ui.web.backend import Backend

pytestmark = pytest.mark.anyio
Command = Callable[[Conductor, RunId], Awaitable[Any]]


class Asking(Pattern):
    """One agent that calls a tool first."""

    initial = 'working'
    states = (agent('working', prompt='ask', tools=['calculator']), {'name': 'over', 'final': True})
    transitions = (['done', 'working', 'over'], ['failed', 'working', 'over'])

    def ask(self, memory: Any) -> str:
        return 'Calculate.'


def reply(request: ModelRequest) -> Any:
    """One call of a tool if there is one; otherwise the model thinks for ever."""
    asks = request.tools and not request.hints.turn
    return calls(('calculator', {'expression': '1+1'})) if asks else asyncio.Event()


class SharedJournal(MemoryJournal):
    """A journal of several processes: as in a database, an append goes on although its caller is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_after = ''
        """The event after which the next look at a run fails."""
        self.holds: asyncio.Event | None = None
        """Until this is set, the next append waits; `held` says that it does."""
        self.held = False
        self._fails = False

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        return await asyncio.shield(asyncio.create_task(self._append(info, transitions, snapshot)))

    async def _append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> int:
        if self.holds and not self.held:
            self.held = True
            await self.holds.wait()
        stored = await super().append(info, transitions, snapshot)
        if self.fails_after in {step.event.name for step in transitions}:
            self.fails_after, self._fails = '', True
        return stored

    async def info(self, run: RunId) -> RunInfo:
        if self._fails:
            self._fails = False
            raise JournalUnavailable('the disk is slow')
        return await super().info(run)


class Network(httpx.AsyncBaseTransport):
    """Carries requests to the applications of this fleet, until a process dies or a connection breaks."""

    def __init__(self) -> None:
        self.apps: dict[str, Starlette] = {}
        self.breaks: dict[str, Callable[[], Awaitable[None]]] = {}
        """By host: called once a command is carried out there; its answer is lost."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if (app := self.apps.get(request.url.host)) is None:
            raise httpx.ConnectError('nobody listens')
        answer = await httpx.ASGITransport(app).handle_async_request(request)
        if request.method != 'GET' and (broken := self.breaks.pop(request.url.host, None)):
            await broken()
            raise httpx.ReadError('the connection broke')
        return answer


class Fleet:
    """Workers and a web server in this process. In place of Temporal, `next` takes what is placed."""

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
            Conductor(self.journal, catalog=self._catalog(), owner=f'http://{name}#{name}', live_runs=make),
        )

    def web(self) -> HttpConductor:
        runs = partial(FleetRuns, temporal=cast(Temporal, self), connect=self.connect)
        self._serve('web', Conductor(self.journal, catalog=self._catalog(), live_runs=runs))
        return HttpConductor('http://web', transport=self.network, patience=5.0)

    def connect(self, url: str) -> Connection:
        return Connection(url, patience=0.0, transport=self.network)

    def _catalog(self) -> Any:
        return catalog(self.model, Lone, Asking)

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
    made = Fleet(FakeModel(reply))
    made.worker('one')
    made.worker('two')
    yield made
    await made.close()


@pytest.fixture
async def web(fleet: Fleet) -> AsyncIterator[Conductor]:
    async with fleet.web() as conductor:
        yield cast(Conductor, conductor)


async def events(fleet: Fleet, run: RunId) -> Counter[str]:
    return Counter(step.event.name for step in await fleet.journal.transitions(run) if not step.raised)


async def stays(fleet: Fleet, run: RunId) -> None:
    """The worker keeps the run: only the connection breaks."""


async def dies(fleet: Fleet, run: RunId) -> None:
    """The worker is gone, and no other takes the run: the web server decides."""
    del fleet.network.apps['one']
    fleet.next = ''


async def moves(fleet: Fleet, run: RunId) -> None:
    """Another worker has taken the run, as when the first one froze."""
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
        {'pattern': 'asking', 'approvals': 'all'},
        lambda conductor, run: conductor.send(run, 'approve', at='working.approving'),
    ),
}
"""By event: how the run starts, and the command."""


async def start(fleet: Fleet, web: Conductor, pattern: str = 'lone', **options: Any) -> RunId:
    """Start a run, and wait until a worker has it and it has come as far as it does by itself."""
    run = await start_run(web, pattern, budget=Budget(tokens=9_000), **options)
    await until(lambda: run in fleet.runs['one'].runs and fleet.runs['one'].runs[run].info.seq > 1)
    if 'approvals' in options:
        await wait_for_state(fleet.conductors['one'], run, 'working.approving')
    return run


@pytest.mark.parametrize('fate', [stays, dies, moves])
@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_whose_answer_is_lost_is_carried_out_once(
    fleet: Fleet, web: Conductor, event: str, fate: Callable[[Fleet, RunId], Awaitable[None]]
) -> None:
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    fleet.network.breaks['one'] = partial(fate, fleet, run)
    await command(web, run)
    assert (await events(fleet, run))[event] == 1


@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_is_carried_out_once_although_its_program_lost_the_web_server(
    fleet: Fleet, web: Conductor, event: str
) -> None:
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    fleet.network.breaks['web'] = partial(stays, fleet, run)
    await command(web, run)
    assert (await events(fleet, run))[event] == 1


@pytest.mark.parametrize('sender', ['a program', 'a page'])
@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_is_carried_out_once_although_the_journal_failed_after_it(
    fleet: Fleet, web: Conductor, event: str, sender: str
) -> None:
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    fleet.journal.fails_after = event
    await command(web if sender == 'a program' else fleet.conductors['web'], run)
    assert (await events(fleet, run))[event] == 1


@pytest.mark.parametrize('event', COMMANDS)
async def test_a_command_is_carried_out_once_although_its_worker_left_while_it_was_journaled(
    fleet: Fleet, web: Conductor, event: str
) -> None:
    options, command = COMMANDS[event]
    run = await start(fleet, web, **options)
    worker, fleet.next = fleet.runs['one'], 'two'
    fleet.journal.holds = asyncio.Event()
    sent = asyncio.ensure_future(command(web, run))
    await until(lambda: fleet.journal.held)
    fleet.journal.holds.set()
    await worker.release_run(worker.runs[run])  # Nobody waits for the append any more; it is made.
    await sent
    assert (await events(fleet, run))[event] == 1


async def test_commands_are_all_carried_out_while_no_worker_has_the_run(fleet: Fleet, web: Conductor) -> None:
    run = await start(fleet, web, paused=True)
    await dies(fleet, run)
    await asyncio.gather(*(web.step(run) for _ in range(5)))
    assert (await events(fleet, run))['step'] == 5


async def test_a_command_that_cannot_be_sent_says_so(
    fleet: Fleet, web: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('ui.fleet.web.COMMAND_TIMEOUT', 0.0)
    monkeypatch.setattr(fleet, 'held', True)
    run = await start(fleet, web)
    server = fleet.conductors['web']
    fleet.network.breaks['one'] = partial(stays, fleet, run)
    with pytest.raises(JournalUnavailable, match='the run shows whether it was done'):
        await server.pause(run)
    await dies(fleet, run)
    with pytest.raises(JournalUnavailable, match='nothing was done; try again'):
        await server.resume(run)
    assert (await events(fleet, run))['resume'] == 0
