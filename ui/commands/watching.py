"""Follows one run in the terminal until it ends, waits for a person, or is let go of."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from engine import (
    Conductor,
    Delta,
    EngineError,
    Fold,
    Outcome,
    RunId,
    RunInfo,
    Status,
    Transition,
    Trouble,
)
from ui.commands.exits import OF_STATUS, Code


class Shower(Protocol):
    """Shows what happens to a run."""

    def begin(self, info: RunInfo) -> None:
        """Before anything else."""

    def step(self, transition: Transition, fold: Fold) -> None:
        """A step; `fold` has taken it."""

    def piece(self, delta: Delta) -> None:
        """A piece of streamed text."""

    def trouble(self, trouble: Trouble) -> None:
        """The run cannot be journaled just now, or can again."""

    def notice(self, text: str) -> None:
        """What the command itself has to say."""

    def stand(self, still: bool) -> None:
        """Whether nothing may move on the screen, since a person types."""

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """How it ended; the status tells whether it did."""


Ask = Callable[[Conductor, Fold], Awaitable[bool]]
"""Asks a person how a paused run goes on, and tells the conductor. False: it is to be let go of."""


async def follow(
    conductor: Conductor, begin: Awaitable[RunId], shower: Shower, *, after: int = 0, ask: Ask | None = None
) -> Code:
    """Begin a run in this process, or go on with one, and show it from step `after` on.

    Where it is paused and nothing is under way, `ask` says how it goes on; without `ask` it is let go of.
    Ctrl+C cancels the run, whenever it comes; a second one, or a SIGTERM, lets go of it.
    """
    following = _Following(conductor, shower, ask)
    reader = asyncio.create_task(following.read(begin, after))
    with _on_signals(lambda: following.interrupt(reader), reader.cancel):
        await asyncio.wait([reader])
    following.stop()
    if not reader.cancelled():
        reader.result()
    return following.end()


class _Following:
    def __init__(self, conductor: Conductor, shower: Shower, ask: Ask | None) -> None:
        self._conductor, self._shower, self._ask = conductor, shower, ask
        self._asking: asyncio.Task[bool] | None = None
        self._run: asyncio.Future[RunId] = asyncio.get_running_loop().create_future()
        self._fold: Fold | None = None
        self._cancelling: asyncio.Task[None] | None = None

    async def read(self, begin: Awaitable[RunId], after: int) -> None:
        run = await begin
        self._run.set_result(run)
        fold = self._fold = await self._conductor.fold(run, after)
        self._shower.begin(await self._conductor.info(run))
        async for item in self._conductor.watch(run, after=after):
            match item:
                case Transition():
                    self._shower.step(item, fold.take(item))
                    if fold.view.status.ended or fold.view.status is Status.WAITING:
                        return
                    if 0 < self._conductor.at_rest(run) <= item.seq and not await self._goes_on(fold):
                        return
                case Delta():
                    self._shower.piece(item)
                case Trouble():
                    self._shower.trouble(item)

    async def _goes_on(self, fold: Fold) -> bool:
        if self._ask is None:
            return False
        self._shower.stand(True)
        self._asking = asyncio.ensure_future(self._ask(self._conductor, fold))
        try:
            return await asyncio.shield(self._asking)
        except asyncio.CancelledError:
            if self._asking.cancelled() and self._cancelling:
                return True  # The run is being cancelled: its last step comes yet.
            self._asking.cancel()
            raise
        finally:
            self._asking = None
            self._shower.stand(False)

    def interrupt(self, reader: asyncio.Task[None]) -> None:
        if self._cancelling:
            reader.cancel()
            return
        self._shower.notice(
            'cancelling; Ctrl+C again lets go of the run, and `hemicycle resume` goes on with it'
        )
        self._cancelling = asyncio.create_task(self._cancel())
        if self._asking:
            self._asking.cancel()

    def stop(self) -> None:
        if self._cancelling:
            self._cancelling.cancel()
        self._run.cancel()

    def end(self) -> Code:
        if self._fold is None:
            return Code.UNFINISHED  # It was let go of while it began.
        view, answer = self._fold.view, self._fold.shape.answer
        outcome = Outcome(
            run=view.run,
            status=view.status,
            answer=view.memory.get(answer) if answer else None,
            error=view.error,
            memory=view.memory,
        )
        self._shower.end(outcome, self._fold)
        return OF_STATUS.get(view.status, Code.UNFINISHED)

    async def _cancel(self) -> None:
        run = await asyncio.shield(self._run)
        # Refused: it has ended meanwhile, or cannot be journaled just now. Then the second Ctrl+C helps.
        with contextlib.suppress(EngineError):
            await self._conductor.cancel(run, 'Ctrl+C in the terminal')


@contextlib.contextmanager
def _on_signals(interrupt: Callable[[], object], terminate: Callable[[], object]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
