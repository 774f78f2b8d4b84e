"""One attempt at a model call: sends a request and reads its event stream."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx
import orjson

from engine.errors import ModelError
from engine.models.endpoint import Endpoint
from engine.models.http.answer_events import AnswerEvents
from engine.models.http.content_coding import CODING_HEADERS, body_pieces, bound_body
from engine.models.http.deadline import Deadline
from engine.models.http.dialects.anthropic import ANTHROPIC
from engine.models.http.dialects.dialect import (
    Decoder,
    Dialect,
    parse_object,
    parse_objects,
    unreadable_error,
)
from engine.models.http.dialects.error_mapping import error_of_response, page_text
from engine.models.http.dialects.gemini import GEMINI
from engine.models.http.dialects.openai import OPENAI
from engine.models.http.dialects.responses import RESPONSE_DELETED, RESPONSES
from engine.models.http.sse_reader import SseReader, lost_connection
from engine.models.protocol import ModelEvent, ModelRequest, Send, Timeouts
from engine.records.jsonable import clip, unwrap_error

DIALECTS: dict[str, Dialect] = {
    'openai': OPENAI,
    'responses': RESPONSES,
    'anthropic': ANTHROPIC,
    'gemini': GEMINI,
}
CLIENT_HEADERS = {'user-agent': f'python-httpx/{httpx.__version__}', 'accept': '*/*'}
STREAM_HEADERS = {'content-type': 'application/json', 'accept': 'text/event-stream'}
LAST_PORT = 65_535
MAX_BODY = 4_000_000
"""Maximum bytes of a body that is not a stream; a long model list takes about one million."""


async def call(
    http: httpx.AsyncClient, endpoint: Endpoint, model: str, request: ModelRequest
) -> AsyncGenerator[ModelEvent]:
    """Send the request and yield the events of its answer; closing or cancelling closes the connection.

    Raises:
        ModelError: on any failure.
    """
    try:
        async with aclosing(_attempt(http, endpoint, model, request)) as events:
            async for event in events:
                yield event
        return
    except ModelError as error:
        if error.code != RESPONSE_DELETED or not endpoint.store:
            raise
    # The provider has deleted the response that the request continues: send the whole conversation.
    async with aclosing(_attempt(http, replace(endpoint, store=False), model, request)) as events:
        async for event in events:
            yield event


async def _attempt(
    http: httpx.AsyncClient, endpoint: Endpoint, model: str, request: ModelRequest
) -> AsyncGenerator[ModelEvent]:
    dialect = DIALECTS[endpoint.dialect]
    decoder = dialect.decoder(endpoint)
    deadline = Deadline(request.timeouts or _timeouts(endpoint))
    answer = AnswerEvents(request.tools)
    try:
        content = _encode(dialect.body(model, request, endpoint))
        send = _send_through(http, endpoint, model, request)
        with deadline.wait():
            response = await _exchange(http, send, endpoint, dialect.path(model), content)
        try:
            async with aclosing(_stream_answer(response, decoder, deadline)) as events:
                async for event in events:
                    for turned in answer.turn(event):
                        yield turned
        finally:
            await response.aclose()
    except ModelError as error:
        raise _annotate_error(error, endpoint, decoder) from error.__cause__
    finally:
        deadline.close()


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # Deep nesting, wide integers or a lone surrogate, from a model or a tool.
        return json.dumps(body).encode()


async def list_models(http: httpx.AsyncClient, endpoint: Endpoint, within: float) -> tuple[str, ...]:
    """List an endpoint's models, waiting at most `within` seconds.

    Raises:
        ModelError: the endpoint is unreachable, rejects the key, or is not a model endpoint.
    """
    dialect = DIALECTS[endpoint.dialect]
    deadline = Deadline(Timeouts(first=within, total=within))
    try:
        with deadline.wait():
            response = await _exchange(http, _send_directly(http), endpoint, dialect.models_path)
        try:
            body = await _read_body(response.aiter_bytes(), deadline)
        finally:
            await response.aclose()
        if not response.is_success:
            raise error_of_response(response.status_code, response.headers, body)
        payload = parse_object(body.decode('utf-8', 'replace'))
        models = dialect.listed_models(payload)
        if models is None:
            raise unreadable_error(body.decode('utf-8', 'replace'))
        return tuple(sorted(filter(None, models)))
    except ModelError as error:
        raise _annotate_error(error, endpoint, None) from error.__cause__
    finally:
        deadline.close()


def _send_directly(http: httpx.AsyncClient) -> Send:
    return partial(http.send, stream=True)


def _send_through(http: httpx.AsyncClient, endpoint: Endpoint, model: str, request: ModelRequest) -> Send:
    """Return what sends requests to the endpoint: the request's carrier, or else the client itself."""
    send, carrier = _send_directly(http), request.carrier
    if carrier is None:
        return send
    return lambda sent: carrier.send(send, sent, endpoint, model, request.model)


