"""Records what endpoints answer, and replays it without them: a transport that wraps another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Literal

import httpx
import orjson

from engine.errors import ModelError
from engine.wire.compare import nearest
from engine.wire.take import Label, Take, asked, numbered, packed, takes, unpacked

Mode = Literal['off', 'record', 'replay']
KEPT = frozenset(
    {'content-type', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-request-id', 'request-id', 'date'}
)
"""Headers of a response that a client reads; others name accounts, and cookies are keys."""
WRITING = Lock()


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
        name: what it is called in errors; the file's name by default.
    """

    def __init__(self, path: Path, mode: Mode, *, paced: bool = False, name: str = '') -> None:
        self.path, self.mode, self.paced, self.name = path, mode, paced, name or path.name
        self._left = takes(path) if mode == 'replay' else []
        self.labels = {take.model: take for take in self._left if take.endpoint}
        """Of each model, by its name in the run, an exchange of its: how it was reached."""

    def over(
        self,
        transport: httpx.AsyncBaseTransport,
        hide: Callable[[str], str] = lambda text: text,
        label: Label | None = None,
    ) -> httpx.AsyncBaseTransport:
        """The transport with the tape between it and the client.

        Args:
            transport: what carries requests; not used in a replay.
            hide: takes secrets out of what is kept.
            label: whose calls they are.
        """
        if self.mode == 'off':
            return transport
        made = label or Label()
        if self.mode == 'record':
            return _Recording(self, transport, hide, made)
        return _Replaying(self, hide, made)

    def take(self, request: Take, state: str) -> Take:
        """The next exchange for a request, one of the same state's before others. Raises `Missed`."""
        same = [take for take in self._left if take.key == request.key]
        if not same:
            told = [asdict(take) | {'body': numbered(take.body)} for take in self._left]
            raise Missed(self.name, nearest(asdict(request) | {'body': numbered(request.body)}, told))
        found = next((take for take in same if take.state == state), same[0])
        self._left.remove(found)
        return found

    async def keep(self, take: Take) -> None:
        """Add an exchange; it is there when this ends, also where whoever waits is cancelled."""
        line = orjson.dumps(asdict(take)) + b'\n'
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, line))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    def _write(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with WRITING, self.path.open('ab') as file:
            file.write(line)


class _Recording(httpx.AsyncBaseTransport):
    def __init__(
        self, tape: Tape, transport: httpx.AsyncBaseTransport, hide: Callable[[str], str], label: Label
    ) -> None:
        self._tape, self._transport, self._hide = tape, transport, hide
        self._label = asdict(label)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        made = Take(**self._label, **await asked(request, self._hide), status=0, headers={})
        began = asyncio.get_running_loop().time()
        try:
            response = await self._transport.handle_async_request(request)
        except httpx.TransportError as error:
            await self._tape.keep(replace(made, end=self._hide(_said(error))))
            raise
        headers = {name: value for name, value in response.headers.items() if name in KEPT}
        take = replace(made, status=response.status_code, headers=headers)
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
        self._pieces: list[tuple[float, bytes]] = []
        self._end: str | None = 'left'

    async def __aiter__(self) -> AsyncIterator[bytes]:
        now = asyncio.get_running_loop().time
        try:
            async for piece in self._response.aiter_bytes():
                self._pieces.append((round(now() - self._began, 4), piece))
                yield piece
        except httpx.TransportError as error:
            self._end = self._hide(_said(error))
            raise
        self._end = ''

    async def aclose(self) -> None:
        end, self._end = self._end, None
        try:
            await self._response.aclose()
        finally:
            if end is not None:
                pieces = packed(self._pieces, self._hide)
                await self._tape.keep(replace(self._take, pieces=pieces, end=end))


class _Replaying(httpx.AsyncBaseTransport):
    def __init__(self, tape: Tape, hide: Callable[[str], str], label: Label) -> None:
        self._tape, self._hide, self._label = tape, hide, label

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        wanted = Take(**await asked(request, self._hide), status=0, headers={})
        take = self._tape.take(wanted, self._label.state)
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
            yield unpacked(piece)
        if self._take.end == 'left':
            raise httpx.ReadError('the recording was left here')
        if self._take.end:
            raise _error(self._take.end)


def _said(error: httpx.TransportError) -> str:
    return f'{type(error).__name__}: {error}'


def _error(said: str) -> httpx.TransportError:
    name, _, text = said.partition(': ')
    kind = getattr(httpx, name, httpx.ReadError)
    made = kind(text) if isinstance(kind, type) and issubclass(kind, httpx.TransportError) else None
    return made or httpx.ReadError(said)
