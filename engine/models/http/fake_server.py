"""A fake provider without a network: serves events and failures as bytes of the OpenAI dialect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from engine.errors import Kind, ModelError
from engine.models.endpoint import Endpoint
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Carrier,
    Completed,
    ModelEvent,
    ReasoningPiece,
    Send,
    TextPiece,
)

FAILURES: dict[Kind, tuple[int, str]] = {
    'rate limit': (429, 'rate_limit_error'),
    'quota': (429, 'insufficient_quota'),
    'overloaded': (529, 'overloaded_error'),
    'server': (500, 'server_error'),
    'timeout': (504, 'timeout_error'),
    'auth': (401, 'authentication_error'),
    'not found': (404, 'not_found_error'),
    'context too long': (400, 'context_length_exceeded'),
    'content filter': (400, 'content_filter'),
    'bad request': (400, 'invalid_request_error'),
}
"""How a provider reports these kinds; the other kinds are simulated as broken connections or streams."""
FINISH = {'stop': 'stop', 'tools': 'tool_calls', 'length': 'length', 'filter': 'content_filter'}
Beat = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeServer:
    """Carries requests to a fake provider, which answers each with the same events."""

    model: str
    events: Sequence[ModelEvent]
    beat: Beat
    """Awaited before the answer starts and before each event."""
    failure: ModelError | None
    """How the answer fails after the events."""
    carrier: Carrier | None
    """Records the exchange, or answers from a recording."""

    async def send(
        self, send: Send, request: httpx.Request, endpoint: Endpoint, model: str, name: str
    ) -> httpx.Response:
        """Answer the request."""
        if self.carrier is None:
            return await self._answer(request)
        return await self.carrier.send(self._answer, request, endpoint, model, name)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        await self.beat()
        failure = self.failure
        if failure and failure.kind == 'connection':
            raise httpx.ConnectError(str(failure))
        if failure and not self.events and failure.kind in FAILURES:
            status, headers = _refusal(failure)
            return httpx.Response(status, headers=headers, content=orjson.dumps(_error(failure)))
        headers = {'content-type': 'text/event-stream'}
        return httpx.Response(200, headers=headers, stream=_Body(self.model, self.events, self.beat, failure))


class _Body(httpx.AsyncByteStream):
    """The bytes of an answer, event by event."""

    def __init__(
        self, model: str, events: Sequence[ModelEvent], beat: Beat, failure: ModelError | None
    ) -> None:
        self._model, self._events, self._beat, self._failure = model, events, beat, failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield _chunk(model=self._model, choices=[{'index': 0, 'delta': {'role': 'assistant'}}])
        for event in self._events:
            if not isinstance(event, Completed):
                await self._beat()
            yield _bytes(event)
        if self._failure is None:
            return
        match self._failure.kind:
            case 'truncated':
                raise httpx.ReadError(str(self._failure))
            case 'bad response':
                yield f'data: {self._failure}\n\n'.encode()
            case _:
                yield _chunk(**_error(self._failure))


def _bytes(event: ModelEvent) -> bytes:
    match event:
        case TextPiece(text=text):
            return _delta(content=text)
        case ReasoningPiece(text=text):
            return _delta(reasoning=text)
        case CallStarted(index=index, name=name):
            function = {'name': name, 'arguments': ''}
            call = {'index': index, 'id': f'call_{index}', 'type': 'function', 'function': function}
            return _delta(tool_calls=[call])
        case ArgumentPiece(index=index, text=text):
            return _delta(tool_calls=[{'index': index, 'function': {'arguments': text}}])
        case Completed(reason=reason, usage=usage):
            end = _chunk(choices=[{'index': 0, 'delta': {}, 'finish_reason': FINISH[reason]}])
            used = {'prompt_tokens': usage.input, 'completion_tokens': usage.output}
            return end + _chunk(choices=[], usage=used) + b'data: [DONE]\n\n'
    raise ValueError(f'a scripted model does not send {event!r}')


def _delta(**delta: Any) -> bytes:
    return _chunk(choices=[{'index': 0, 'delta': delta}])


def _chunk(**chunk: Any) -> bytes:
    try:
        return b'data: ' + orjson.dumps(chunk) + b'\n\n'
    except TypeError:  # A lone surrogate, echoed from the request.
        return b'data: ' + json.dumps(chunk).encode() + b'\n\n'


def _refusal(failure: ModelError) -> tuple[int, dict[str, str]]:
    headers = {'content-type': 'application/json'}
    if failure.retry_after is not None:
        headers['retry-after'] = f'{failure.retry_after:g}'
    if not failure.retryable:
        headers['x-should-retry'] = 'false'
    return FAILURES[failure.kind][0], headers


def _error(failure: ModelError) -> dict[str, Any]:
    status, code = FAILURES[failure.kind]
    error = {'message': str(failure), 'type': code, 'code': code, 'status_code': status}
    return {'error': error | ({} if failure.retry_after is None else {'retry_after': failure.retry_after})}
