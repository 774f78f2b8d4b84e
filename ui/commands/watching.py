"""Follows one run in the terminal until it ends, waits for a person, or is let go of."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
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

    def end(self, outcome: Outcome, fold: Fold) -> None:
        """How it ended; the status tells whether it did."""


async def follow(conductor: Conductor, run: RunId, shower: Shower, *, after: int = 0) -> Code:
    """Show a run of this process, from step `after` on; Ctrl+C cancels it, a second one lets go of it."""
    fold = await conductor.fold(run, after)
    shower.begin(await conductor.info(run))
    reader = asyncio.create_task(_read(conductor, fold, shower))
    cancelling: list[asyncio.Task[None]] = []

    def interrupt() -> None:
        if cancelling:
            reader.cancel()
        else:
            shower.notice(
                'cancelling; Ctrl+C again lets go of the run, and `hemicycle resume` goes on with it'
            )
            cancelling.append(asyncio.create_task(_cancel(conductor, run)))

    with _on_signals(interrupt, reader.cancel):
        # Only `reader` is cancelled, by the second Ctrl+C or a SIGTERM: it ends, and the run stays as it is.
        await asyncio.wait([reader])
    for task in cancelling:
        task.cancel()
    if not reader.cancelled():
        reader.result()
    view, answer = fold.view, fold.shape.answer
    shower.end(
        Outcome(
            run=run,
            status=view.status,
            answer=view.memory.get(answer) if answer else None,
            error=view.error,
            memory=view.memory,
        ),
        fold,
    )
    return OF_STATUS.get(view.status, Code.UNFINISHED)


async def _read(conductor: Conductor, fold: Fold, shower: Shower) -> None:
    async for item in conductor.watch(fold.run, after=fold.ledger.seq):
        match item:
            case Transition():
                shower.step(item, fold.take(item))
                if fold.view.status.ended or fold.view.status is Status.WAITING:
                    return
            case Delta():
                shower.piece(item)
            case Trouble():
                shower.trouble(item)


async def _cancel(conductor: Conductor, run: RunId) -> None:
    with contextlib.suppress(
        EngineError
    ):  # It has ended meanwhile, or has no room to say so: the second one helps.
        await conductor.cancel(run, 'Ctrl+C in the terminal')


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
