"""Every fault of a server, from a real one on loopback, in each dialect."""

import asyncio
import contextlib
import itertools
import time
from typing import Any

import pytest

from engine.models.http import sse_reader
from engine.models.http.client import call
from engine.models.protocol import TextPiece, Timeouts
from tests.models.exchange import client, serve_and_read, serve_stream
from tests.models.reading import endpoint, make_request, read
from tests.models.server import Wire, answering, serving
from tests.models.speech import SPEECHES, Speech

pytestmark = pytest.mark.parametrize('speech', SPEECHES, ids=lambda item: item.dialect)

QUICK = Timeouts(first=0.15, idle=0.15, total=5)
GREETING = 'Grüß dich 🐝\u2028, a – b!'


@pytest.mark.parametrize('size', [1, 5])
@pytest.mark.parametrize('line', [b'\n', b'\r\n', b'\r'])
async def test_fragments_may_be_split_anywhere(speech: Speech, size: int, line: bytes) -> None:
    body = b''.join([b': hello\n\n', speech.start, *map(speech.say, GREETING), speech.stop, speech.end])
    body = body.replace(b'\n', line)

    async def script(wire: Wire) -> None:
        await wire.head()
        data = b''.join(
            f'{len(part):x}\r\n'.encode() + part + b'\r\n'
            for part in (body[at : at + size] for at in range(0, len(body), size))
        )
        for at in range(0, len(data), 997):
            await wire.raw(data[at : at + 997])
            await asyncio.sleep(0)
        await wire.end()

    result = await serve_and_read(speech, script)
    assert result.text == GREETING
    assert result.end.reason == 'stop'


async def test_empty_events_are_skipped(speech: Speech) -> None:
    result = await serve_stream(
        speech, speech.start, *speech.nothing, speech.say('x'), *speech.nothing, speech.stop
    )
    assert result.text == 'x'
    assert result.end.reason == 'stop'


async def test_the_last_report_of_usage_counts(speech: Speech) -> None:
    reports = [speech.report_usage(output) for output in (2, 5, 9)]
    result = await serve_stream(
        speech, speech.start, *reports, speech.say('x'), speech.stop, speech.report_usage(12), speech.end
    )
    assert (result.end.usage.input, result.end.usage.output) == (3, 12)


async def test_a_connection_lost_mid_stream_is_an_error(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.report_usage(4) + speech.say('half'))
        await asyncio.sleep(0.02)
        wire.drop()

    result = await serve_and_read(speech, script)
    assert (result.failure.kind, result.failure.retryable) == ('truncated', True)
    assert result.failure.usage is not None and result.failure.usage.output == 4
    assert [event.text for event in result.events if isinstance(event, TextPiece)] == ['half']


async def test_a_connection_lost_after_the_finish_reason_is_an_end(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('all') + speech.stop)
        await asyncio.sleep(0.02)
        wire.drop()

    assert (await serve_and_read(speech, script)).end.reason == 'stop'


async def test_a_stream_that_drips_after_the_finish_reason_ends_soon(
    speech: Speech, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse_reader, 'GRACE_SECONDS', 0.2)
    counts = itertools.count(1)

    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('all') + speech.stop)
        with contextlib.suppress(ConnectionError):
            for output in counts:
                await wire.chunk(speech.report_usage(output))
                await asyncio.sleep(0.02)

    async with asyncio.timeout(20):
        result = await serve_and_read(speech, script, Timeouts(first=60, idle=60, total=60))
    assert (result.text, result.end.reason) == ('all', 'stop') and result.end.usage.output > 0


async def test_text_after_a_finish_reason_is_read(speech: Speech, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_reader, 'GRACE_SECONDS', 0.5)  # Some servers send a reason with each piece.

    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('x') + speech.stop)
        for _ in range(15):
            await asyncio.sleep(0.05)
            await wire.chunk(speech.say('x'))
        await wire.end()

    assert (await serve_and_read(speech, script)).text == 'x' * 16


@pytest.mark.parametrize('cut', [False, True])
async def test_a_clean_close_without_an_end_mark_is_an_error(speech: Speech, cut: bool) -> None:
    result = await serve_stream(
        speech, speech.start, speech.say('half'), speech.say('more')[: -12 if cut else None]
    )
    assert (result.failure.kind, result.failure.retryable) == ('truncated', True)


async def test_an_empty_stream_is_an_error(speech: Speech) -> None:
    result = await serve_stream(speech)
    assert result.failure.kind == 'truncated'


