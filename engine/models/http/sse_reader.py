"""Reads a streamed answer: decodes its events up to a proper end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import httpx

from engine.errors import ModelError
from engine.models.http.deadline import Deadline
from engine.models.http.dialects.dialect import Decoder
from engine.models.http.sse_parser import SentEvent, SseParser
from engine.models.protocol import ModelEvent, Started, UsageReport

GRACE_SECONDS = 5.0
"""Seconds to wait for the rest (usage, the end marker) after the finish reason."""
ERROR_GRACE = 1.0
"""Seconds to wait for the rest (usage, a clearer error) after an error."""
DRAIN = 0.1
"""Seconds to drain the response's end, so that its connection can be reused."""
MAX_EVENT, MAX_ANSWER = 16_000_000, 200_000_000
"""Maximum bytes of one event and of all; anything larger is not an answer and would fill memory."""


class SseReader:
    """Reads the decoded events of one response.

    Args:
        head: its first bytes.
        pieces: the rest of its bytes.
        decoder: of its dialect.
        deadline: of the call.
    """

    def __init__(
        self, head: bytes, pieces: AsyncIterator[bytes], decoder: Decoder, deadline: Deadline
    ) -> None:
        self._pieces, self._decoder, self._deadline = pieces, decoder, deadline
        self._parser = SseParser()
        self._sent: deque[SentEvent] = deque()
        """Events that have arrived and are not decoded yet."""
        self._has_ended = False
        self._pending = self._all = 0
        """Bytes since the last event, and of all."""
        self._complete_since: float | None = None
        self._has_content = False
        self._add(head)

    async def next(self) -> list[ModelEvent]:
        """Return the next events; empty at the end.

        Raises:
            ModelError: the provider stops early, sends unreadable data, or sends nothing for too long.
        """
        while not self._decoder.ended:
            if not self._sent:
                if self._has_ended:
                    break
                await self._read()
                continue
            if events := self._decode(self._sent.popleft()):
                kinds = {type(event) for event in events}
                self._has_content = self._has_content or not kinds <= {Started, UsageReport}
                self._deadline.note_event()
                if kinds != {UsageReport}:
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
        """Read the rest if it arrives immediately, so that the connection can be reused."""
        if not self._decoder.ended or self._has_ended:
            return
        try:
            with self._deadline.wait(DRAIN):
                async for _ in self._pieces:
                    pass
        except (httpx.HTTPError, ModelError):
            pass

    async def _read(self) -> None:
        """Read the next piece, or note the end."""
        try:
            with self._deadline.wait(self._grace()):
                piece = await anext(self._pieces, None)
            self._add(piece)
        except httpx.HTTPError as error:
            self._has_ended = True
            if not self._decoder.complete:
                raise lost_connection(error) from error
        except ModelError:
            self._has_ended = True
            if not self._decoder.complete:
                raise

    def _add(self, piece: bytes | None) -> None:
        """Add the events of a piece; at the end, None, the event that no empty line has ended."""
        if piece is None:
            self._has_ended = True
            self._sent += self._parser.feed(b'\n\n')
            return
        self._pending += len(piece)
        self._all += len(piece)
        if self._pending > MAX_EVENT:
            raise ModelError(f'it sent an event longer than {MAX_EVENT:,} bytes', kind='bad response')
        if self._all > MAX_ANSWER:
            raise ModelError(f'it sent more than {MAX_ANSWER:,} bytes', kind='bad response')
        if events := self._parser.feed(piece):
            self._pending = 0
            self._sent += events

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

    def _decode(self, sent: SentEvent) -> list[ModelEvent]:
        try:
            return self._decoder.feed(sent.event, sent.data)
        except ModelError as error:
            if self._decoder.complete:
                return []
            if self._has_ended and error.kind == 'bad response':  # It ended in the middle of an event.
                return []
            raise


def lost_connection(error: httpx.HTTPError) -> ModelError:
    """Return the error for a connection lost in the middle of an answer."""
    problem = f'the connection was lost: {str(error) or type(error).__name__}'
    return ModelError(problem, kind='truncated', retryable=True)
