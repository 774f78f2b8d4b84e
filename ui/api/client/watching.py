"""Watching runs on a server: streams that resume where they broke off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import httpx
from httpx_sse import EventSource, ServerSentEvent

from engine import Transition
from engine.errors import JournalUnavailable
from engine.records import RUN, Delta, JournalOutage, RunId
from engine.runtime import Item
from ui.api.client.connection import FIRST_PAUSE, MAX_PAUSE, Connection
from ui.api.wire import decode

HEARTBEAT_TIMEOUT: Final = 45.0
"""Seconds without a heartbeat after which a connection is dropped and replaced."""
TIMEOUT: Final = httpx.Timeout(HEARTBEAT_TIMEOUT, connect=5.0)


async def watch_run(
    connection: Connection, run: RunId, after: int, on_rest: Callable[[int], None]
) -> AsyncGenerator[Item]:
    """Yield a run's steps and text until it has ended, resuming where a connection breaks off.

    Args:
        connection: to the server.
        run: the run to watch.
        after: the step after which to start.
        on_rest: called with the step at which the run rests, before that step; with 0 after any other.

    Raises:
        EngineError: there is no such run, or no server for too long.
    """
    loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
    until, alive = loop.time() + connection.patience, False

    def record_rest(rests: int | None) -> None:
        nonlocal alive
        alive = True
        if rests is not None:
            on_rest(rests)

    while True:
        alive = False
        try:
            async with aclosing(stream_items(connection, run, after, record_rest)) as items:
                async for item in items:
                    yield item
                    if isinstance(item, Transition):
                        after = item.seq
        except RunIsOver:
            return
        except JournalUnavailable:
            if not alive and loop.time() + pause > until:
                raise
        if alive:
            pause, until = FIRST_PAUSE, loop.time() + connection.patience
            # The next connection streams replies in flight again from their start.
            yield Delta(run=run, path=RUN, text='', kind='reset')
        await asyncio.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE)


async def stream_items(
    connection: Connection, run: RunId, after: int, on_rest: Callable[[int | None], None]
) -> AsyncGenerator[Item]:
    """Yield the items of one connection, until it breaks or the server ends it.

    Args:
        connection: to the server.
        run: the run to watch.
        after: the step after which to start.
        on_rest: called for each event with None, then with the step at which the run rests; 0 after a step.

    Raises:
        RunIsOver: the run has ended, and all its steps are known.
        EngineError: there is no such run, or the server does not answer.
    """
    async with aclosing(_events(connection, run, after)) as events:
        async for event in events:
            on_rest(None)
            if event.event == 'end':
                raise RunIsOver
            if event.event == 'rest':
                on_rest(int(json.loads(event.data)['at']))
            elif (item := _item(run, event)) is not None:
                yield item
                if isinstance(item, Transition):
                    on_rest(0)


class RunIsOver(Exception):
    """The run has ended, and all its steps are known."""


async def _events(connection: Connection, run: RunId, after: int) -> AsyncGenerator[ServerSentEvent]:
    headers = {'Accept': 'text/event-stream', 'Last-Event-ID': str(after)}
    async with connection.stream('GET', f'runs/{run}/events', headers=headers, timeout=TIMEOUT) as answer:
        if answer.status_code == 204:
            raise RunIsOver
        async for event in EventSource(answer).aiter_sse():
            yield event


def _item(run: RunId, event: ServerSentEvent) -> Item | None:
    match event.event:
        case 'step':
            return decode(Transition, json.loads(event.data))
        case 'text' | 'reset':
            return decode(Delta, json.loads(event.data))
        case 'behind':
            return Delta(run=run, path=RUN, text='', kind='reset')
        case 'outage':
            return decode(JournalOutage, json.loads(event.data))
    return None
