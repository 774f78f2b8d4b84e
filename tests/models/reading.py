"""Reads a whole answer through the client, in the terms of a cassette's `expect`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from engine.agents.message_accumulator import MessageAccumulator
from engine.errors import ModelError
from engine.models.endpoint import Endpoint
from engine.models.http.client import call
from engine.models.protocol import CallStarted, Completed, ModelEvent, ModelRequest, Timeouts, ToolSpec
from engine.records.message import Message, Reasoning, ToolResult

CASSETTES = Path(__file__).parent / 'cassettes'
NOTES = ToolSpec(name='notes', description='Keep notes', schema={'type': 'object', 'properties': {}})
OPENING = (Message.of('system', 'Be brief.'), Message.of('user', 'Go'))
SHORT = Timeouts(first=5, idle=5, total=10)


@dataclass
class CallResult:
    """The result of one call."""

    events: list[ModelEvent] = field(default_factory=list)
    error: ModelError | None = None

    @property
    def message(self) -> Message:
        gathered = MessageAccumulator()
        for event in self.events:
            gathered.add(event)
        if gathered.completed is None or gathered.completed.reason == 'filter':
            gathered.add(Completed())
        return gathered.message('call')

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> str:
        return ''.join(part.text for part in self.message.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(item.name, item.arguments) for item in self.message.calls]

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events if isinstance(event, CallStarted)]

    @property
    def failure(self) -> ModelError:
        assert self.error, self.events
        return self.error

    @property
    def end(self) -> Completed:
        assert not self.error, self.error
        assert isinstance(self.events[-1], Completed)
        return self.events[-1]


def make_request(text: str = 'Say something', **more: Any) -> ModelRequest:
    more = {'timeouts': SHORT, **more}
    return ModelRequest(model='m', messages=(Message.of('user', text),), **more)


def endpoint(dialect: str = 'openai', url: str = 'http://provider.example/v1', **more: Any) -> Endpoint:
    return Endpoint(name='here', url=url, dialect=dialect, **more)  # type: ignore[arg-type]


async def read(http: httpx.AsyncClient, to: Endpoint, request: ModelRequest | None = None) -> CallResult:
    call_result = CallResult()
    try:
        async for event in call(http, to, 'm', request or make_request()):
            call_result.events.append(event)
    except ModelError as error:
        call_result.error = error
    return call_result


class ChunkedBody(httpx.AsyncByteStream):
    """A body in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def replay(
    body: bytes,
    dialect: str = 'openai',
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    size: int = 0,
    request: ModelRequest | None = None,
    **more: Any,
) -> CallResult:
    """The answer read from a body in pieces of `size` bytes."""
    step = size or len(body) or 1
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    headers = headers or {'content-type': 'text/event-stream'}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=headers, stream=ChunkedBody(pieces))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        return await read(http, endpoint(dialect, **more), request)


async def load_conversation(file: str, **more: Any) -> tuple[Message, ...]:
    """Load a conversation whose last reply is a recorded one, and the results of its calls."""
    dialect = file.partition('-')[0]
    reply = (await replay((CASSETTES / file).read_bytes(), dialect, **more)).message
    results = tuple(ToolResult(id=item.id, name=item.name, text='ok') for item in reply.calls)
    return (*OPENING, reply, *([Message(role='tool', parts=results)] if results else []))
