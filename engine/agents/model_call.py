"""Model call: one attempt at a streamed call, with fallback to other models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

from engine.agents.message_accumulator import MessageAccumulator
from engine.errors import ModelError
from engine.journal.usage_records import by_model, usage_to_dict
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Model,
    ModelEvent,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    TextWasReasoning,
    Thinking,
    Waiting,
)
from engine.models.recording.recorded_call import ReplayedModel
from engine.models.usage_estimate import estimate_usage, message_length
from engine.records import FILLER, SOURCES, Origin, Usage
from engine.records.frozen import evolve
from engine.records.jsonable import describe_error
from engine.records.message import Message, Reasoning, Text
from engine.records.payloads import FailedCall, ReplyData
from engine.runtime.activity import Activity


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A reply that has been received completely."""

    message: Message
    data: ReplyData
    """What is journaled with it: `model`, `source`, `usage`; `finish` if it was cut off; if other models were
    tried first, `failed` and `spent`."""

    @property
    def real_model(self) -> str:
        """The name of the model, to name in errors; '' if it is simulated."""
        return '' if self.data['source'] in FILLER else str(self.data['model'])


async def call_with_fallback(names: tuple[str, ...], request: ModelRequest, activity: Activity) -> ModelReply:
    """Call the first model, or the next one if that fails permanently or is known to be down.

    Raises:
        ModelError: every model failed, or one failed in a way that should be retried.
    """
    failed: list[FailedCall] = []
    usage_by_model: dict[str, Usage] = {}
    recorded = await activity.recorded_call()
    for name, after in zip(names, (*names[1:], None), strict=True):
        model = (recorded and recorded.model(name)) or activity.services.model(name)
        if after is not None and _is_down(model):
            failed.append({'model': name, 'error': DOWN, 'kind': 'connection'})
            continue
        accumulator = MessageAccumulator('' if model.simulated else name)
        try:
            message = await _stream(
                model, evolve(request, model=name, carrier=recorded), accumulator, activity
            )
        except ModelError as error:
            usage_by_model[name] = usage_by_model.get(name, Usage()) + _usage_of(
                model, request, accumulator, error
            )
            if after is None or (activity.will_retry(error) and not _is_down(model)):
                error.spent = usage_by_model
                raise
            if error.kind in UNREACHABLE and (mark_down := getattr(model, 'mark_down', None)):
                mark_down()
            failed.append({'model': name, 'error': describe_error(error), 'kind': error.kind})
            continue
        used = _usage_of(model, request, accumulator)
        usage_by_model[name] = usage_by_model.get(name, Usage()) + used
        data = _reply_data(_source(model, request), name, accumulator)
        data['usage'] = usage_to_dict(reduce(add, usage_by_model.values()))
        if failed:
            data |= {'failed': failed, 'spent': by_model(usage_by_model)}
        return ModelReply(message=message, data=data)
    raise AssertionError('there is always a model')


UNREACHABLE = frozenset({'connection', 'timeout'})
"""Error kinds after which an endpoint is avoided for a while if there is another model."""
DOWN = 'it could not be reached a moment ago and is not tried again yet'


def _is_down(model: Model) -> bool:
    return bool(getattr(model, 'down', False))


async def _stream(
    model: Model, request: ModelRequest, accumulator: MessageAccumulator, activity: Activity
) -> Message:
    """Call one model and stream its text; if it fails, retract what was shown."""
    call = -1
    stream = model.stream(request)
    try:
        async for event in stream:
            await activity.services.scheduler.wait_for_turn()
            accumulator.add(event)
            if isinstance(event, Thinking):
                await activity.services.clock.sleep(event.seconds)
            if isinstance(event, TextWasReasoning):
                _show_as_reasoning(accumulator, activity)
            elif isinstance(event, CallStarted):
                call = event.index
                activity.stream(f'{event.name}\n', 'call')
            elif not isinstance(event, ArgumentPiece) or event.index == call:
                _show(event, request.model, activity)
        return accumulator.message(f'call-{activity.since}')
    except BaseException as error:
        activity.stream('', 'reset')
        if isinstance(error, ModelError):
            error.usage = error.usage or accumulator.usage
            parts = accumulator.partial_message().parts
            error.shown = any(isinstance(part, Text | Reasoning) for part in parts)
        raise
    finally:
        if close := getattr(stream, 'aclose', None):
            await close()


def _show(event: ModelEvent, model: str, activity: Activity) -> None:
    match event:
        case Waiting():
            activity.stream(_waiting_text(event, model), 'waiting')
        case ArgumentPiece(text=text):
            activity.stream(text, 'arguments')
        case TextPiece(text=text):
            activity.stream(text, 'text')
        case ReasoningPiece(text=text):
            activity.stream(text, 'reasoning')


def _show_as_reasoning(accumulator: MessageAccumulator, activity: Activity) -> None:
    """Replace the text shown by the same as reasoning."""
    activity.stream('', 'reset')
    for part in accumulator.partial_message().parts:
        if isinstance(part, Reasoning):
            activity.stream(part.text, 'reasoning')


def _waiting_text(event: Waiting, model: str) -> str:
    """Return the text shown while a call waits; '' once it is sent."""
    time = f' for {max(1, round(event.seconds))} s' if event.seconds else ''
    return f'Waiting{time} to call {model}: {event.reason}' if event.reason else ''


def _usage_of(
    model: Model, request: ModelRequest, accumulator: MessageAccumulator, error: ModelError | None = None
) -> Usage:
    """Return usage and cost of one attempt: as reported by the provider, or estimated from the reply."""
    reported = (error and error.usage) or accumulator.usage
    written = message_length(accumulator.partial_message())
    if reported is None or reported.source == SOURCES[-1]:
        if error is not None and not written:
            return Usage(calls=1)  # Rejected, or cut off before anything arrived.
        used = estimate_usage(request, written)
    elif written and not reported.output:  # Servers that do not count tokens report 0.
        guess = estimate_usage(request, written)
        used = evolve(reported, calls=1, input=reported.input or guess.input, output=guess.output)
        used = evolve(used, source=guess.source)
    else:
        used = evolve(reported, calls=1)
    if _source(model, request) != 'live':
        return used
    cost = accumulator.completed.cost if accumulator.completed else None
    if cost is None and (price := getattr(model, 'price', None)):
        cost = price(used)
    return evolve(used, unpriced=1) if cost is None else evolve(used, dollars=cost)


def _source(model: Model, request: ModelRequest) -> Origin:
    if isinstance(model, ReplayedModel):
        return 'replayed'
    if request.hints.stubs:
        return 'stubbed'
    return 'simulated' if model.simulated else 'live'


def _reply_data(source: Origin, name: str, accumulator: MessageAccumulator) -> ReplyData:
    end = accumulator.completed
    data: ReplyData = {'model': name, 'source': source}
    if end and end.reason == 'length':
        data['finish'] = 'length'
    return data
