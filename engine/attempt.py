"""One attempt at one model call, streamed as it comes; where all else is in vain, by a fallback model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.activity import Activity
from engine.errors import ModelError
from engine.gathered import Gathered
from engine.message import Message
from engine.model import Model, ModelRequest, ReasoningPiece, TextPiece
from engine.plain import said
from engine.records import Usage
from engine.usage import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply."""

    message: Message
    data: dict[str, Any]
    """What is journaled of it: `model`, `source` (`live`, `simulated` or `replayed`), `usage`; from a real
    model also `cost` (dollars, None where it is not known); `finish` where it stopped at its limit; `failed`,
    the models tried before."""


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
    used, calls = Usage(), 0
    for name, after in zip(names, (*names[1:], None), strict=True):
        model = activity.services.model(name)
        gathered = Gathered()
        try:
            message = await _whole(model, replace(request, model=name), gathered, activity)
        except ModelError as error:
            if error.usage:
                used, calls = used + error.usage, calls + 1
            if error.shown or after is None or activity.repeats(error):
                error.usage = used if calls else None
                raise
            failed.append({'model': name, 'error': said(error), 'kind': error.kind})
            continue
        if gathered.usage:
            used = used + gathered.usage
        data = _told(model, name, gathered)
        data['usage'] = counted(used if gathered.usage or calls else None, calls + 1)
        return Reply(message=message, data=data | ({'failed': failed} if failed else {}))
    raise AssertionError('there is always a model')


async def _whole(model: Model, request: ModelRequest, gathered: Gathered, activity: Activity) -> Message:
    shown = False
    stream = model.stream(request)
    try:
        async for event in stream:
            gathered.add(event)
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


def _told(model: Model, name: str, gathered: Gathered) -> dict[str, Any]:
    end = gathered.completed
    source = 'simulated' if model.simulated else 'live'
    data: dict[str, Any] = {'model': name, 'source': source}
    if end and source == 'live':
        data['cost'] = end.cost
    if end and end.reason == 'length':
        data['finish'] = 'length'
    return data
