"""All that servers do to a client, done by a real one on loopback, in both dialects."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from engine.model import TextPiece, Timeouts
from engine.wire.client import call
from tests.wire.reading import SHORT, Read, asked, endpoint, read
from tests.wire.server import Script, Wire, serving
from tests.wire.speech import SPEECHES, Speech

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize('speech', SPEECHES, ids=lambda item: item.dialect)]

QUICK = Timeouts(first=0.15, idle=0.15, total=5)
GREETING = 'Grüß dich 🐝\u2028, a – b!'


@contextlib.asynccontextmanager
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        yield http


async def served(speech: Speech, script: Script, timeouts: Timeouts = SHORT) -> Read:
    async with serving(script) as server, client() as http:
        return await read(http, endpoint(speech.dialect, server.url), asked(timeouts=timeouts))


async def whole(speech: Speech, *pieces: bytes) -> Read:
    async def script(wire: Wire) -> None:
        await wire.head()
        for piece in pieces:
            await wire.chunk(piece)
        await wire.end()

    return await served(speech, script)


@pytest.mark.parametrize('size', [1, 2, 3, 5, 64])
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

    found = await served(speech, script)
    assert found.text == GREETING
    assert found.end.reason == 'stop'


async def test_events_that_say_nothing_are_passed_over(speech: Speech) -> None:
    found = await whole(speech, speech.start, *speech.nothing, speech.say('x'), *speech.nothing, speech.stop)
    assert found.text == 'x'
    assert found.end.reason == 'stop'


async def test_the_last_report_of_usage_counts(speech: Speech) -> None:
    reports = [speech.used(output) for output in (2, 5, 9)]
    found = await whole(
        speech, speech.start, *reports, speech.say('x'), speech.stop, speech.used(12), speech.end
    )
    assert (found.end.usage.input, found.end.usage.output) == (3, 12)


@pytest.mark.parametrize(
    ('status', 'type', 'headers', 'kind', 'retryable', 'after'),
    [
        ('429 Too Many Requests', 'rate_limit_error', {'retry_after': '1'}, 'rate limit', True, 1),
        ('429 Too Many Requests', 'rate_limit_error', {'retry_after': '300'}, 'rate limit', True, 300),
        ('429 Too Many Requests', 'rate_limit_error', {'retry_after_ms': '250'}, 'rate limit', True, 0.25),
        ('429 Too Many Requests', 'insufficient_quota', {}, 'quota', False, None),
        ('500 Oh no', 'api_error', {}, 'server', True, None),
        ('500 Oh no', 'api_error', {'x_should_retry': 'false'}, 'server', False, None),
        ('529 Busy', 'overloaded_error', {}, 'overloaded', True, None),
        ('503 Busy', 'api_error', {'retry_after': '2'}, 'overloaded', True, 2),
        ('401 No', 'authentication_error', {}, 'auth', False, None),
        ('402 Pay', 'billing_error', {}, 'quota', False, None),
        ('404 Where', 'not_found_error', {}, 'not found', False, None),
        ('400 No', 'invalid_request_error', {}, 'bad request', False, None),
    ],
)
async def test_refusals(
    speech: Speech, status: str, type: str, headers: dict[str, str], kind: str, retryable: bool, after: Any
) -> None:
    body = speech.refusal('No, because of that.', type)

    async def script(wire: Wire) -> None:
        given = {'content_type': 'application/json', 'x_request_id': 'req_7', **headers}
        await wire.head(status, transfer_encoding='', content_length=str(len(body)), **given)
        await wire.raw(body)

    found = await served(speech, script)
    error = found.error
    assert error is not None
    assert (error.kind, error.retryable, error.retry_after) == (kind, retryable, after)
    assert (error.status, error.request_id, error.code) == (int(status[:3]), 'req_7', type)
    assert str(error) == f'here: No, because of that. (HTTP {error.status})'


async def test_a_drop_in_mid_stream_is_no_end(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.used(4) + speech.say('half'))
        await asyncio.sleep(0.02)
        wire.drop()

    found = await served(speech, script)
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('truncated', True)
    assert found.error.usage is not None and found.error.usage.output == 4
    assert [event.text for event in found.events if isinstance(event, TextPiece)] == ['half']


async def test_a_drop_after_the_reason_for_stopping_is_an_end(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('all') + speech.stop)
        await asyncio.sleep(0.02)
        wire.drop()

    assert (await served(speech, script)).end.reason == 'stop'


@pytest.mark.parametrize('cut', [False, True])
async def test_a_clean_end_without_an_end_mark_is_no_end(speech: Speech, cut: bool) -> None:
    found = await whole(speech, speech.start, speech.say('half'), speech.say('more')[: -12 if cut else None])
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('truncated', True)


async def test_an_empty_stream_is_no_answer(speech: Speech) -> None:
    found = await whole(speech)
    assert found.error is not None and found.error.kind == 'truncated'


async def test_a_stall_in_mid_stream(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('half'))
        await wire.gone()

    began = time.monotonic()
    found = await served(speech, script, QUICK)
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('timeout', True)
    assert 'said nothing more for 0.15 s' in str(found.error)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    'keep_alive', [b': still here\n\n', b'\n', b'event: ping\ndata: {"type": "ping"}\n\n']
)
@pytest.mark.parametrize('begun', [False, True])
async def test_keep_alives_do_not_hide_a_stall(speech: Speech, keep_alive: bytes, begun: bool) -> None:
    if speech.dialect == 'openai' and b'ping' in keep_alive:
        keep_alive = b'data: {"choices": []}\n\n'
        begun = True  # The first chunk of this dialect, whatever is in it, says that the answer has begun.

    async def script(wire: Wire) -> None:
        await wire.head()
        if begun:
            await wire.chunk(speech.start + speech.say('half'))
        while True:
            await wire.chunk(keep_alive)
            await asyncio.sleep(0.01)

    found = await served(speech, script, QUICK)
    assert found.error is not None and found.error.kind == 'timeout'


async def test_slow_headers(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.raw(b'HTTP/1.1 200 OK\r\n')
        await wire.gone()

    found = await served(speech, script, QUICK)
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('timeout', True)
    assert 'said nothing for 0.15 s' in str(found.error)


async def test_the_whole_may_not_take_for_ever(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start)
        while True:
            await wire.chunk(speech.say('and '))
            await asyncio.sleep(0.01)

    found = await served(speech, script, Timeouts(first=5, idle=5, total=0.2))
    assert found.error is not None
    assert 'more than 0.2 s' in str(found.error)


async def test_a_reader_that_takes_its_time_is_no_stall(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start)
        for word in 'abc':
            await wire.chunk(speech.say(word))
            await asyncio.sleep(0.05)
        await wire.chunk(speech.stop + speech.end)
        await wire.end()

    async with serving(script) as server, client() as http:
        text = ''
        async for event in call(http, endpoint(speech.dialect, server.url), 'm', asked(timeouts=QUICK)):
            if isinstance(event, TextPiece):
                text += event.text
                await asyncio.sleep(0.2)
    assert text == 'abc'


@pytest.mark.parametrize('body', [b'{"choices": [', b'nonsense', b'[1, 2]', b'"text"', b'null', b'{' * 5000])
async def test_malformed_json(speech: Speech, body: bytes) -> None:
    found = await whole(speech, speech.start, b'data: ' + body + b'\n\n', speech.say('x'), speech.stop)
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('bad response', True)
    assert len(str(found.error)) < 500


@pytest.mark.parametrize('kind', ['text/html; charset=utf-8', 'application/json'])
async def test_a_page_in_place_of_a_stream(speech: Speech, kind: str) -> None:
    async def script(wire: Wire) -> None:
        await wire.head(content_type=kind)
        await wire.chunk(b'<html><body>Please log in</body></html>')
        await wire.end()

    found = await served(speech, script)
    assert found.error is not None
    assert (found.error.kind, found.error.retryable, found.error.status) == ('bad response', False, 200)
    assert 'is the address right' in str(found.error) and 'Please log in' in str(found.error)


async def test_an_error_page(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head('502 Bad Gateway', content_type='text/html')
        await wire.chunk(b'<html><title>Bad gateway</title><h1>nginx</h1></html>')
        await wire.end()

    found = await served(speech, script)
    assert str(found.error) == 'here: Bad gateway nginx (HTTP 502)'


async def test_an_error_in_a_success(speech: Speech) -> None:
    found = await whole(speech, speech.start, speech.say('half'), speech.error)
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('overloaded', True)
    assert str(found.error) == 'here: Overloaded, sorry'


async def test_nobody_there(speech: Speech) -> None:
    async with client() as http:
        found = await read(http, endpoint(speech.dialect, 'http://127.0.0.1:9/v1'))
    assert found.error is not None
    assert (found.error.kind, found.error.retryable) == ('connection', True)
    assert '127.0.0.1:9 cannot be reached' in str(found.error)


@pytest.mark.parametrize('leave', ['cancel', 'close'])
async def test_leaving_in_mid_stream_closes_the_connection(speech: Speech, leave: str) -> None:
    gone = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('half'))
        await wire.gone()
        gone.set()
        wire.drop()

    async with serving(script) as server, client() as http:
        stream: Any = call(http, endpoint(speech.dialect, server.url), 'm', asked())
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
        await asyncio.wait_for(gone.wait(), 2)


async def test_a_connection_is_used_again(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(speech.start + speech.say('x') + speech.stop + speech.end)
        await wire.end()

    async with serving(script) as server, client() as http:
        for _ in range(3):
            assert (await read(http, endpoint(speech.dialect, server.url))).text == 'x'
        assert (server.connections, len(server.requests)) == (1, 3)


async def test_one_attempt_a_call(speech: Speech) -> None:
    async def script(wire: Wire) -> None:
        await wire.head('500 Oh no')
        await wire.end()

    async with serving(script) as server, client() as http:
        await read(http, endpoint(speech.dialect, server.url))
        assert len(server.requests) == 1


async def test_a_key_never_gets_into_an_error(speech: Speech) -> None:
    key = 'k-1234567890'

    async def script(wire: Wire) -> None:
        body = speech.refusal(f'Incorrect API key provided: {key}', 'authentication_error')
        await wire.head('401 No', content_type='application/json')
        await wire.chunk(body)
        await wire.end()

    async with serving(script) as server, client() as http:
        to = endpoint(speech.dialect, server.url, key=key)
        found = await read(http, to)
        assert key.encode() in server.requests[0].request
    assert str(found.error) == 'here: Incorrect API key provided: [hidden] (HTTP 401)'
    assert key not in repr(to) + repr(found)
