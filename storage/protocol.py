"""What a journal asks of its database: to read, to write, and to append to a run."""

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
        """Answer a query."""

    async def defer(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        """A query that is answered when the function is called, in the caller's thread, even after `close`.

        Where an answer may take long to come, it is asked at once.
        """

    async def write(self, work: Work[T]) -> T:
        """Have work done and committed, even if the caller is cancelled meanwhile."""

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> int:
        """Store a run's next steps; see `Journal.append`."""

    async def close(self) -> None:
        """Finish what was begun, then close. A second call only waits for the first."""
