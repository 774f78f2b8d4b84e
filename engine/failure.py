"""What an activity that raised ends in: the event `failed`, or `retry`, with what is journaled of it."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from engine.activity import Retry
from engine.budgets.usage import by_model, counted
from engine.errors import PASSING, ModelError
from engine.plain import said
from engine.records import Event

SHOWN = 'it is not tried again, since the beginning of the answer had been shown'


def ending(visit: Event, error: BaseException, retry: Retry | None, seed: str) -> Event:
    """The event for an error.

    Args:
        visit: `failed`, with the state, its visit and the attempt that raised.
        error: what was raised.
        retry: how the activity is tried again, if it is.
        seed: what the chance in the delay before another attempt begins with.
    """
    data: dict[str, Any] = {'error': said(error), 'kind': getattr(error, 'kind', type(error).__name__)}
    if isinstance(error, ModelError):
        data |= {name: told for name in ('status', 'code', 'request_id') if (told := getattr(error, name))}
        if error.spent:
            data |= {'usage': counted(reduce(add, error.spent.values())), 'spent': by_model(error.spent)}
        if error.shown and error.kind in PASSING:
            data['error'] += f'; {SHOWN}'
    if retry is None or not retry.again(visit.attempt, error):
        return replace(visit, data=data)
    delay = retry.after(visit.attempt, seed=seed, asked=getattr(error, 'retry_after', None))
    return replace(visit, name='retry', attempt=visit.attempt + 1, data={**data, 'delay': round(delay, 3)})