def _timeouts(endpoint: Endpoint) -> Timeouts:
    seconds_by_phase = {
        'first': endpoint.first_seconds,
        'idle': endpoint.idle_seconds,
        'total': endpoint.total_seconds,
    }
    return Timeouts(**{name: seconds for name, seconds in seconds_by_phase.items() if seconds is not None})


async def _exchange(
    http: httpx.AsyncClient, send: Send, endpoint: Endpoint, path: str, content: bytes | None = None
) -> httpx.Response:
    """Send a request and wait for the response head; one with `content` asks for a stream."""
    headers = DIALECTS[endpoint.dialect].headers(endpoint) | (STREAM_HEADERS if content else {})
    try:
        url = _parse_url(endpoint.url.rstrip('/') + path)
        own = {name.lower(): value for name, value in endpoint.headers.items()}
        request = httpx.Request(  # Not by the client: merging its headers takes as long again.
            'POST' if content else 'GET',
            url.copy_merge_params(dict(endpoint.query)) if endpoint.query else url,
            headers={**CLIENT_HEADERS, **CODING_HEADERS, **headers, **own},
            cookies=http.cookies or None,
            content=content,
        )
        return await bound_body(await send(request))
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError, httpx.LocalProtocolError) as error:
        problem = f'its address or a header is not valid: {type(error).__name__}'
        raise ModelError(problem, kind='bad request') from None
    except ExceptionGroup as error:  # Raised below httpx.
        problem = f'its address cannot be used: {unwrap_error(error)}'
        raise ModelError(problem, kind='bad request') from None
    except httpx.HTTPError as error:
        where = url.netloc.decode('ascii', 'replace')
        if proxy := _proxy(url):
            where += f' through the proxy {proxy}'
        problem = f'{where} cannot be reached: {str(error) or type(error).__name__}'
        raise ModelError(problem, kind='connection', retryable=True) from error


@lru_cache(maxsize=1_000)
def _parse_url(text: str) -> httpx.URL:
    """Return an address, which is the same for all calls of a model."""
    url = httpx.URL(text)
    if (url.port or 0) > LAST_PORT:  # Some event loops report it only as unreachable.
        problem = f'its address cannot be used: port must be 0-{LAST_PORT}'
        raise ModelError(problem, kind='bad request')
    return url


def _proxy(url: httpx.URL) -> str:
    """Return the environment's proxy for a URL, without its login; '' if there is none."""
    named = getproxies()
    proxy = named.get(url.scheme) or named.get('all') or ''
    return '' if not proxy or proxy_bypass(url.host) else re.split('@|://', proxy)[-1]


async def _read_body(
    pieces: AsyncIterator[bytes], deadline: Deadline, head: bytes = b'', *, whole: bool = False
) -> bytes:
    """Read a body that begins with `head`, up to a limit.

    Raises:
        ModelError: it must be complete and is not.
    """
    body = bytearray(head)
    try:
        with deadline.wait():
            async for piece in pieces:
                body += piece
                if len(body) > MAX_BODY:
                    break
    except (httpx.HTTPError, ModelError) as error:
        if whole:
            raise lost_connection(error) if isinstance(error, httpx.HTTPError) else error from error
    return bytes(body)


