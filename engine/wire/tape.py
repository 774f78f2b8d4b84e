"""Records what endpoints answer, and replays it without them: a transport that wraps another."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import httpx
import orjson

from engine.errors import EngineError, ModelError
from engine.wire.compare import nearest

Mode = Literal['off', 'record', 'replay']
KEPT = frozenset(
    {'content-type', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id', 'request-id', 'date'}
)
"""Headers of a response that a client reads; others name accounts, and cookies are keys."""
PACKED = 'base64:'


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """One exchange."""

    key: str
    """A digest of the method, the address and the body."""
    method: str
    url: str
    body: Any
    """The request's JSON. Its headers are not kept: a key is among them."""
    status: int
    headers: Mapping[str, str]
    pieces: tuple[tuple[float, str], ...] = ()
    """Seconds since the request, and the bytes: text where they are text, else base64 after `base64:`."""
    end: str = ''
    """How it broke off: '' is a clean end, `left` that the reader had enough, else the connection's error."""


class Missed(ModelError):
    """A recording does not hold the request."""

    def __init__(self, recording: str, difference: str) -> None:
        problem = f'the recording {recording} has no answer (left) to this request: {difference}'
        super().__init__(problem, kind='bad request')


class Tape:
    """A recording: a file of a line for each exchange.

    Args:
        path: the file.
        mode: `record` adds to it; `replay` answers from it, each exchange once and in its order.
        paced: whether a replay takes the time that the recording took.
    """

    def __init__(self, path: Path, mode: Mode, *, paced: bool = False) -> None:
        self.path, self.mode, self.paced = path, mode, paced
        self._left = _read(path) if mode == 'replay' else []

    def over(
        self, transport: httpx.AsyncBaseTransport, hide: Callable[[str], str] = lambda text: text
    ) -> httpx.AsyncBaseTransport:
        """The transport with the tape between it and the client.

        Args:
            transport: what carries requests; not used in a replay.
            hide: takes secrets out of what is kept.
        """
        if self.mode == 'off':
            return transport
        return _Recording(self, transport, hide) if self.mode == 'record' else _Replaying(self)

    def take(self, key: str, method: str, url: str, body: Any) -> Take:
        """The next exchange for a request. Raises `Missed`, with what differs from the nearest."""
        for place, take in enumerate(self._left):
            if take.key == key:
                return self._left.pop(place)
        asked = {'method': method, 'url': url, 'body': body}
        raise Missed(self.path.name, nearest(asked, [asdict(take) for take in self._left]))

    def keep(self, take: Take) -> None:
        """Add an exchange."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open('ab') as file:
            file.write(orjson.dumps(asdict(take)) + b'\n')


class _Recording(httpx.AsyncBaseTransport):
    def __init__(self, tape: Tape, transport: httpx.AsyncBaseTransport, hide: Callable[[str], str]) -> None:
        self._tape, self._transport, self._hide = tape, transport, hide

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = await _asked(request)
        began = asyncio.get_running_loop().time()
        try:
            response = await self._transport.handle_async_request(request)
        except httpx.TransportError as error:
            self._tape.keep(Take(**asked, status=0, headers={}, end=_said(error)))
            raise
        headers = {name: value for name, value in response.headers.items() if name in KEPT}
        take = Take(**asked, status=response.status_code, headers=headers)
        # What is kept is what came over the network; how it was packed is for the client to know.
        body = _Kept(self._tape, take, response, began, self._hide)
        return httpx.Response(
            response.status_code, headers=headers, stream=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Kept(httpx.AsyncByteStream):
    """A body that writes down what passes."""

    def __init__(
        self, tape: Tape, take: Take, response: httpx.Response, began: float, hide: Callable[[str], str]
    ) -> None:
        self._tape, self._take, self._response = tape, take, response
        self._began, self._hide = began, hide
        self._pieces: list[tuple[float, str]] = []
        self._end: str | None = 'left'

    async def __aiter__(self) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        try:
            async for piece in self._response.aiter_bytes():
                self._pieces.append((round(now() - self._began, 4), _text(piece, self._hide)))
                yield piece
        except httpx.TransportError as error:
            self._end = _said(error)
            raise
        self._end = ''

    async def aclose(self) -> None:
        if self._end is not None:
            self._tape.keep(replace(self._take, pieces=tuple(self._pieces), end=self._end))
            self._end = None
        await self._response.aclose()


class _Replaying(httpx.AsyncBaseTransport):
    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        take = self._tape.take(**await _asked(request))
        if not take.status:
            raise _error(take.end)
        return httpx.Response(take.status, headers=dict(take.headers), stream=_Played(take, self._tape.paced))


class _Played(httpx.AsyncByteStream):
    def __init__(self, take: Take, paced: bool) -> None:
        self._take, self._paced = take, paced

    async def __aiter__(self) -> AsyncIterator[bytes]:
        gone = 0.0
        for at, piece in self._take.pieces:
            if self._paced:
                await asyncio.sleep(at - gone)
                gone = at
            yield _bytes(piece)
        if self._take.end == 'left':
            raise httpx.ReadError('the recording was left here')
        if self._take.end:
            raise _error(self._take.end)


async def _asked(request: httpx.Request) -> dict[str, Any]:
    content = await request.aread()
    try:
        body = json.loads(content) if content else None
    except ValueError:
        body = content.decode('utf-8', 'replace')
    url = str(request.url)
    exact = json.dumps([request.method, url, body], sort_keys=True)
    key = hashlib.sha256(exact.encode()).hexdigest()[:16]
    return {'key': key, 'method': request.method, 'url': url, 'body': body}


def _read(path: Path) -> list[Take]:
    try:
        lines = path.read_bytes().splitlines()
        return [
            Take(**{**made, 'pieces': tuple((at, piece) for at, piece in made['pieces'])})
            for made in map(orjson.loads, filter(None, lines))
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EngineError(f'the recording {path} cannot be read: {error}') from None


def _text(piece: bytes, hide: Callable[[str], str]) -> str:
    try:
        text = piece.decode('utf-8')
    except ValueError:
        text = PACKED  # Split inside a character.
    return f'{PACKED}{base64.b64encode(piece).decode()}' if text.startswith(PACKED) else hide(text)


def _bytes(piece: str) -> bytes:
    return base64.b64decode(piece.removeprefix(PACKED)) if piece.startswith(PACKED) else piece.encode()


def _said(error: httpx.TransportError) -> str:
    return f'{type(error).__name__}: {error}'


def _error(said: str) -> httpx.TransportError:
    name, _, text = said.partition(': ')
    kind = getattr(httpx, name, httpx.ReadError)
    made = kind(text) if isinstance(kind, type) and issubclass(kind, httpx.TransportError) else None
    return made or httpx.ReadError(said)
