"""Reads a streamed answer: splits bytes into events and decodes them up to a proper end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
from httpx_sse import EventSource, ServerSentEvent

from engine.errors import ModelError
from engine.models.http.deadline import Deadline
from engine.models.http.dialects.dialect import Decoder
from engine.models.protocol import ModelEvent, Started, UsageReport

GRACE_SECONDS = 5.0
"""Seconds to wait for the rest (usage, the end marker) after the finish reason."""
ERROR_GRACE = 1.0
"""Seconds to wait for the rest (usage, a clearer error) after an error."""
DRAIN = 0.1
"""Seconds to drain the response's end, so that its connection can be reused."""
MAX_EVENT, MAX_ANSWER = 16_000_000, 200_000_000
"""Maximum bytes of one event and of all; anything larger is not an answer and would fill memory."""


ERROR_LINE, ERROR_EVENT = b'error:', b'event: error\ndata:'
"""How llama.cpp reports an error in a stream, and how the standard would have it."""


class PaddedStream(httpx.AsyncByteStream):
    """A response's bytes followed by an empty line, which some servers omit after the end marker.

    Lines with errors, which the standard ignores, become events.

    Args:
        pieces: the bytes.
    """

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.has_ended = False
        self.pending = 0
        """Bytes since the last event."""
        self._all = 0
        self._held, self._in_line = b'', False
        """What may be the beginning of a line with an error; whether the last byte is inside a line."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            self.pending += len(piece)
            self._all += len(piece)
            if self.pending > MAX_EVENT:
                raise ModelError(f'it sent an event longer than {MAX_EVENT:,} bytes', kind='bad response')
            if self._all > MAX_ANSWER:
                raise ModelError(f'it sent more than {MAX_ANSWER:,} bytes', kind='bad response')
            yield self._turn_errors(piece)
        self.has_ended = True
        yield self._held + b'\n\n'

    def _turn_errors(self, piece: bytes) -> bytes:
        piece, self._held = self._held + piece, b''
        if not self._in_line and piece.startswith(ERROR_LINE):
            piece = ERROR_EVENT + piece.removeprefix(ERROR_LINE)
        piece = piece.replace(b'\n' + ERROR_LINE, b'\n' + ERROR_EVENT)
        start = piece.rfind(b'\n') + 1
        if ERROR_LINE.startswith(piece[start:]) and (start or not self._in_line):
            piece, self._held = piece[:start], piece[start:]
        self._in_line = not piece.endswith(b'\n') if piece else self._in_line
        return piece


class SseReader:
    """Reads the decoded events of one response.

    Input is decoded as UTF-8, as the server-sent events standard requires, whatever the headers say.
    """

    def __init__(self, pieces: AsyncIterator[bytes], decoder: Decoder, deadline: Deadline) -> None:
        self._decoder, self._deadline = decoder, deadline
        self._bytes = PaddedStream(pieces)
        self._complete_since: float | None = None
        self._has_content = False
        headers = {'content-type': 'text/event-stream; charset=utf-8'}
        self._events = EventSource(httpx.Response(200, headers=headers, stream=self._bytes)).aiter_sse()

    async def next(self) -> list[ModelEvent]:
        """Return the next events; empty at the end.

        Raises:
            ModelError: the provider stops early, sends unreadable data, or sends nothing for too long.
        """
        while not self._decoder.ended:
            sent = await self._next_event()
            if sent is None:
                break
            if events := self._decode(sent):
                self._has_content |= not all(isinstance(event, Started | UsageReport) for event in events)
                self._deadline.note_event()
                if not all(isinstance(event, UsageReport) for event in events):
                    self._complete_since = None  # Some servers send a finish reason with each piece.
                return events
        if not self._decoder.complete:
            raise ModelError('its answer ended without an end marker', kind='truncated', retryable=True)
        if not (self._has_content or self._decoder.finish or self._decoder.failure):
            raise ModelError(
                'its answer ended without content or a finish reason', kind='truncated', retryable=True
            )
        return []

    async def close(self) -> None:
        """Read the rest if it arrives immediately, then stop."""
        try:
            async with self._deadline.wait(DRAIN):
                while self._decoder.ended and await anext(self._events, None) is not None:
                    pass
        except (httpx.HTTPError, ModelError):
            pass
        await self._events.aclose()

    async def _next_event(self) -> ServerSentEvent | None:
        try:
            async with self._deadline.wait(self._grace()):
                sent = await anext(self._events, None)
            self._bytes.pending = 0
            return sent
        except httpx.HTTPError as error:
            if self._decoder.complete:
                return None
            raise lost_connection(error) from error
        except ModelError:
            if self._decoder.complete:
                return None
            raise

    def _grace(self) -> float | None:
        """Return the seconds left for the rest of a complete answer."""
        if not self._decoder.complete:
            return None
        now = asyncio.get_running_loop().time()
        if self._complete_since is None:
            self._complete_since = now
        return max(
            0.0, self._complete_since + (ERROR_GRACE if self._decoder.failure else GRACE_SECONDS) - now
        )

    def _decode(self, sent: ServerSentEvent) -> list[ModelEvent]:
        try:
            return self._decoder.feed(sent.event, sent.data) if sent.data else []
        except ModelError as error:
            if self._decoder.complete:
                return []
            if self._bytes.has_ended and error.kind == 'bad response':  # It ended in the middle of an event.
                return []
            raise


def lost_connection(error: httpx.HTTPError) -> ModelError:
    """Return the error for a connection lost in the middle of an answer."""
    problem = f'the connection was lost: {str(error) or type(error).__name__}'
    return ModelError(problem, kind='truncated', retryable=True)
