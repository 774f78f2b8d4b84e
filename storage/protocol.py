"""The interface between a journal and its database: reads, writes, and appends to a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

from engine.records import RunInfo, Snapshot, Transition

P = ParamSpec('P')
T = TypeVar('T')

Work = Callable[[Connection], T]
"""Work to do inside a transaction. It may raise an `EngineError` only before its first write."""


class Database(Protocol):
    """Where runs are stored. Nothing here blocks the event loop; every method may raise `JournalError`."""

    async def read(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a query on a connection of its own, in a thread; return its result."""

    async def defer(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        """Return a function that runs a query when called, in the caller's thread, even after `close`.

        A database that may be slow to respond runs the query immediately.
        """

    async def write(self, work: Work[T]) -> T:
        """Do work and commit it, even if the caller is cancelled meanwhile."""

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> int:
        """Store a run's next steps; see `Journal.append`."""

    async def close(self) -> None:
        """Finish pending work, then close. A second call only waits for the first."""
