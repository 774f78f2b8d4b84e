"""The last step of a run that came unfinished from elsewhere: here it has to have an end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.journal.projection import RunProjection
from engine.records import Event, RunInfo, StatePath, Transition

CLOSED_REASON: Final = 'it came unfinished from elsewhere: here it can be looked at and forked'


def closing_step(info: RunInfo, projection: RunProjection) -> Transition:
    """Return the step that cancels a run which is not over after the steps applied to its projection."""
    return Transition(
        run=info.id,
        seq=projection.seq + 1,
        time=projection.time or info.created,
        event=Event(name='cancel', data={'reason': CLOSED_REASON}),
        left=tuple(StatePath(path) for path in reversed(projection.entered)),
    )


def is_closing(steps: Sequence[Transition]) -> bool:
    """Return whether the last of these steps is one that was added so that a run has an end."""
    event = steps[-1].event if steps else Event(name='')
    return event.name == 'cancel' and event.data.get('reason') == CLOSED_REASON
