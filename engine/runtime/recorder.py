"""Recorder: journals one run's steps, retries while the journal is unavailable, and takes snapshots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from engine.errors import FilesUnavailable, JournalUnavailable
from engine.journal.projection import RunProjection, snapshot_of
from engine.records import JournalOutage, RunId, RunInfo, Snapshot, Transition
from engine.records.document import long_lists, update_unchanged
from engine.records.frozen import evolve
from engine.runtime.activity import RuntimeContext
from engine.statechart.chart import Microstep

T = TypeVar('T')
SNAPSHOT_STEPS = 200
"""Minimum number of steps between snapshots. A snapshot also waits until the steps since the last one are
larger than that one. This keeps seeks short, and all snapshots together no larger than the steps. A snapshot
holds only the new items of long lists, so that it stays small while they grow."""
FIRST_WAIT, MAX_WAIT = 0.5, 30.0
"""Seconds between attempts to write to an unavailable journal; doubled each time."""


class Recorder:
    """The only writer of one run's history."""

    def __init__(self, context: RuntimeContext, unchanged: Mapping[str, int]) -> None:
        self._context = context
        self._unchanged = dict(unchanged)
        """By memory field: how many leading items of a long list are unchanged since the latest snapshot."""
        self._weight = self._last_weight = self._last_seq = self._unreported = 0
        """Bytes since the last snapshot, and of that snapshot; `_unreported` are those of the latest steps,
        reported with the next summary."""

    async def write(
        self,
        info: RunInfo,
        projection: RunProjection,
        steps: Sequence[Transition],
        dump: Callable[[Mapping[str, int]], tuple[dict[str, Any], dict[str, Any]]],
    ) -> RunInfo:
        """Journal steps already applied to the projection, and return the run's summary after them.

        Args:
            info: the summary before them.
            projection: the derived state up to and including them.
            steps: the steps decided.
            dump: returns the run's data for a snapshot and the tails of its long lists, given how many items
                of each the latest snapshot has.

        Raises:
            JournalError: the run is no longer ours, or its journal is damaged; nothing was written.
        """
        info = summary(info, projection, self._unreported)
        due = projection.seq - self._last_seq >= SNAPSHOT_STEPS and self._weight >= self._last_weight
        if self._unchanged:
            for step in steps:
                update_unchanged(self._unchanged, step.changes)
        snapshot = snapshot_of(info.id, projection, *dump(self._unchanged)) if due else None
        weight = await self._append(info, steps, snapshot)
        self._unreported = weight
        self._weight += weight
        if snapshot:
            self._last_seq, self._last_weight, self._weight = projection.seq, weight, 0
            self._unchanged = long_lists(snapshot)
        return info

    async def _append(self, info: RunInfo, steps: Sequence[Transition], snapshot: Snapshot | None) -> int:
        services = self._context.services

        async def append() -> int:
            if services.workspaces.courier:  # Its files must be available wherever the run continues.
                if services.recordings:
                    await services.recordings.upload(info.id)
                await services.workspaces.upload(info.id)
            return await self._context.journal.append(info, steps, snapshot)

        return await keep_trying(self._context, info.id, append)


async def keep_trying(
    context: RuntimeContext,
    run: RunId,
    work: Callable[[], Awaitable[T]],
    passing: tuple[type[Exception], ...] = (JournalUnavailable, FilesUnavailable),
) -> T:
    """Do something for a run, retrying while its journal or files are unavailable; report the outage."""
    wait = FIRST_WAIT
    while True:
        try:
            done = await work()
        except passing as error:
            context.feed.publish(JournalOutage(run=run, problem=str(error)))
            await context.services.clock.sleep(wait)
            wait = min(MAX_WAIT, wait * 2)
        else:
            if wait > FIRST_WAIT:
                context.feed.publish(JournalOutage(run=run, problem=''))
            return done


def step_of(move: Microstep, run: RunId, seq: int, time: float) -> Transition:
    """Return a microstep of the chart as the run's step `seq`."""
    return Transition(
        run=run,
        seq=seq,
        time=time,
        event=move.event,
        raised=move.raised,
        left=move.left,
        entered=move.entered,
        active=move.active,
        edges=move.edges,
        guards=move.guards,
        changes=move.changes,
    )


def summary(info: RunInfo, projection: RunProjection, more: int = 0) -> RunInfo:
    """Return the summary after all steps applied to the projection; `more` bytes were added."""
    status = projection.status
    return evolve(
        info,
        seq=projection.seq,
        status=status,
        updated=max(info.created, projection.time),
        usage=projection.usage,
        budget=projection.meter.budget,
        error=projection.reason if status.ended else '',
        waiting=projection.waiting,
        bytes=info.bytes + more,
    )
