"""Server-Sent Events: streams that continue after `Last-Event-ID`, with no gaps or repeats."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse

from engine import InvalidInput
from engine.errors import UnknownStep
from engine.records import MAX_NUMBER, RunId
from ui.api.dependencies import EVENT_STREAM, Engine, Run, backend_of
from ui.api.problems import Refusal, problems
from ui.api.streams.messages import StreamMessage, list_messages, run_messages
from ui.formatting.values import parse_number

router = APIRouter(tags=['Streams'])
HEARTBEAT: Final = 15.0
"""Seconds without a message after which a comment is sent to keep the connection alive."""
RETRY_MS: Final = 1_000
MAX_STREAMS: Final = 2_000
"""Maximum number of open streams."""
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {'content': EVENT_STREAM, 'description': 'The stream.'},
    204: {'description': 'The run has ended, and there is nothing after that step: do not reconnect.'},
}
LastId = Annotated[
    str,
    Header(alias='Last-Event-ID', max_length=40, description='The id of the last event received.'),
]
HEADERS = {'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no'}


@router.get('/runs/{run}/events', response_class=StreamingResponse, responses=problems(404, 429) | EVENTS)
async def watch(
    request: Request,
    conductor: Engine,
    run: Run,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description='Start after this step.')] = 0,
    last_id: LastId = '',
) -> Response:
    """Stream a run: its steps after the given one, and streamed text, until it ends.

    A `step` has its number as its id, so that a broken connection can resume after it. Between steps comes
    `text`, without an id: pieces of replies in flight, starting with the text streamed so far.
    `reset` and `behind` void text. `end` is the last event. `/socket/schema` has the schema of their data.
    """
    info, seen = await conductor.info(RunId(run)), _number(last_id, after)
    if not 0 <= seen <= info.seq:
        raise UnknownStep(run, seen, info.seq)
    if info.status.ended and seen == info.seq:
        return Response(status_code=204)
    return _stream(request, run_messages(conductor, info.id, seen))


@router.get('/events', response_class=StreamingResponse, responses=problems(429) | {200: EVENTS[200]})
async def watch_runs(
    request: Request,
    conductor: Engine,
    waiting: Annotated[bool, Query(description='Only runs that are waiting for a person.')] = False,
    last_id: LastId = '',
) -> Response:
    """Stream the list of runs: first the newest, then each that changes.

    `run` is a summary; `gone` means that a run left the list.
    """
    try:
        since = float(last_id or 0)
    except ValueError:
        since = math.nan
    if not math.isfinite(since):
        raise InvalidInput({'Last-Event-ID': 'this is not an id of this stream'})
    return _stream(
        request, list_messages(conductor, backend_of(request).root.feed, waiting=waiting, since=since)
    )


def _number(last_id: str, after: int) -> int:
    if not last_id:
        return after
    number = parse_number(last_id)
    if number is None:
        raise InvalidInput({'Last-Event-ID': 'must be the number of a step'})
    return number


def _stream(request: Request, messages: AsyncIterator[StreamMessage]) -> Response:
    state = request.app.state
    state.streams = getattr(state, 'streams', 0)
    if state.streams >= MAX_STREAMS:
        raise Refusal(429, 'too-many-streams', f'{MAX_STREAMS} streams are open already')

    async def body() -> AsyncIterator[bytes]:
        state.streams += 1
        try:
            async for piece in _encode(messages):
                yield piece
        finally:
            state.streams -= 1

    return StreamingResponse(body(), media_type='text/event-stream', headers=HEADERS)


async def _encode(messages: AsyncIterator[StreamMessage]) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MS)
    coming = asyncio.ensure_future(anext(messages, None))
    try:
        while True:
            done, _ = await asyncio.wait([coming], timeout=HEARTBEAT)
            if not done:
                yield b': alive\n\n'
                continue
            message = coming.result()
            if message is None:
                return
            yield format_sse_event(event=message.kind, data_str=message.data, id=message.id or None)
            coming = asyncio.ensure_future(anext(messages, None))
    finally:
        coming.cancel()
        await asyncio.wait([coming])
        await messages.aclose()  # type: ignore[attr-defined]
