"""Driver: the activity that drives one run in this process while there is work to do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from engine.errors import FilesUnavailable, JournalUnavailable
from engine.records import RunId, StatePath
from engine.runtime import LiveRuns, Run, TimerSnapshot
from ui.app.fleet import DrivenRun
from ui.fleet.heartbeat import heartbeat
from ui.fleet.records import DRIVE, Placement, ReleaseReason

log = logging.getLogger('hemicycle')
POLL_SECONDS: Final = 0.2
"""Seconds between checks whether a run is at rest."""
LINGER_SECONDS: Final = 2.0
"""Seconds that a run at rest stays here, in case a person answers immediately."""
RETRY_DELAY = timedelta(seconds=1)


class Driver:
    """Drives the runs that Temporal assigns to this process.

    Args:
        runs: the live runs of this process.
        max_runs: the maximum number of concurrent runs.
        grace: seconds for live model calls to finish when this process is told to leave.
    """

    def __init__(self, runs: LiveRuns, *, max_runs: int, grace: float) -> None:
        self._runs, self.max_runs, self._grace = runs, max_runs, grace
        self._driven: dict[RunId, DrivenRun] = {}
        """The runs driven here; each object is that of one attempt of the activity."""
        self._freed = asyncio.Event()
        self._draining = self._is_cut_short = False

    @property
    def driven(self) -> tuple[DrivenRun, ...]:
        """The runs driven here, oldest first."""
        return tuple(self._driven.values())

    @property
    def has_room(self) -> bool:
        """Whether there is room for another run."""
        return len(self._driven) < self.max_runs and not self._draining

    async def wait_for_room(self) -> None:
        """Wait until there is room for another run."""
        while not self.has_room:
            self._freed.clear()
            await self._freed.wait()

    def drain(self) -> None:
        """Release all runs and accept no more."""
        self._draining = True

    def stop_waiting(self) -> None:
        """Cut the grace period short: runs are released without waiting for live calls."""
        self._is_cut_short = True

    @activity.defn(name=DRIVE)
    async def drive(self, placement: Placement, timers: list[dict[str, Any]]) -> ReleaseReason:
        """Drive a run until it ends, rests, or has to move."""
        run = RunId(placement.run)
        if run not in self._driven and not self.has_room:
            return ReleaseReason(why='moves', timers=timers)
        async with self._register(run, placement.pattern) as seat, heartbeat():
            live = await self._claim(run, timers)
            if live is None:
                return ReleaseReason(why='ended')
            try:
                return await self._wait_for_rest(live)
            except asyncio.CancelledError:
                # Temporal has assigned the run to another worker, or to a later attempt in this process.
                if self._driven.get(run) is seat and self._runs.runs.get(run) is live:
                    await asyncio.shield(self._runs.release_run(live))
                raise

    @contextlib.asynccontextmanager
    async def _register(self, run: RunId, pattern: str) -> AsyncIterator[DrivenRun]:
        before = self._driven.get(run)
        since = before.since if before else self._runs.services.clock.now()
        self._driven[run] = seat = DrivenRun(run=run, pattern=pattern, since=since)
        try:
            yield seat
        finally:
            if self._driven.get(run) is seat:
                del self._driven[run]
                self._freed.set()

    async def _claim(self, run: RunId, timers: Sequence[dict[str, Any]]) -> Run | None:
        """Return the run, claimed and restored, or the live one of an earlier attempt in this process."""
        live = self._runs.runs.get(run)
        if live is not None and not (live.lost or live.detached.is_set()):
            return live
        try:
            taken = await self._runs.take_over(run, [_timer(timer) for timer in timers])
        except (JournalUnavailable, FilesUnavailable) as error:
            raise ApplicationError(str(error), next_retry_delay=RETRY_DELAY) from error
        except Exception as error:
            self._runs.stranded[run] = str(error)
            raise ApplicationError(str(error) or type(error).__name__, non_retryable=True) from error
        self._runs.stranded.pop(run, None)
        return taken

    async def _wait_for_rest(self, live: Run) -> ReleaseReason:
        """Wait until the run ends, rests, or has to move."""
        clock, rested = self._runs.services.clock, 0.0
        while not live.detached.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(live.detached.wait(), POLL_SECONDS)
            if live.detached.is_set():
                break
            if self._draining:
                return ReleaseReason(why='moves', timers=await self._release(live))
            rested = (rested or clock.now()) if live.is_resting else 0.0
            if rested and clock.now() - rested >= LINGER_SECONDS:
                until = live.deadline
                timers = await self._runs.release_run(live)
                return ReleaseReason(why='rests', until=until, timers=[asdict(timer) for timer in timers])
        if live.projection.status.ended:
            return ReleaseReason(why='ended')
        raise ApplicationError(live.lost or 'the run was released', next_retry_delay=timedelta(seconds=0.2))

    async def _release(self, live: Run) -> list[dict[str, Any]]:
        """Release a run; paid model calls may finish first."""
        if not live.info.simulated:
            drained = asyncio.ensure_future(live.drain())
            until = self._runs.services.clock.now() + self._grace
            while not (drained.done() or self._is_cut_short) and self._runs.services.clock.now() < until:
                await asyncio.wait({drained}, timeout=POLL_SECONDS)
            drained.cancel()
        return [asdict(timer) for timer in await self._runs.release_run(live)]


def _timer(fields: dict[str, Any]) -> TimerSnapshot:
    return TimerSnapshot(**{**fields, 'path': StatePath(fields['path'])})
