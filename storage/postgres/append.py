"""Append on PostgreSQL: one statement stores a run's next steps if the epoch and step number match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.records import RunInfo, Snapshot, Transition
from storage.codec import Codec
from storage.sql.rows import USAGE, budget_text, usage_values

APPEND = f"""
WITH moved AS (
    UPDATE run SET
        updated = %s, seq = %s, bytes = bytes + %s, status = %s, error = %s, waiting = %s, budget = %s,
        {', '.join(f'{name} = %s' for name in USAGE)}
    WHERE id = %s AND epoch = %s AND seq = %s
    RETURNING number
), steps AS (
    INSERT INTO transition (run, seq, time, name, at, body)
    SELECT number, step.* FROM moved,
        unnest(%s::bigint[], %s::float[], %s::text[], %s::text[], %b::bytea[]) AS step
), snapshots AS (
    INSERT INTO snapshot (run, seq, body)
    SELECT number, snapshot_row.* FROM moved, unnest(%s::bigint[], %b::bytea[]) AS snapshot_row
    ON CONFLICT (run, seq) DO UPDATE SET body = excluded.body
)
SELECT number FROM moved
"""
"""Atomic without a transaction. Returns a row, or none if the epoch or the step number does not match."""
SELECT_EPOCH = 'SELECT epoch FROM run WHERE id = %s'
STORED = """
SELECT step.seq, step.time, step.name, step.at, step.body
FROM transition AS step JOIN run ON run.number = step.run
WHERE run.id = %s AND run.seq = %s AND step.seq > %s ORDER BY step.seq
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedAppend:
    """The rows of an append, encoded as they are stored."""

    steps: list[tuple[int, float, str, str, bytes]]
    snapshots: list[tuple[int, bytes]]
    before: int
    """The run's last step before this append."""

    @property
    def after(self) -> int:
        """The run's last step after this append."""
        return self.before + len(self.steps)

    @property
    def size(self) -> int:
        """The total bytes of the bodies."""
        return sum(len(row[-1]) for row in self.steps) + sum(len(row[-1]) for row in self.snapshots)

    def values(self, info: RunInfo) -> tuple[Any, ...]:
        """Return the parameters of the statement `APPEND`, in its order."""
        steps = list(map(list, zip(*self.steps, strict=True))) or [[], [], [], [], []]
        snapshots = list(map(list, zip(*self.snapshots, strict=True))) or [[], []]
        run = (
            info.status.value,
            info.error,
            info.waiting,
            budget_text(info.budget),
            *usage_values(info.usage),
        )
        return (
            info.updated,
            self.after,
            self.size,
            *run,
            info.id,
            info.epoch,
            self.before,
            *steps,
            *snapshots,
        )


def encode(
    codec: Codec, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
) -> EncodedAppend:
    """Encode an append. Raises `JournalError` for a value that is not JSON."""
    return EncodedAppend(
        steps=[
            (step.seq, float(step.time), step.event.name, step.event.at, codec.transition(step))
            for step in transitions
        ],
        snapshots=[(snapshot.seq, codec.snapshot(snapshot))] if snapshot else [],
        before=transitions[0].seq - 1 if transitions else info.seq,
    )
