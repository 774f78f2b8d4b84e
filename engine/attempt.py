"""One attempt at one model call, streamed as it comes; where all else is in vain, by a fallback model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from engine.activity import Activity
from engine.budgets.estimate import estimated, length
from engine.budgets.usage import by_model, counted
from engine.errors import ModelError
from engine.gathered import Gathered
from engine.message import Message
from engine.model import Model, ModelRequest, ReasoningPiece, TextPiece, Thinking
from engine.plain import said
from engine.records import SOURCES, Origin, Usage
from engine.wire.taped import Played


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply."""

    message: Message
    data: dict[str, Any]
    """What is journaled of it: `model`, `source` (`live`, `simulated` or `replayed`), `usage`; from a real
    model also `cost` (dollars, None where it is not known); `finish` where it stopped at its limit; where
    models were tried before, `failed` (which, and why) and `spent` (by model, what `usage` has together)."""


def choices(models: Mapping[str, str], role: str) -> tuple[str, ...]:
    """The models for a role, the first choice first: a run names them with commas between."""
    named = models.get(role) or models.get('') or 'scripted'
    return tuple(name.strip() for name in named.split(',') if name.strip())


async def attempt(names: tuple[str, ...], request: ModelRequest, activity: Activity) -> Reply:
    """Call the first of the models; the next one, where it fails for good before it has said anything.

    Raises:
        ModelError: every model failed; or one did that is to be tried again, or was cut off while it spoke.
    """
    failed: list[dict[str, Any]] = []
    spent: dict[str, Usage] = {}
    taped = await activity.taped()
    for name, after in zip(names, (*names[1:], None), strict=True):
        gathered = Gathered()
        model = (taped and taped.model(name)) or activity.services.model(name)
        try:
            message = await _whole(model, replace(request, model=name, taped=taped), gathered, activity)
        except ModelError as error:
            spent[name] = spent.get(name, Usage()) + _used(model, request, gathered, error)
            if error.shown or after is None or activity.repeats(error):
                error.spent = spent
                raise
            failed.append({'model': name, 'error': said(error), 'kind': error.kind})
            continue
        used = _used(model, request, gathered)
        spent[name] = spent.get(name, Usage()) + used
        data = _told(model, name, gathered, used)
        data['usage'] = counted(reduce(add, spent.values()))
        if failed:
            data |= {'failed': failed, 'spent': by_model(spent)}
        return Reply(message=message, data=data)
    raise AssertionError('there is always a model')


async def _whole(model: Model, request: ModelRequest, gathered: Gathered, activity: Activity) -> Message:
    shown = False
    stream = model.stream(request)
    try:
        async for event in stream:
            gathered.add(event)
            if isinstance(event, Thinking):
                await activity.services.clock.sleep(event.seconds)
            if isinstance(event, TextPiece | ReasoningPiece):
                shown = True
                activity.stream(event.text, 'text' if isinstance(event, TextPiece) else 'reasoning')
        return gathered.message(f'call-{activity.since}')
    except BaseException as error:
        activity.stream('', 'reset')
        if isinstance(error, ModelError):
            error.usage = error.usage or gathered.usage
            # Somebody has read the beginning of it: to say something else now would be to take it back.
            error.shown = shown
            error.retryable = error.retryable and not shown
        raise
    finally:
        if close := getattr(stream, 'aclose', None):
            await close()


def _used(model: Model, request: ModelRequest, gathered: Gathered, error: ModelError | None = None) -> Usage:
    """What one attempt used and cost: as the provider says, or else estimated from what came of it."""
    reported, said = (error and error.usage) or gathered.usage, length(gathered.so_far())
    if reported is not None and reported.source != SOURCES[-1]:
        used = replace(reported, calls=1)
    elif error is not None and not said:
        return Usage(calls=1)  # It was refused, or broke off before anything came.
    else:
        used = estimated(request, said)
    if _source(model) != 'live':
        return used
    cost = gathered.completed.cost if gathered.completed else None
    if cost is None and (price := getattr(model, 'price', None)):
        cost = price(used)
    return replace(used, unpriced=1) if cost is None else replace(used, dollars=cost)


def _source(model: Model) -> Origin:
    return 'replayed' if isinstance(model, Played) else 'simulated' if model.simulated else 'live'


def _told(model: Model, name: str, gathered: Gathered, used: Usage) -> dict[str, Any]:
    end = gathered.completed
    source = _source(model)
    data: dict[str, Any] = {'model': name, 'source': source}
    if source == 'live':
        data['cost'] = used.cost
    if end and end.reason == 'length':
        data['finish'] = 'length'
    return data