async def test_an_end_mark_without_content_or_a_reason_is_an_error(speech: Speech) -> None:
    result = await serve_stream(speech, speech.start, speech.end)
    assert (result.failure.kind, result.failure.retryable) == ('truncated', True)
    assert (await serve_stream(speech, speech.start, speech.stop, speech.end)).end.reason == 'stop'


async def test_a_stall_in_mid_stream(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('half'))
        await wire.gone()

    began = time.monotonic()
    result = await serve_and_read(speech, script, QUICK)
    assert (result.failure.kind, result.failure.retryable) == ('timeout', True)
    assert 'sent nothing more for 0.15 s' in str(result.failure)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    'keep_alive', [b': still here\n\n', b'\n', b'event: ping\ndata: {"type": "ping"}\n\n']
)
@pytest.mark.parametrize('begun', [False, True])
async def test_keep_alives_do_not_hide_a_stall(speech: Speech, keep_alive: bytes, begun: bool) -> None:
    if speech.dialect == 'openai' and b'ping' in keep_alive:
        keep_alive = b'data: {"choices": []}\n\n'
        begun = True  # In this dialect, any first chunk means that the answer has begun.

    async def script(wire: Wire) -> None:
        await wire.head()
        if begun:
            await wire.chunk(speech.start + speech.say('half'))
        while True:
            await wire.chunk(keep_alive)
            await asyncio.sleep(0.01)

    result = await serve_and_read(speech, script, QUICK)
    assert result.failure.kind == 'timeout'


async def test_slow_headers_are_a_timeout(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.raw(b'HTTP/1.1 200 OK\r\n')
        await wire.gone()

    result = await serve_and_read(speech, script, QUICK)
    assert (result.failure.kind, result.failure.retryable) == ('timeout', True)
    assert 'sent nothing for 0.15 s' in str(result.failure)


async def test_the_whole_call_has_a_timeout(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start)
        while True:
            await wire.chunk(speech.say('and '))
            await asyncio.sleep(0.01)

    result = await serve_and_read(speech, script, Timeouts(first=5, idle=5, total=0.2))
    assert 'more than 0.2 s' in str(result.failure)


async def test_a_slow_reader_is_not_a_stall(speech: Speech) -> None:
    pieces = [speech.start, *map(speech.say, 'abc'), speech.stop + speech.end]
    async with serving(answering(*pieces)) as server, client() as http:
        text = ''
        timeouts = Timeouts(first=30, idle=0.5, total=60)
        async for event in call(
            http, endpoint(speech.dialect, server.url), 'm', make_request(timeouts=timeouts)
        ):
            if isinstance(event, TextPiece):
                if not text:  # longer than the endpoint's idle timeout
                    await asyncio.sleep(0.7)
                text += event.text
    assert text == 'abc'


async def test_an_unreachable_endpoint_is_a_connection_error(speech: Speech) -> None:
    async with client() as http:
        result = await read(http, endpoint(speech.dialect, 'http://127.0.0.1:9/v1'))
    assert (result.failure.kind, result.failure.retryable) == ('connection', True)
    assert '127.0.0.1:9 cannot be reached' in str(result.failure)


@pytest.mark.parametrize('leave', ['cancel', 'close'])
async def test_leaving_mid_stream_closes_the_connection(speech: Speech, leave: str) -> None:
    disconnected = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('half'))
        await wire.gone()
        disconnected.set()
        wire.drop()

    async with serving(script) as server, client() as http:
        stream: Any = call(http, endpoint(speech.dialect, server.url), 'm', make_request())
        while not isinstance(await anext(stream), TextPiece):
            pass
        if leave == 'cancel':
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.02)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        else:
            await stream.aclose()
        await asyncio.wait_for(disconnected.wait(), 2)


async def test_connections_are_reused(speech: Speech) -> None:
    script = answering(speech.start + speech.say('x') + speech.stop + speech.end)
    async with serving(script) as server, client() as http:
        for _ in range(3):
            assert (await read(http, endpoint(speech.dialect, server.url))).text == 'x'
        assert (server.connections, len(server.requests)) == (1, 3)


async def test_a_call_makes_one_attempt(speech: Speech) -> None:
    async with serving(answering(status='500 Oh no')) as server, client() as http:
        await read(http, endpoint(speech.dialect, server.url))
        assert len(server.requests) == 1
