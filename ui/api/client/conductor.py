"""HttpConductor: starts, watches and controls runs on a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO, Final, Literal, Self, Unpack, cast
from urllib.parse import quote

import httpx

from engine import Catalog, InvalidInput, Pattern, RunHandle
from engine.history import (
    DiskUsage,
    ForkOverrides,
    Imported,
    LineageNode,
    RunReader,
)
from engine.host.clock import RealClock
from engine.journal import Journal, Retention
from engine.operations import (
    Agents,
    Annotating,
    Charting,
    Checking,
    Endpoints,
    Experimenting,
    ExperimentResult,
    Forking,
    McpServers,
    Rehearsing,
    Retaining,
    Steering,
    run_experiment,
)
from engine.operations.experiments import Experiment
from engine.records import (
    Annotation,
    Launch,
    Note,
    Outcome,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Traffic,
    VariantOptions,
)
from engine.runtime import Item
from ui.api.client.connection import Connection
from ui.api.client.datasets import remote_datasets
from ui.api.client.derived import remote
from ui.api.client.files import RemoteFiles
from ui.api.client.journal import RemoteJournal, query_of
from ui.api.client.merging import RemoteMerging
from ui.api.client.services import HttpServices
from ui.api.client.watching import watch_run
from ui.api.records import FamilyMember, ServerInfo, StorageUse
from ui.api.wire import decode, dump
from ui.app.access.operations import AccountOperations
from ui.formatting.fields.parameters import PatternInfo, PatternList

WAIT_SECONDS = 30.0
"""Seconds that one request waits for a result before the next one is sent."""
MAX_RUNS_PER_REQUEST = 100
"""Runs per request for disk usage."""
READ_BYTES = 1 << 18
FILE_TIMEOUT: Final = httpx.Timeout(600.0, connect=5.0)
"""For files: the server builds or reads the whole of one before it sends the first byte."""


class HttpConductor:
    """Runs workflows on a server; see `Conductor`.

    A program changes one line to move its runs there from its own process.

    Use it as an async context manager: it connects on entry, and leaving it does not affect runs.

    Args:
        url: the server's address, as a browser opens it.
        catalog: the patterns' code, for the types of results and explanations of guards; see `RunResult`.
        patience: seconds for which requests are retried while the server does not answer.
        transport: carries the requests instead of the network.
        headers: sent with each request, such as a token.
    """

    def __init__(
        self,
        url: str,
        *,
        catalog: Catalog | None = None,
        patience: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._ask = Connection(url, patience=patience, transport=transport, headers=headers)
        self.url, self.catalog = self._ask.url, catalog or Catalog()
        self.clock = RealClock()
        self.workspaces = RemoteFiles(self._ask)
        self.endpoints, self.agents = remote(Endpoints, self._ask), remote(Agents, self._ask)
        self.mcp_servers = remote(McpServers, self._ask)
        self.charts = remote(Charting, self._ask)
        self.experiments = remote(Experimenting, self._ask, export=self._export_experiment)
        self.datasets = remote_datasets(self._ask)
        self.merging = RemoteMerging(self._ask, self.workspaces)
        self.server_services = HttpServices(self._ask)
        self.accounts = remote(AccountOperations, self._ask)
        self.owner = ''
        self.stranded: dict[RunId, str] = {}
        self.retention = Retention()
        self._rest_steps: dict[RunId, int] = {}
        self._here: set[RunId] = set()
        self._journal = RemoteJournal(self._ask)
        reader = RunReader(cast(Journal, self._journal), self.catalog)
        self.view, self.fold, self.turn_end = reader.view, reader.fold, reader.turn_end
        self.explain_guards = reader.explain_guards
        self.info, self.shape = self._journal.info, self._journal.shape
        self.snapshot, self.transitions = self._journal.snapshot, self._journal.transitions
        steering, forking = remote(Steering, self._ask), remote(Forking, self._ask)
        self.accepts = steering.accepts
        self.send = steering.send
        self.pause = steering.pause
        self.resume = steering.resume
        self.step = steering.step
        self.cancel = steering.cancel
        self.extend = steering.extend
        self.approve = steering.approve
        self.deny = steering.deny
        self.take_seat = steering.take_seat
        self.hand_back = steering.hand_back
        self.edit = steering.edit
        self.set_breakpoints = steering.set_breakpoints
        self.probe = steering.probe
        self.fork = forking.fork
        self.forecast = forking.forecast
        self.rerun = forking.rerun
        self.retry = forking.retry
        self.retry_at = forking.retry_at
        self.family = forking.family
        self.mark_winner = forking.mark_winner
        annotating, retaining = remote(Annotating, self._ask), remote(Retaining, self._ask)
        self.notes = annotating.notes
        self.delete_note = annotating.delete_note
        self.delete = retaining.delete
        self.restore = retaining.restore
        self.purge = retaining.purge
        self.preview_cleanup = retaining.preview_cleanup
        self.clean_up = retaining.clean_up
        checking = remote(Checking, self._ask)
        self.rehearse = remote(Rehearsing, self._ask).rehearse
        self.compare = checking.compare
        self.audit = checking.audit
        self.save_test = checking.save_test
        self.check = checking.check

    async def __aenter__(self) -> Self:
        try:
            await self.refresh()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; all runs continue."""
        await self._ask.close()

    async def refresh(self) -> None:
        """Update `owner`, `stranded` and `retention` from the server."""
        server = await self._ask.one(ServerInfo, 'server')
        self.owner, self.stranded, self.retention = server.owner, dict(server.stranded), server.retention

    async def runs(self, query: RunQuery | None = None) -> RunPage:
        """Return the summaries of matching runs, newest first."""
        return await self._journal.runs(query or RunQuery())

    async def start(
        self,
        launch: Launch | type[Pattern] | str,
        parameters: Mapping[str, Any] | None = None,
        *,
        run: RunId | None = None,
        **values: Any,
    ) -> RunHandle:
        """Start a run on the server; see `Conductor.start`. The server chooses its id."""
        if run is not None:
            raise InvalidInput({'run': 'the server chooses the id'})
        if isinstance(launch, type):
            self.catalog.add(launch)
            launch = launch.name
        body = dump(Launch.build(launch, parameters, values))
        return self.handle(decode(RunInfo, await self._ask.create('runs', body)).id)

    async def experiment(self, experiment: Experiment) -> ExperimentResult:
        """Start an experiment on the server, wait until it is over, and return its result."""
        return await run_experiment(self, experiment)

    def handle(self, run: RunId) -> RunHandle:
        """Return a handle to an existing run."""
        return RunHandle(run, self)

    async def recover(self) -> list[RunId]:
        """Have the server continue all unfinished runs whose process has died."""
        return [RunId(run) for run in (await self._ask.ask('POST', 'recover', safe=True)).json()]

    async def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Yield the steps after `after` and streamed text, as they come; resume if the connection breaks."""
        self._here.add(run)

        def record_rest(at: int) -> None:
            self._rest_steps[run] = at

        async for item in watch_run(self._ask, run, after, record_rest):
            yield item

    async def result(self, run: RunId) -> Outcome:
        """Wait for the run to end. Raises `UnknownRun`."""
        while True:
            answer = await self._ask.ask(
                'GET', f'runs/{run}/result', safe=True, params={'wait': WAIT_SECONDS}, pending=True
            )
            if answer.is_success:
                return decode(Outcome, answer.json())

    def can_control(self, run: RunId) -> bool:
        """Whether the server runs it, as far as this client knows: once it has been watched."""
        return run in self._here

    def resting_step(self, run: RunId) -> int:
        """Return the last step of a watched run that is paused with nothing in progress; otherwise 0."""
        return self._rest_steps.get(run, 0)

    async def fork_all(
        self,
        run: RunId,
        at: int,
        variations: Mapping[str, ForkOverrides],
        *,
        new: Sequence[RunId] = (),
        **options: Unpack[VariantOptions],
    ) -> list[RunId]:
        """Fork several variants at once. The server chooses their ids."""
        if new:
            raise InvalidInput({'new': 'the server chooses the ids'})
        budget = options.get('budget')
        chosen = [{'name': name, 'overrides': dump(overrides)} for name, overrides in variations.items()]
        body = {
            'at': at,
            'variants': chosen,
            'paused': options.get('paused', False),
            'budget': budget and asdict(budget),
        }
        return [RunId(info['id']) for info in await self._ask.create(f'runs/{run}/variants', body)]

    async def lineage(self, run: RunId) -> LineageNode:
        """Return a run's fork tree, from its oldest ancestor."""
        return _tree(await self._ask.many(FamilyMember, f'runs/{run}/lineage'))

    async def traffic(
        self, query: RunQuery | None = None, progress: Callable[[int, int], object] | None = None
    ) -> Traffic:
        """Return the combined path statistics of all matching runs; `progress` is never called."""
        return await self._ask.one(Traffic, 'traffic', **query_of(query or RunQuery()))

    async def patterns(self) -> PatternList:
        """List the patterns that the server can run."""
        return await self._ask.one(PatternList, 'patterns')

    async def pattern(self, name: str, version: str = '') -> PatternInfo:
        """Describe a pattern that the server can run. Raises `UnknownPattern`."""
        return await self._ask.one(PatternInfo, f'patterns/{quote(name, safe="")}', version=version)

    async def draw(
        self, pattern: str, parameters: Mapping[str, Any] | None = None, version: str = ''
    ) -> Shape:
        """Return the chart that a run of a pattern that the server knows would have."""
        text = json.dumps(parameters) if parameters else ''
        return await self._ask.one(Shape, f'patterns/{pattern}/shape', parameters=text, version=version)

    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        """Change title, tags, note, star or pin."""
        answer = await self._ask.ask('PATCH', f'runs/{run}', safe=True, json=dict(changes))
        return decode(RunInfo, answer.json())

    async def write_note(self, run: RunId, text: str, *, at: int = 0, note: int = 0) -> Note:
        """Add a note to step `at`, or replace the text of note number `note`."""
        if note:
            answer = await self._ask.ask('PUT', f'runs/{run}/notes/{note}', safe=True, json={'text': text})
            return decode(Note, answer.json())
        return decode(Note, await self._ask.create(f'runs/{run}/notes', {'text': text, 'at': at}))

    async def disk_usage(self, infos: Iterable[RunInfo]) -> dict[RunId, DiskUsage]:
        """Return the disk usage of each run; many runs take several requests."""
        ids, usages = [info.id for info in infos], dict[RunId, DiskUsage]()
        for first in range(0, len(ids), MAX_RUNS_PER_REQUEST):
            usage = await self._ask.one(StorageUse, 'storage', run=ids[first : first + MAX_RUNS_PER_REQUEST])
            usages |= usage.runs
        return usages

    async def iter_runs(self, place: Literal['list', 'trash'] = 'list') -> AsyncIterator[RunInfo]:
        """Yield all runs in the list or in the trash, newest first."""
        async for page in self._journal.pages(RunQuery(place=place, limit=500)):
            for item in page['items']:
                yield decode(RunInfo, item)

    async def export_bundle(self, runs: Sequence[RunId], *, compressed: bool = True) -> AsyncIterator[bytes]:
        """Export runs as a bundle, without the secrets that the server knows."""
        body = {'runs': list(runs), 'compressed': compressed}
        async with self._ask.stream('POST', 'exports', json=body, timeout=FILE_TIMEOUT) as answer:
            async for piece in answer.aiter_bytes():
                yield piece

    async def export(self, run: RunId, form: str) -> AsyncIterator[bytes]:
        """Export a run in one of the server's formats."""
        async for piece in self._download(f'runs/{run}/export/{form}'):
            yield piece

    async def _export_experiment(self, experiment: str, *, compressed: bool = True) -> AsyncIterator[bytes]:
        path = f'experiments/{quote(experiment, safe="")}/export'
        async for piece in self._download(path, compressed=str(compressed).lower()):
            yield piece

    async def _download(self, path: str, **query: str) -> AsyncIterator[bytes]:
        async with self._ask.stream('GET', path, params=query, timeout=FILE_TIMEOUT) as answer:
            async for piece in answer.aiter_bytes():
                yield piece

    async def import_bundle(
        self, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
    ) -> list[Imported]:
        """Store a bundle on the server."""

        async def body() -> AsyncIterator[bytes]:
            read = 0
            while piece := await asyncio.to_thread(file.read, READ_BYTES):
                read += len(piece)
                progress(read)
                yield piece

        headers = {'Content-Type': 'application/octet-stream'}
        async with self._ask.stream(
            'POST', 'imports', content=body(), headers=headers, timeout=FILE_TIMEOUT
        ) as answer:
            return [decode(Imported, item) for item in json.loads(await answer.aread())]


def _tree(members: Sequence[FamilyMember]) -> LineageNode:
    """Rebuild the tree from members in the order of `LineageNode.members`, last first, without recursion."""
    open_: dict[int, list[LineageNode]] = {}
    node: LineageNode | None = None
    for member in reversed(members):
        children = tuple(reversed(open_.pop(member.depth + 1, [])))
        node = LineageNode(info=member.info, kind=member.kind, group=member.group, children=children)
        open_.setdefault(member.depth, []).append(node)
    assert node is not None  # A family has at least its run.
    return node
