"""The fleet for pages: its workers, the runs they drive, and the runs that wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.records import RunId, RunInfo
from ui.app.services.schedules import SchedulePlacer


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenRun:
    """A run that a worker drives."""

    run: RunId
    pattern: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker's description of itself."""

    name: str
    url: str
    """The URL at which it serves the API to web servers."""
    started: float = 0.0
    program: str = ''
    """The version of Hemicycle."""
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The versions of each pattern that it has, the current one first."""
    labels: tuple[str, ...] = ()
    at_once: int = 0
    """Maximum number of concurrent runs."""
    draining: bool = False
    runs: tuple[DrivenRun, ...] = ()
    problem: str = ''
    """Why it could not be reached, or ''."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """A run that could continue, but that no worker drives."""

    info: RunInfo
    reason: str


class FleetView(Protocol):
    """The data and actions of the workers page."""

    @property
    def schedules(self) -> SchedulePlacer:
        """Has workers handle schedules, so that no server is needed."""

    async def workers(self) -> list[WorkerInfo]:
        """Return all workers, sorted by name. Raises `EngineError` if Temporal does not answer."""

    async def waiting(self) -> list[WaitingRun]:
        """Return the runs that wait for a worker, with reasons. Raises `EngineError`."""

    async def keep_placing_runs(self) -> None:
        """Place runs that are not yet placed, forever."""

    async def drain(self, name: str) -> None:
        """Have a worker release its runs and exit. Raises `EngineError`."""
