"""The model client: processor time a streamed piece, and what 20 streams do to the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from engine.message import Message
from engine.model import ModelRequest, TextPiece
from engine.wire.endpoint import Endpoint
from engine.wire.line import Line
from tests.bench.processes import free_port, server
from tests.bench.table import Row
from tests.bench.timing import percentile
from tests.bench.wire_server import PIECES_A_SECOND

STREAMS = 20
TICK = 0.005
"""Seconds between two looks at the clock: how late they are is how long the loop was busy."""

Speak = Callable[[], Awaitable[int]]
"""Reads one stream to its end, and gives the number of its pieces."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Each dialect: ours beside the vendor's package, round by round, against the same server."""
    port, pieces = free_port(), 20 if fast else 5 * PIECES_A_SECOND
    url = f'http://127.0.0.1:{port}'
    with server(['-m', 'tests.bench.wire_server', str(port), str(pieces)], url, folder):
        for dialect in ('openai', 'anthropic'):
            async with contextlib.AsyncExitStack() as stack:
                sides = {'ours': await _ours(stack, dialect, url)}
                with contextlib.suppress(ImportError):
                    sides[dialect] = await PACKAGES[dialect](stack, url)
                for (
                    speak
                ) in sides.values():  # What is imported and made for the first stream is not its cost.
                    await speak()
                rounds = [
                    {name: await _round(speak, pieces) for name, speak in sides.items()}
                    for _ in range(1 if fast else 3)
                ]
            for row in _rows(dialect, rounds):
                yield row


def _rows(dialect: str, rounds: list[dict[str, tuple[float, list[float]]]]) -> list[Row]:
    def middle(side: str, value: Callable[[tuple[float, list[float]]], float]) -> float | None:
        return median(value(found[side]) for found in rounds) if side in rounds[0] else None

    def cpu(lap: tuple[float, list[float]]) -> float:
        return lap[0] * 1e6

    def late(lap: tuple[float, list[float]]) -> float:
        return percentile(lap[1], 0.99) * 1e3

    against = f'the {dialect} package' if dialect in rounds[0] else f'(no {dialect} package)'
    return [
        Row(
            name=f"CPU a streamed piece, {STREAMS} streams, {dialect}'s dialect",
            value=middle('ours', cpu) or 0.0,
            unit='µs',
            base=middle(dialect, cpu),
            against=against,
            bar=1.0 if dialect in rounds[0] else None,
        ),
        Row(
            name=f"event loop late meanwhile, p99, {dialect}'s dialect",
            value=middle('ours', late) or 0.0,
            unit='ms',
            base=middle(dialect, late),
            against=against,
        ),
    ]


async def _round(speak: Speak, pieces: int) -> tuple[float, list[float]]:
    """Seconds of processor time a piece, and how late the loop was at each look."""
    lags: list[float] = []
    ticking = asyncio.create_task(_tick(lags))
    before = time.process_time()
    heard = await asyncio.gather(*(speak() for _ in range(STREAMS)))
    used = time.process_time() - before
    ticking.cancel()
    if set(heard) != {pieces}:
        raise RuntimeError(f'{pieces} pieces were sent, {sorted(set(heard))} were heard')
    return used / (STREAMS * pieces), lags


async def _tick(lags: list[float]) -> None:
    now = asyncio.get_running_loop().time
    while True:
        began = now()
        await asyncio.sleep(TICK)
        lags.append(now() - began - TICK)


async def _ours(stack: contextlib.AsyncExitStack, dialect: Any, url: str) -> Speak:
    line = Line(Endpoint(name='bench', url=f'{url}/v1', dialect=dialect, key='k', at_once=STREAMS))
    stack.push_async_callback(line.close)
    request = ModelRequest(model='m', messages=(Message.of('user', 'Go on'),))

    async def speak() -> int:
        events = [event async for event in line.model('m').stream(request) if isinstance(event, TextPiece)]
        return len(events)

    return speak


async def _openai(stack: contextlib.AsyncExitStack, url: str) -> Speak:
    made = importlib.import_module('openai').AsyncOpenAI(base_url=f'{url}/v1', api_key='k', max_retries=0)
    client: Any = await stack.enter_async_context(made)

    async def speak() -> int:
        asked = [{'role': 'user', 'content': 'Go on'}]
        stream = await client.chat.completions.create(model='m', messages=asked, stream=True)
        return sum([1 async for chunk in stream if chunk.choices and chunk.choices[0].delta.content])

    return speak


async def _anthropic(stack: contextlib.AsyncExitStack, url: str) -> Speak:
    made = importlib.import_module('anthropic').AsyncAnthropic(base_url=url, api_key='k', max_retries=0)
    client: Any = await stack.enter_async_context(made)

    async def speak() -> int:
        asked = [{'role': 'user', 'content': 'Go on'}]
        stream = await client.messages.create(model='m', max_tokens=9, messages=asked, stream=True)
        return sum([1 async for event in stream if event.type == 'content_block_delta'])

    return speak


PACKAGES: dict[str, Callable[[contextlib.AsyncExitStack, str], Awaitable[Speak]]] = {
    'openai': _openai,
    'anthropic': _anthropic,
}
