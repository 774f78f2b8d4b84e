"""Reads an answer: bytes framed into events, events decoded, up to an end that is one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
from httpx_sse import EventSource, ServerSentEvent

from engine.errors import ModelError
from engine.model import ModelEvent
from engine.wire.deadline import Deadline
from engine.wire.dialect import Decoder

GRACE = 5.0
"""Seconds that are waited for the rest (usage, the end mark) when the reason for stopping is known."""
DRAIN = 0.1
"""Seconds for the very end of a response, so that its connection can be used again."""


class Padded(httpx.AsyncByteStream):
    """A response's bytes with an empty line after them: some leave it out after their end mark."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.over = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.aiter_bytes():
            yield piece
        self.over = True
        yield b'\n\n'


class Answer:
    """The decoded events of one response.

    What it reads is taken for UTF-8, as the standard of server-sent events has it, whatever a header says.
    """

    def __init__(self, response: httpx.Response, decoder: Decoder, deadline: Deadline) -> None:
        self._decoder, self._deadline = decoder, deadline
        self._bytes = Padded(response)
        headers = {'content-type': 'text/event-stream; charset=utf-8'}
        self._events = EventSource(httpx.Response(200, headers=headers, stream=self._bytes)).aiter_sse()

    async def next(self) -> list[ModelEvent]:
        """What comes next; nothing at the end.

        Raises:
            ModelError: the provider tells of an error, stops too early, or says nothing for too long.
        """
        while not self._decoder.ended:
            sent = await self._sent()
            if sent is None:
                break
            if events := self._decoded(sent):
                self._deadline.decoded()
                return events
        if not self._decoder.complete:
            raise ModelError('it ended its answer without an end mark', kind='truncated', retryable=True)
        return []

    async def close(self) -> None:
        """Read the rest, if it comes at once, and stop."""
        try:
            async with self._deadline.wait(DRAIN):
                while self._decoder.ended and await anext(self._events, None) is not None:
                    pass
        except (httpx.HTTPError, ModelError):
            pass
        await self._events.aclose()

    async def _sent(self) -> ServerSentEvent | None:
        try:
            async with self._deadline.wait(GRACE if self._decoder.complete else None):
                return await anext(self._events, None)
        except httpx.HTTPError as error:
            if self._decoder.complete:
                return None
            problem = f'the connection was lost: {str(error) or type(error).__name__}'
            raise ModelError(problem, kind='truncated', retryable=True) from error
        except ModelError:
            if self._decoder.complete:
                return None
            raise

    def _decoded(self, sent: ServerSentEvent) -> list[ModelEvent]:
        try:
            return self._decoder.feed(sent.event, sent.data) if sent.data else []
        except ModelError as error:
            if self._decoder.complete:
                return []
            if self._bytes.over and error.kind == 'bad response':  # The end came in the middle of an event.
                return []
            raise
