"""The client: one attempt at one call, from a request to the stream of its events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

import httpx
import orjson

from engine.errors import ModelError
from engine.model import ModelEvent, ModelRequest, Timeouts
from engine.wire.answer import Answer
from engine.wire.anthropic import Anthropic
from engine.wire.deadline import Deadline
from engine.wire.dialect import Decoder, Dialect, parsed, unreadable
from engine.wire.endpoint import Endpoint
from engine.wire.faults import refused, words
from engine.wire.openai import OpenAI
from engine.wire.structure import Unwrapped

DIALECTS: dict[str, Dialect] = {'openai': OpenAI(), 'anthropic': Anthropic()}
STREAMED = {'content-type': 'application/json', 'accept': 'text/event-stream'}
MOST_BODY = 4_000_000
"""Bytes of a body that is no stream; a long list of models takes one million."""


async def call(
    http: httpx.AsyncClient, endpoint: Endpoint, model: str, request: ModelRequest
) -> AsyncGenerator[ModelEvent]:
    """Send the request and give the events of its answer; closing or cancelling closes the connection.

    Raises:
        ModelError: whatever goes wrong, but for a recording that lacks the request.
    """
    dialect = DIALECTS[endpoint.dialect]
    decoder = dialect.decoder(endpoint)
    deadline = Deadline(request.timeouts)
    unwrapped = Unwrapped()
    try:
        headers = dialect.headers(endpoint) | STREAMED
        content = orjson.dumps(dialect.body(model, request, endpoint))
        sent = _through(http, endpoint, model, request)
        response = await _exchanged(http, sent, endpoint, 'POST', dialect.path, headers, content, deadline)
        try:
            await _checked(response, deadline)
            answer = Answer(response, decoder, deadline)
            try:
                while events := await answer.next():
                    for event in events:
                        if turned := unwrapped.turn(event):
                            yield turned
            finally:
                await answer.close()
        finally:
            await response.aclose()
        for event in (*decoder.last(), decoder.completed()):
            if turned := unwrapped.turn(event):
                yield turned
    except ModelError as error:
        raise _named(error, endpoint, decoder) from error.__cause__


async def listed(http: httpx.AsyncClient, endpoint: Endpoint, within: float) -> tuple[str, ...]:
    """The models that an endpoint lists, within so many seconds.

    Raises:
        ModelError: it cannot be reached, refuses the key, or is something else than it should be.
    """
    dialect = DIALECTS[endpoint.dialect]
    deadline = Deadline(Timeouts(first=within, total=within))
    try:
        response = await _exchanged(
            http, _straight(http), endpoint, 'GET', '/models', dialect.headers(endpoint), None, deadline
        )
        try:
            body = await _read(response, deadline)
        finally:
            await response.aclose()
        if not response.is_success:
            raise refused(response.status_code, response.headers, body)
        found = parsed(body.decode('utf-8', 'replace'))
        models = found.get('data')
        if not isinstance(models, list):
            raise unreadable(body.decode('utf-8', 'replace'))
        return tuple(sorted(str(item['id']) for item in models if isinstance(item, dict) and item.get('id')))
    except ModelError as error:
        raise _named(error, endpoint, None) from error.__cause__


Send = Callable[[httpx.Request], Awaitable[httpx.Response]]


def _straight(http: httpx.AsyncClient) -> Send:
    return partial(http.send, stream=True)


def _through(http: httpx.AsyncClient, endpoint: Endpoint, model: str, request: ModelRequest) -> Send:
    """The way to the endpoint: by the tape, where there is one."""
    taped = request.taped
    if taped is None:
        return _straight(http)
    return lambda sent: taped.send(http, sent, endpoint, model, request.model)


async def _exchanged(  # noqa: PLR0913  (a request has so many parts)
    http: httpx.AsyncClient,
    send: Send,
    endpoint: Endpoint,
    method: str,
    path: str,
    headers: dict[str, str],
    content: bytes | None,
    deadline: Deadline,
) -> httpx.Response:
    """Send a request, and wait for the head of its response."""
    try:
        request = http.build_request(
            method,
            endpoint.url.rstrip('/') + path,
            params=dict(endpoint.query) or None,
            headers={**headers, **endpoint.headers},
            content=content,
            timeout=None,
        )
        async with deadline.wait():
            return await send(request)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError, httpx.LocalProtocolError) as error:
        problem = f'its address or a header is not valid: {type(error).__name__}'
        raise ModelError(problem, kind='bad request') from None
    except httpx.HTTPError as error:
        where = httpx.URL(endpoint.url).netloc.decode('ascii', 'replace')
        problem = f'{where} cannot be reached: {str(error) or type(error).__name__}'
        raise ModelError(problem, kind='connection', retryable=True) from error


async def _read(response: httpx.Response, deadline: Deadline) -> bytes:
    """A body as far as it comes, and no more than anybody wants."""
    body = b''
    try:
        async with deadline.wait():
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MOST_BODY:
                    break
    except (httpx.HTTPError, ModelError):
        pass  # What there is of it has to do.
    return body


async def _checked(response: httpx.Response, deadline: Deadline) -> None:
    """Raise for a response that is no stream of events."""
    kind = response.headers.get('content-type', '').partition(';')[0].strip().lower()
    if response.is_success and (not kind or kind in STREAMS):
        return
    body = await _read(response, deadline)
    status = response.status_code
    if status >= 400 or (kind == 'application/json' and b'"error"' in body):
        raise refused(status if status >= 400 else 0, response.headers, body)
    if 300 <= status < 400:
        target = response.headers.get('location', 'elsewhere')
        raise ModelError(f'it redirects to {target}', kind='bad response', status=status)
    error = unreadable(words(body.decode('utf-8', 'replace')))
    problem = f'it answered with {kind or "nothing"} in place of a stream; is the address right? {error}'
    raise ModelError(problem, kind='bad response', status=status)


STREAMS = ('text/event-stream', 'application/octet-stream', 'text/plain')


def _named(error: ModelError, endpoint: Endpoint, decoder: Decoder | None) -> ModelError:
    """The error with the endpoint's name before it, and none of its secrets in it."""
    said = endpoint.hide(error.problem)
    return ModelError(
        f'{endpoint.name}: {said}' if endpoint.name else said,
        kind=error.kind,
        retryable=error.retryable,
        retry_after=error.retry_after,
        status=error.status,
        code=error.code,
        request_id=error.request_id,
        usage=decoder.usage if decoder else None,
    )
