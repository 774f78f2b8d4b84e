"""Activity: one attempt at a state's work; and the services a process provides to its live runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.errors import EngineError
from engine.host.clock import Clock
from engine.journal.projection import RunProjection
from engine.journal.protocol import Journal
from engine.models.protocol import Model
from engine.models.recording.recorded_call import RecordedCall
from engine.records import DeltaKind, Event, RunId, RunInfo, StatePath
from engine.records.frozen import fast_init
from engine.records.shape import parent_of
from engine.runtime.fair_scheduler import FairScheduler
from engine.runtime.feed import Feed
from engine.runtime.mailbox import Mailbox
from engine.runtime.run_recordings import Recordings
from engine.statechart.chart import Chart
from engine.statechart.run_state import RunState
from engine.tools.acp.live_sessions import LiveSessions
from engine.tools.mcp.remote_tool import RemoteTool
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChart:
    """A chart, or a pattern put as one, to be changed."""

    text: str
    version: str = ''
    """What it is saved over; '' if it cannot be, as a pattern in Python."""
    notes: tuple[str, ...] = ()
    """What of it the text does not say."""


class ChartDesk(Protocol):
    """What a run that writes charts needs: earlier charts, what went wrong in a run, and where to save."""

    async def base(self, name: str) -> BaseChart:
        """Return the chart or pattern with this name. Raises `EngineError`."""

    async def trouble(self, run: RunId, reader: str) -> str:
        """Return what went wrong in a run, for an account. Raises `EngineError`: it may not see the run."""

    async def objection(self, name: str, base: str) -> str:
        """Return why a chart cannot be saved under a name over the version `base`; '' if it can."""

    async def save(self, name: str, text: str, *, base: str, author: str, note: str) -> str:
        """Save a chart over the version `base`, '' for a new one.

        Saving the same text again changes nothing.

        Returns:
            Its version; '' if this program keeps no charts.

        Raises:
            EngineError: it is wrong, or somebody has changed the chart since.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything outside a run that its activities may use."""

    clock: Clock
    scheduler: FairScheduler
    """Gives turns; awaited before each piece of work that many runs may do at the same time."""
    models: Mapping[str, Model] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    mcp: McpServers = field(default_factory=lambda: McpServers({}, {}))
    workspaces: Workspaces = field(default_factory=Workspaces)
    recordings: Recordings | None = None
    sessions: LiveSessions = field(default_factory=LiveSessions)
    """Sessions with external agents."""
    sandbox: Sandbox = field(default_factory=Sandbox)
    desk: ChartDesk | None = None
    """Where charts are kept; None if this program keeps none."""
    redact: Callable[[Any], Any] = lambda value: value
    """Removes secrets from a JSON value; applied to activities' results and errors before journaling."""
    private_addresses: bool = False
    """Whether pages may be fetched from this machine and its private network."""

    async def toolset(self, names: Sequence[str]) -> dict[str, Tool]:
        """Return an agent's tools by name; see `McpServers.find`. Raises `ToolError`."""
        if all(name in self.tools and not isinstance(self.tools[name], RemoteTool) for name in names):
            return {name: self.tools[name] for name in names}
        return await self.mcp.find(names)

    def model(self, name: str) -> Model:
        """Return the model with that name. Raises `EngineError`."""
        if name not in self.models:
            raise EngineError(f'there is no model {name!r}; available: {", ".join(self.models) or "none"}')
        return self.models[name]


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One attempt at the work of one visit to a state."""

    run: RunInfo
    path: StatePath
    """The state that invoked it."""
    attempt: int
    since: int
    """The step that entered the state."""
    services: Services
    stream: Callable[[str, DeltaKind], None]
    """Show a piece of text immediately; it is not journaled."""
    will_retry: Callable[[BaseException], bool] = lambda error: False
    """Whether the engine will make another attempt after this error."""

    @property
    def key(self) -> str:
        """An idempotency key for side effects: the same for every attempt of this visit."""
        return f'{self.run.id}:{self.since}'

    @property
    def given_files(self) -> str:
        """The snapshot of the files that the run was started with, or ''.

        They are in agents' folders already; an activity that fills a folder lays them over that.
        """
        given = self.run.given_files
        return given['snapshot'] if given else ''

    async def recorded_call(self) -> RecordedCall | None:
        """Return the wrapper for its model calls if the run is recorded or replayed. Raises `EngineError`."""
        recordings = self.services.recordings
        return await recordings.recorded_call(self.run, self.path, self.since) if recordings else None

    def workspace(self, folder: str = '') -> Workspace:
        """Return a folder of this run: the one named, or by default that of the agent doing this work.

        A pattern's own activity that changes a folder returns `snapshots` (snapshot ids by folder name), so
        that its files can be viewed and restored at every step.
        """
        return self.services.workspaces.of(self.run.id, folder or parent_of(self.path) or self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingQuestion:
    """Returned by an activity that needs a person's answer to continue; holds the data of `asked`."""

    data: Mapping[str, Any]


class LiveRun(Protocol):
    """A live run, as seen by the world in which it lives."""

    info: RunInfo
    state: RunState
    chart: Chart
    projection: RunProjection
    context: RuntimeContext
    mailbox: Mailbox
    lost: str
    """Why this process may no longer write to the run, or ''."""

    async def control(self, event: Event) -> None:
        """Journal a control event that the world itself causes, and act on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeContext:
    """Shared by all live runs of a conductor."""

    journal: Journal
    feed: Feed
    services: Services
    on_ended: Callable[[LiveRun], None]
    """Called with each run that stops running here."""
