"""Follows one run in the terminal until it ends, waits for a person, or is released."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable

from engine import Conductor, EngineError, Status, Transition
from engine.errors import JournalError
from engine.journal import Fold
from engine.records import Delta, JournalOutage, Outcome, RunId
from ui.cli.exit_codes import ExitCode, exit_code_of
from ui.cli.output.reporters import Reporter
from ui.server.grace import signal_handlers

Ask = Callable[[Conductor, Fold], Awaitable[bool]]
"""Asks a person how to continue a paused run, and passes it to the conductor. False releases the run."""


async def follow(
    conductor: Conductor,
    begin: Awaitable[RunId],
    reporter: Reporter,
    *,
    after: int = 0,
    ask: Ask | None = None,
) -> ExitCode:
    """Start or resume a run in this process, and show it from step `after` on.

    When it is paused and idle, `ask` decides how to continue; without `ask` the run is released.
    Ctrl+C cancels the run at any time; a second one, or a SIGTERM, releases it. Calls of real models may then
    end within the configured grace period; another signal cuts them off.
    """
    following = _Follower(conductor, reporter, ask)
    reader = asyncio.create_task(following.read(begin, after))
    with signal_handlers({signal.SIGINT: lambda: following.interrupt(reader), signal.SIGTERM: reader.cancel}):
        await asyncio.wait([reader])
    following.stop()
    if not reader.cancelled():
        reader.result()
    return following.end()


class _Follower:
    def __init__(self, conductor: Conductor, reporter: Reporter, ask: Ask | None) -> None:
        self._conductor, self._reporter, self._ask = conductor, reporter, ask
        self._asking: asyncio.Task[bool] | None = None
        self._run: asyncio.Future[RunId] = asyncio.get_running_loop().create_future()
        self._fold: Fold | None = None
        self._cancelling: asyncio.Task[None] | None = None

    async def read(self, begin: Awaitable[RunId], after: int) -> None:
        run = await begin
        self._run.set_result(run)
        fold = self._fold = await self._conductor.fold(run, after)
        self._reporter.begin(await self._conductor.info(run))
        async with contextlib.aclosing(self._conductor.watch(run, after=after)) as items:
            async for item in items:
                match item:
                    case Transition():
                        self._reporter.step(item, fold.apply(item))
                        if fold.view.status.ended or fold.view.status is Status.WAITING:
                            return
                        if 0 < self._conductor.resting_step(
                            run
                        ) <= item.seq and not await self._should_continue(fold):
                            return
                    case Delta():
                        self._reporter.piece(item)
                    case JournalOutage():
                        self._reporter.outage(item)
                        if reason := self._conductor.stranded.get(run):
                            raise JournalError(f'run {run} cannot continue here: {reason}')

    async def _should_continue(self, fold: Fold) -> bool:
        if self._ask is None:
            return False
        self._reporter.hold_display(True)
        self._asking = asyncio.ensure_future(self._ask(self._conductor, fold))
        try:
            return await asyncio.shield(self._asking)
        except asyncio.CancelledError:
            if self._asking.cancelled() and self._cancelling:
                return True  # The run is being cancelled: its last step is still to come.
            self._asking.cancel()
            raise
        finally:
            self._asking = None
            self._reporter.hold_display(False)

    def interrupt(self, reader: asyncio.Task[None]) -> None:
        if self._cancelling:
            reader.cancel()
            return
        self._reporter.notice(
            'cancelling; Ctrl+C again releases the run, and `hemicycle resume` continues it'
        )
        self._cancelling = asyncio.create_task(self._cancel())
        if self._asking:
            self._asking.cancel()

    def stop(self) -> None:
        if self._cancelling:
            self._cancelling.cancel()
        self._run.cancel()

    def end(self) -> ExitCode:
        if self._fold is None:
            return ExitCode.UNFINISHED  # It was released before it had started.
        view, answer = self._fold.view, self._fold.shape.answer
        outcome = Outcome(
            run=view.run,
            status=view.status,
            answer=view.memory.get(answer) if answer else None,
            error=view.error,
            memory=dict(view.memory),
        )
        self._reporter.end(outcome, self._fold)
        return exit_code_of(outcome)

    async def _cancel(self) -> None:
        run = await asyncio.shield(self._run)
        # Refused: it has ended, or cannot be journaled at the moment. The second Ctrl+C still works.
        with contextlib.suppress(EngineError):
            await self._conductor.cancel(run, 'Ctrl+C in the terminal')
