"""Recorder: journals the steps of one run, waits while there is no room, and keeps snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.chart import Move
from engine.errors import JournalUnavailable
from engine.host import Host
from engine.records import RunId, RunInfo, Snapshot, Transition, Trouble
from engine.view import Ledger, snapshot_of

SNAPSHOT_STEPS = 200
"""A snapshot is kept at most this often, and no sooner than the steps since the last one outweigh it: a seek
stays short, and all snapshots together take no more room than the steps do."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between two tries to write to a journal that has no room; doubled from one to the next."""


class Recorder:
    """The only writer of one run's history."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._weight = self._last_weight = self._last_seq = self._unsaid = 0
        """Bytes since the last snapshot, and its own; `_unsaid` are those of the last steps, which the next
        summary tells."""

    async def write(
        self,
        info: RunInfo,
        ledger: Ledger,
        steps: Sequence[Transition],
        document: Callable[[], Mapping[str, Any]],
    ) -> RunInfo:
        """Journal steps that the ledger has taken already; returns the run's summary after them.

        Args:
            info: the summary before them.
            ledger: what follows from all steps up to and with these.
            steps: what was decided.
            document: gives the run's data, for a snapshot.

        Raises:
            JournalError: the run is not ours any more, or its journal is damaged; nothing was written.
        """
        info = summary(info, ledger, self._unsaid)
        due = ledger.seq - self._last_seq >= SNAPSHOT_STEPS and self._weight >= self._last_weight
        snapshot = snapshot_of(info.id, ledger, document()) if due else None
        weight = await self._append(info, steps, snapshot)
        self._unsaid = weight
        self._weight += weight
        if snapshot:
            self._last_seq, self._last_weight, self._weight = ledger.seq, weight, 0
        return info

    async def _append(self, info: RunInfo, steps: Sequence[Transition], snapshot: Snapshot | None) -> int:
        wait = FIRST_WAIT
        while True:
            try:
                weight = await self._host.journal.append(info, steps, snapshot)
            except JournalUnavailable as error:
                self._host.feed.publish(Trouble(run=info.id, problem=str(error)))
                await self._host.services.clock.sleep(wait)
                wait = min(LONGEST_WAIT, wait * 2)
            else:
                if wait > FIRST_WAIT:
                    self._host.feed.publish(Trouble(run=info.id, problem=''))
                return weight


def step_of(move: Move, run: RunId, seq: int, time: float) -> Transition:
    """A move as a step of a run."""
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


def summary(info: RunInfo, ledger: Ledger, more: int = 0) -> RunInfo:
    """The summary after all that the ledger has taken; `more` bytes have come to it."""
    status = ledger.status
    return replace(
        info,
        seq=ledger.seq,
        status=status,
        updated=max(info.created, ledger.time),
        usage=ledger.usage,
        budget=ledger.meter.budget,
        error=ledger.reason if status.ended else '',
        waiting=ledger.waiting,
        bytes=info.bytes + more,
    )
