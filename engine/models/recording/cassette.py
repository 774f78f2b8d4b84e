"""Cassettes: files that record the answers of endpoints and replay them offline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import httpx
import orjson

from engine.errors import ModelError
from engine.models.http.content_coding import bound_body
from engine.models.protocol import Send
from engine.models.recording.exchange import (
    CallLabel,
    Exchange,
    describe_request,
    number_ids,
    pack,
    read_exchanges,
    unpack,
)

Mode = Literal['record', 'replay']
KEPT_HEADERS = frozenset(
    {
        'content-type',
        'location',
        'retry-after',
        'retry-after-ms',
        'x-should-retry',
        'x-request-id',
        'request-id',
        'date',
    }
)
"""Response headers that clients read, in addition to those of rate limits. Others may identify accounts, and
cookies are credentials."""
WRITE_LOCK = Lock()


MAX_DIFFERENCES = 5
"""Maximum number of differences shown."""
MAX_EXCERPT = 80
"""Maximum characters shown of each side."""


class CassetteMiss(ModelError):
    """The recording does not contain the request."""

    def __init__(self, recording: str, difference: str) -> None:
        problem = f'the recording {recording} has no answer (left) to this request: {difference}'
        super().__init__(problem, kind='bad request')


class Cassette:
    """A recording: a file with one line per exchange.

    Args:
        path: the file.
        mode: `record` appends to it; `replay` answers from it, each exchange once and in order.
        name: its name in errors; defaults to the file's name.
    """

    def __init__(self, path: Path, mode: Mode, *, name: str = '') -> None:
        self.path, self.mode, self.name = path, mode, name or path.name
        self._left = read_exchanges(path) if mode == 'replay' else []
        self.labels = {exchange.model: exchange for exchange in self._left if exchange.endpoint}
        """One exchange per model, by its name in the run; it shows how the model was reached."""

    async def send(
        self, request: httpx.Request, send: Send, hide: Callable[[str], str], label: CallLabel
    ) -> httpx.Response:
        """Send a request and record the exchange, or answer it from the recording.

        Args:
            request: the request.
            send: sends it; unused in a replay.
            hide: removes secrets from the recording.
            label: identifies the caller.

        Raises:
            CassetteMiss: the recording has no answer to it.
        """
        request_record = Exchange(
            **asdict(label), **await describe_request(request, hide), status=0, headers={}
        )
        if self.mode == 'replay':
            return self._replay(request_record)
        began = asyncio.get_running_loop().time()
        try:
            response = await bound_body(await send(request))
        except httpx.TransportError as error:
            await self.append(replace(request_record, end=hide(_error_text(error))))
            raise
        headers = {
            name: hide(value)
            for name, value in response.headers.items()
            if name in KEPT_HEADERS or 'ratelimit' in name
        }
        exchange = replace(request_record, status=response.status_code, headers=headers)
        # The body is recorded decompressed, so `content-encoding` is not among the headers.
        body = _RecordedStream(self, exchange, response, began, hide)
        return httpx.Response(
            response.status_code, headers=headers, stream=body, extensions=response.extensions
        )

    def _replay(self, request: Exchange) -> httpx.Response:
        exchange = self._take_exchange(request)
        if not exchange.status:
            raise _parse_error(exchange.end)
        return httpx.Response(
            exchange.status, headers=dict(exchange.headers), stream=_ReplayedStream(exchange)
        )

    def _take_exchange(self, request: Exchange) -> Exchange:
        """Take the next exchange for a request, preferring the same state's. Raises `CassetteMiss`."""
        same = [exchange for exchange in self._left if exchange.key == request.key]
        if not same:
            candidates = [asdict(exchange) | {'body': number_ids(exchange.body)} for exchange in self._left]
            raise CassetteMiss(
                self.name, describe_nearest(asdict(request) | {'body': number_ids(request.body)}, candidates)
            )
        chosen = next((exchange for exchange in same if exchange.state == request.state), same[0])
        self._left.remove(chosen)
        return chosen

    async def append(self, exchange: Exchange) -> None:
        """Append an exchange; it is written when this returns, even if the caller is cancelled."""
        line = orjson.dumps(asdict(exchange)) + b'\n'
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, line))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    def _write(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with WRITE_LOCK, self.path.open('ab') as file:
            file.write(line)


class _RecordedStream(httpx.AsyncByteStream):
    """A body that records the bytes passing through."""

    def __init__(
        self,
        cassette: Cassette,
        exchange: Exchange,
        response: httpx.Response,
        began: float,
        hide: Callable[[str], str],
    ) -> None:
        self._cassette, self._exchange, self._response = cassette, exchange, response
        self._began, self._hide = began, hide
        self._pieces: list[tuple[float, bytes]] = []
        self._end: str | None = 'left'

    async def __aiter__(self) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        try:
            async for piece in self._response.aiter_bytes():
                self._pieces.append((round(now() - self._began, 4), piece))
                yield piece
        except httpx.TransportError as error:
            self._end = self._hide(_error_text(error))
            raise
        self._end = ''

    async def aclose(self) -> None:
        end, self._end = self._end, None
        try:
            await self._response.aclose()
        finally:
            if end is not None:
                pieces = pack(self._pieces, self._hide)
                await self._cassette.append(replace(self._exchange, pieces=pieces, end=end))


class _ReplayedStream(httpx.AsyncByteStream):
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _, piece in self._exchange.pieces:
            yield unpack(piece)
        if self._exchange.end == 'left':
            raise httpx.ReadError('the recording was cut off here')
        if self._exchange.end:
            raise _parse_error(self._exchange.end)


def _error_text(error: httpx.TransportError) -> str:
    return f'{type(error).__name__}: {error}'


def _parse_error(line: str) -> httpx.TransportError:
    name, _, text = line.partition(': ')
    kind = getattr(httpx, name, httpx.ReadError)
    error = kind(text) if isinstance(kind, type) and issubclass(kind, httpx.TransportError) else None
    return error or httpx.ReadError(line)


def describe_nearest(request: Mapping[str, Any], recorded: list[dict[str, Any]]) -> str:
    """Describe how a request differs from the nearest recorded one."""
    if not recorded:
        return 'all recorded answers have been used'
    compared = {name: request[name] for name in ('method', 'url', 'body')}
    nearest = min(
        (list(_differences({name: other[name] for name in compared}, compared, '')) for other in recorded),
        key=lambda differences: sum(weight for _, weight in differences),
    )
    if not nearest:
        return 'it is the same as one that was asked before'
    more = f'; and {len(nearest) - MAX_DIFFERENCES} more' if len(nearest) > MAX_DIFFERENCES else ''
    return (
        'the nearest differs: ' + '; '.join(difference for difference, _ in nearest[:MAX_DIFFERENCES]) + more
    )


def _differences(old: Any, new: Any, at: str) -> Iterator[tuple[str, int]]:
    """Yield each difference as text, with its approximate size in characters."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(name), new.get(name), f'{at}.{name}' if at else name)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            rest = old[len(new) :] or new[len(old) :]
            yield f'{at}: {len(old)} recorded, {len(new)} asked', len(repr(rest))
        for place, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from _differences(left, right, f'{at}[{place}]')
    elif old != new:
        same = _same(old, new) if isinstance(old, str) and isinstance(new, str) else 0
        difference = f'{at}: recorded {_excerpt(old, same)}, asked {_excerpt(new, same)}'
        yield difference, len(repr(old)) + len(repr(new)) - 2 * same


def _same(first: str, second: str) -> int:
    """Length of the common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(first), len(second)))


def _excerpt(value: Any, same: int) -> str:
    """Return a value as text; for a long string, the part around the first difference."""
    if not isinstance(value, str) or len(value) <= MAX_EXCERPT:
        return repr(value)[:MAX_EXCERPT]
    start = max(0, same - MAX_EXCERPT // 2)
    return f'…{value[start : start + MAX_EXCERPT]!r}…'