async def _stream_answer(
    response: httpx.Response, decoder: Decoder, deadline: Deadline
) -> AsyncGenerator[ModelEvent]:
    """Yield the events of a response: a stream or one JSON object, whatever its content type says."""
    kind = response.headers.get('content-type', '').partition(';')[0].strip().lower()
    if not response.is_success:
        raise await _read_error(response, deadline)
    pieces = body_pieces(response)
    head = await _read_head(pieces, deadline)
    if head[:1] in JSON_STARTS:
        body = await _read_body(pieces, deadline, head, whole=True)
        for event in _decode_whole(body, kind, decoder):
            yield event
    elif head[:1] == b'<' or (kind and kind not in STREAM_TYPES and not head.startswith(SSE_STARTS)):
        raise _stream_error(await _read_body(pieces, deadline, head), kind)
    else:
        reader = SseReader(head, pieces, decoder, deadline)
        try:
            while events := await reader.next():
                for event in events:
                    yield event
        except ModelError as error:
            if error.kind == 'truncated' and head and not (decoder.begun or head.startswith(SSE_STARTS)):
                raise _stream_error(head, kind) from None
            raise
        finally:
            await reader.close()
    for event in decoder.close():
        yield event


BOM = b'\xef\xbb\xbf'
JSON_STARTS = (b'{', b'[')
SSE_STARTS = (b'data', b'event', b'id', b'retry', b'error:', b':')
STREAM_TYPES = ('text/event-stream', 'application/octet-stream', 'text/plain')


async def _read_head(pieces: AsyncIterator[bytes], deadline: Deadline) -> bytes:
    """Read the leading bytes that identify the body, without byte order mark and leading whitespace."""
    head = b''
    try:
        with deadline.wait():
            async for piece in pieces:
                head = (head + piece).lstrip()
                if len(head) > len(BOM) or not BOM.startswith(head):
                    head = head.removeprefix(BOM).lstrip()
                    if len(head) >= MIN_HEAD:
                        break
    except httpx.HTTPError as error:
        raise lost_connection(error) from error
    return head


MIN_HEAD = 6
"""Bytes; enough to distinguish `event:` from a word that starts the same."""


def _decode_whole(body: bytes, kind: str, decoder: Decoder) -> list[ModelEvent]:
    """Decode an answer that is JSON: one object, or a list of a stream's events.

    Raises:
        ModelError: it is neither.
    """
    text = body.decode('utf-8', 'replace')
    try:
        answers = parse_objects(text)
    except ModelError:
        answers = []
    if not answers or not any(name in answers[0] for name in decoder.whole_fields):
        if b'"error"' in body:
            raise error_of_response(0, {}, body)
        raise _stream_error(body, kind)
    if body.startswith(b'{'):
        return decoder.feed('', text)
    return [event for answer in answers for event in decoder.feed('', json.dumps(answer))]


async def _read_error(response: httpx.Response, deadline: Deadline) -> ModelError:
    """Return the error described by an unsuccessful response."""
    body = await _read_body(response.aiter_bytes(), deadline)
    status = response.status_code
    if 300 <= status < 400:
        target = response.headers.get('location', 'elsewhere')
        return ModelError(f'it redirects to {target}', kind='bad response', status=status)
    return error_of_response(status, response.headers, body)


def _stream_error(body: bytes, kind: str) -> ModelError:
    """Return the error for an answer that is neither server-sent events nor the dialect's JSON."""
    form = 'JSON, but not that of the dialect' if body[:1] in JSON_STARTS else 'not server-sent events'
    message = unreadable_error(page_text(body.decode('utf-8', 'replace')))
    problem = f'it answered with {kind or "no content type"}: {form}; is the address right? {message}'
    return ModelError(problem, kind='bad response', status=200)


MAX_ERROR = 2_000
"""Maximum characters of an error; some quote a whole header."""


def _annotate_error(error: ModelError, endpoint: Endpoint, decoder: Decoder | None) -> ModelError:
    """Prefix the error with the endpoint's name, remove its secrets, and shorten it."""
    message = clip(endpoint.hide(error.problem), MAX_ERROR)
    return ModelError(
        f'{endpoint.name}: {message}' if endpoint.name else message,
        kind=error.kind,
        retryable=error.retryable,
        retry_after=error.retry_after,
        status=error.status,
        code=endpoint.hide(error.code),
        request_id=endpoint.hide(error.request_id),
        usage=decoder.usage if decoder else None,
    )
