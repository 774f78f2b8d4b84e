"""A journal that is slow: each append waits until the test lets it through."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from engine.host.clock import settle
from tests.support.harness import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from engine import Transition
    from engine.journal import Journal
    from engine.records import RunInfo, Snapshot


class HeldJournal:
    """Wraps a journal; while `holds` is set, appends wait for `release`."""

    def __init__(self, journal: Journal, *, holds: bool = True) -> None:
        self.journal, self.holds = journal, holds
        self.waiting: deque[tuple[Sequence[Transition], asyncio.Future[None]]] = deque()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        if self.holds:
            written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append((transitions, written))
            await written
        return await self.journal.append(info, transitions, snapshot)

    async def next(self) -> Sequence[Transition]:
        """The steps to be written next, once all other tasks are idle."""
        await until(lambda: self.waiting)
        await settle()
        return self.waiting[0][0]

    def release(self) -> None:
        """Let the oldest waiting append be written."""
        self.waiting.popleft()[1].set_result(None)

    async def let_through(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Release every append as it comes, until `done`."""
        while not await done():
            await settle()
            while self.waiting:
                self.release()
