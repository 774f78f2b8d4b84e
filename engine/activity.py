"""Activities: the work of a state, and how it is tried again."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.clock import Clock
from engine.commands.sandbox import Sandbox
from engine.errors import EngineError
from engine.files.workspace import Workspace
from engine.files.workspaces import Workspaces
from engine.mcp.remote import RemoteTool
from engine.mcp.servers import Servers
from engine.model import Model
from engine.path import parent_of
from engine.recordings import Recordings
from engine.records import RunInfo, StatePath
from engine.tool import Tool
from engine.wire.taped import Taped


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and how soon an activity that failed is tried again."""

    attempts: int = 4
    delay: float = 1.0
    """Seconds before the second attempt; doubled for each further one."""
    longest: float = 30.0
    jitter: float = 0.5
    """The share of a delay that is left to chance, so that many runs do not all come back at once."""
    patience: float = 60.0
    """The longest wait that the other side may ask for: what asks for more is not tried again."""

    def after(self, attempt: int, *, seed: str, asked: float | None = None) -> float:
        """Seconds to wait after the failure of `attempt`; `asked` is what the other side asked for."""
        delay = min(self.longest, self.delay * 2.0 ** min(attempt - 1, 60))
        chance = random.Random(f'{seed}:{attempt}').random()
        return max(asked or 0.0, delay * (1 - self.jitter * chance))

    def again(self, attempt: int, error: BaseException) -> bool:
        """Whether to try again after `attempt`: our errors say so, and what nobody has foreseen may pass."""
        unforeseen = isinstance(error, Exception) and not isinstance(
            error, EngineError | MemoryError | ValueError
        )
        may_help = bool(getattr(error, 'retryable', unforeseen))
        return (
            attempt < self.attempts and may_help and (getattr(error, 'retry_after', 0) or 0) <= self.patience
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What activities may use of the outside."""

    clock: Clock
    models: Mapping[str, Model] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    mcp: Servers = field(default_factory=lambda: Servers({}, {}))
    workspaces: Workspaces = field(default_factory=Workspaces)
    recordings: Recordings | None = None
    sandbox: Sandbox = field(default_factory=Sandbox)
    private_addresses: bool = False
    """Whether pages may be fetched from this machine and its own network."""

    async def toolset(self, names: Sequence[str]) -> dict[str, Tool]:
        """The tools that an agent is given; see `Servers.find`. Raises `ToolError`."""
        if all(name in self.tools and not isinstance(self.tools[name], RemoteTool) for name in names):
            return {name: self.tools[name] for name in names}
        return await self.mcp.find(names)

    def model(self, name: str) -> Model:
        """The model of that name. Raises `EngineError`."""
        if name not in self.models:
            raise EngineError(f'there is no model {name!r}; there are: {", ".join(self.models) or "none"}')
        return self.models[name]


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
    stream: Callable[[str, Literal['text', 'reasoning', 'reset']], None]
    """Show a piece of text at once; it is not kept."""
    repeats: Callable[[BaseException], bool] = lambda error: False
    """Whether the engine makes another attempt after this error."""

    @property
    def key(self) -> str:
        """The same for every repetition of this visit: an idempotency key for side effects."""
        return f'{self.run.id}:{self.since}'

    async def taped(self) -> Taped | None:
        """What its model calls go through, where the run is recorded or replays. Raises `EngineError`."""
        found = self.services.recordings
        return await found.taped(self.run, self.path, self.since) if found else None

    def workspace(self, folder: str = '') -> Workspace:
        """A folder of this run: by its name, or that of the agent that does this work.

        A pattern's own activity that changes a folder returns `snapshots` (a snapshot's id by the folder's
        name), so that its files are seen, and restored, at every step.
        """
        return self.services.workspaces.of(self.run.id, folder or parent_of(self.path) or self.path)
