"""The fleet as pages show it: its workers, what they drive, and what waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.records import RunId, RunInfo
from ui.services.schedules import SchedulePlacer


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenRun:
    """A run that a worker drives."""

    run: RunId
    pattern: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """What a worker says of itself."""

    name: str
    url: str
    """Where it serves the API to web servers."""
    started: float = 0.0
    program: str = ''
    """The version of Hemicycle."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """The version of each pattern that it knows."""
    labels: tuple[str, ...] = ()
    at_once: int = 0
    """The most runs that it drives at once."""
    draining: bool = False
    runs: tuple[DrivenRun, ...] = ()
    problem: str = ''
    """Why it could not be asked, or ''."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """A run that could go on, but no worker drives it."""

    info: RunInfo
    reason: str


class FleetView(Protocol):
    """What the page of workers shows and does."""

    @property
    def schedules(self) -> SchedulePlacer:
        """What knows when schedules are due."""

    async def workers(self) -> list[WorkerInfo]:
        """All workers, by name. Raises `EngineError` if Temporal cannot be asked."""

    async def waiting(self) -> list[WaitingRun]:
        """What waits for a worker, and why. Raises `EngineError`."""

    async def watch_over(self) -> None:
        """Place, forever, the runs that nobody has placed."""

    async def drain(self, name: str) -> None:
        """Have a worker hand over its runs and leave. Raises `EngineError`."""
