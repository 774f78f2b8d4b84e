"""Calls to an endpoint: concurrency, the pause after a 429, cost, connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import uvloop

from engine.errors import ModelError
from engine.host.clock import SimulatedClock, settle
from engine.models.http.call_limiter import FIRST_OUTPUT, Admission, CallLimiter
from engine.models.http.endpoint_client import EndpointClient
from engine.models.http.prices import Price, Prices
from engine.models.protocol import Completed, Waiting
from tests.models.reading import endpoint, make_request
from tests.models.server import Wire, answering, serving
from tests.models.speech import AnthropicSpeech, OpenAISpeech
from tests.support.harness import until

speech, anthropic = OpenAISpeech(), AnthropicSpeech()
WHOLE = speech.start + speech.say('x') + speech.stop + speech.report_usage(1_000_000) + speech.end


async def complete(line: EndpointClient, model: str = 'm', prompt: str = 'Say something') -> Completed:
    events = [event async for event in line.model(model).stream(make_request(prompt))]
    assert isinstance(events[-1], Completed)
    return events[-1]


async def waits_of(admission: Admission) -> list[Waiting]:
    return [wait async for wait in admission.wait_to_start()]


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    gate, inside, most = CallLimiter(2), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with gate.admission() as admission:
            await waits_of(admission)
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(7)))
    assert most == 2


@pytest.mark.parametrize(('asked_for', 'wait'), [(None, 1.0), (20.0, 20.0), (300.0, 0.0)])
async def test_all_calls_share_one_pause(asked_for: float | None, wait: float) -> None:
    clock = SimulatedClock()
    gate, passed = CallLimiter(5, clock), 0

    async def work() -> None:
        nonlocal passed
        async with gate.admission() as admission:
            await waits_of(admission)
            passed += 1

    gate.pause(asked_for)
    tasks = [asyncio.create_task(work()) for _ in range(3)]
    await settle()
    assert passed == (0 if wait else 3)
    await clock.advance(wait - 0.5 if wait else 0)
    assert passed == (0 if wait else 3)
    await clock.advance(0.6)
    assert passed == 3
    await asyncio.gather(*tasks)


async def test_a_429_delays_the_others() -> None:
    clock, answers = SimulatedClock(), [429, 200]

    def answer(request: httpx.Request) -> httpx.Response:
        status = answers.pop(0)
        headers = {'content-type': 'text/event-stream', 'retry-after': '2'}
        return httpx.Response(status, headers=headers, content=WHOLE if status == 200 else b'{}')

    line = EndpointClient(endpoint(), transport=httpx.MockTransport(answer), clock=clock)
    with pytest.raises(ModelError) as caught:
        await complete(line)
    assert (caught.value.kind, caught.value.retry_after) == ('rate limit', 2)
    second = asyncio.create_task(complete(line))
    await clock.advance(1.9)
    assert answers == [200], 'it waits'
    await clock.advance(0.2)
    assert (await second).reason == 'stop'
    await line.close()


async def time_sends(line: EndpointClient, clock: SimulatedClock, calls: int) -> list[float]:
    """Return the send times of concurrent calls in seconds; each is answered immediately."""
    sent: list[float] = []
    began = clock.now()

    async def one() -> None:
        async for event in line.stream('m', make_request('x' * 400)):
            if isinstance(event, Completed):
                sent.append(round(clock.now() - began, 3))

    tasks = [asyncio.create_task(one()) for _ in range(calls)]
    for _ in range(20):
        await settle(300)
        await clock.advance(10)
    await asyncio.gather(*tasks)
    return sent


def answers(used: int) -> httpx.MockTransport:
    body = speech.start + speech.say('x') + speech.stop + speech.report_usage(used) + speech.end

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=body)

    return httpx.MockTransport(answer)


async def test_no_minute_has_more_requests_than_allowed() -> None:
    clock = SimulatedClock()
    line = EndpointClient(endpoint(requests_per_minute=3, at_once=2), transport=answers(1), clock=clock)
    assert await time_sends(line, clock, 7) == [0, 0, 0, 60, 60, 60, 120]
    await line.close()


async def test_used_tokens_replace_estimates_in_the_minutes_count() -> None:
    clock = SimulatedClock()
    # Each has 100 tokens of input by estimate; the server reports 3, and 497 of output.
    line = EndpointClient(endpoint(tokens_per_minute=1_100, at_once=1), transport=answers(497), clock=clock)
    assert await time_sends(line, clock, 5) == [0, 0, 60, 60, 120]
    await line.close()


@pytest.mark.parametrize(('most', 'at_first'), [(None, 2), (50, 8)])
async def test_first_calls_reserve_a_guess_at_their_output(most: int | None, at_first: int) -> None:
    begun, gate = 0, asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal begun
        begun += 1
        await gate.wait()
        return await answers(40).handle_async_request(request)

    limits = endpoint(tokens_per_minute=2 * (100 + FIRST_OUTPUT), most_tokens=most)
    line = EndpointClient(limits, transport=httpx.MockTransport(answer), clock=SimulatedClock())
    calls = [asyncio.create_task(complete(line, prompt='x' * 400)) for _ in range(8)]
    await settle(300)
    assert begun == at_first
    gate.set()
    await settle(300)
    assert begun == 8, 'unused reservations are returned at once'
    await asyncio.gather(*calls)
    await line.close()


async def test_a_refused_call_uses_no_tokens() -> None:
    statuses = [401, 200]
    good = answers(40)

    async def answer(request: httpx.Request) -> httpx.Response:
        status = statuses.pop(0)
        return await good.handle_async_request(request) if status == 200 else httpx.Response(status)

    limits = endpoint(tokens_per_minute=FIRST_OUTPUT + 10)
    line = EndpointClient(limits, transport=httpx.MockTransport(answer), clock=SimulatedClock())
    with pytest.raises(ModelError):
        await complete(line)
    async with asyncio.timeout(5):
        await complete(line)
    await line.close()


async def test_usage_reported_mid_answer_frees_nothing() -> None:
    """Anthropic reports one token of output as the answer begins."""
    begun, gate = 0, asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield anthropic.start
        await gate.wait()
        yield anthropic.say('x') + anthropic.stop + anthropic.report_usage(40) + anthropic.end

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal begun
        begun += 1
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=pieces())

    limits = endpoint(tokens_per_minute=FIRST_OUTPUT + 10, dialect='anthropic')
    line = EndpointClient(limits, transport=httpx.MockTransport(answer), clock=SimulatedClock())
    calls = [asyncio.create_task(complete(line)) for _ in range(2)]
    await settle(300)
    assert begun == 1
    gate.set()
    await asyncio.gather(*calls)
    await line.close()


async def test_a_call_larger_than_the_limit_runs_alone() -> None:
    clock = SimulatedClock()
    line = EndpointClient(endpoint(tokens_per_minute=50), transport=answers(500), clock=clock)
    assert await time_sends(line, clock, 3) == [0, 60, 120]
    await line.close()


async def test_a_call_says_why_it_waits_and_counts_those_ahead_of_it() -> None:
    clock = SimulatedClock()
    line = EndpointClient(endpoint(requests_per_minute=1), transport=answers(1), clock=clock)
    await complete(line)
    await clock.advance(20)
    reported: list[list[Waiting]] = [[], []]

    async def one(number: int) -> None:
        async for event in line.stream('m', make_request()):
            if isinstance(event, Waiting):
                reported[number].append(event)

    tasks = [asyncio.create_task(one(number)) for number in range(2)]
    await settle()
    assert reported == [
        [Waiting(reason='1 request a minute', seconds=40)],
        [Waiting(reason='1 request a minute', seconds=100)],
    ]
    tasks[0].cancel()  # A call that leaves the queue does not delay the others.
    await clock.advance(100)
    assert reported[1][-1] == Waiting(reason='')
    await asyncio.gather(*tasks, return_exceptions=True)
    await line.close()


@pytest.mark.parametrize(
    ('prices', 'cost'),
    [
        ({'here/m': Price(input=5, output=2)}, 2.000015),
        ({'m': Price(input=0, output=0)}, 0.0),
        ({'other': Price(input=5, output=2)}, None),
    ],
)
async def test_a_call_has_a_cost_where_it_is_known(prices: dict[str, Price], cost: float | None) -> None:
    line = EndpointClient(endpoint(), prices=Prices(own=prices), transport=answers(1_000_000))
    end = await complete(line)
    assert end.cost == (None if cost is None else pytest.approx(cost))
    await line.close()


@pytest.mark.parametrize(
    'reported',
    [{'prompt_tokens_details': {'cache_write_tokens': 10**6}}, {'cache_creation_input_tokens': 10**6}],
)
@pytest.mark.parametrize(('cache', 'cost'), [('off', 1.25), ('5m', 1.25), ('1h', 2.0)])
async def test_cache_writes_through_a_proxy_cost_as_long_as_they_are_kept(
    reported: dict[str, Any], cache: str, cost: float
) -> None:
    usage = {'prompt_tokens': 10**6, 'completion_tokens': 1, **reported}
    last = {'choices': [{'delta': {'content': 'x'}, 'finish_reason': 'stop'}], 'usage': usage}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=f'data: {json.dumps(last)}\n\ndata: [DONE]\n\n'.encode())

    prices = Prices(own={'m': Price(input=1, output=0, written=1.25, written_hour=2)})
    line = EndpointClient(endpoint(cache=cache), prices=prices, transport=httpx.MockTransport(answer))
    end = await complete(line)
    assert (end.usage.written, end.cost) == (10**6, pytest.approx(cost))
    await line.close()


async def test_a_closed_limiter_opens_again() -> None:
    async with serving(answering(WHOLE)) as server:
        line = EndpointClient(endpoint(url=server.url))
        await complete(line)
        await line.close()
        await until(lambda: server.open == 0)
        await complete(line, 'other')
        assert json.loads(server.requests[-1].body)['model'] == 'other'
        await line.close()


async def test_an_endpoint_that_is_down_is_skipped_for_a_while() -> None:
    clock, broken = SimulatedClock(), True

    def answer(request: httpx.Request) -> httpx.Response:
        if broken:
            raise httpx.ConnectError('refused')
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=WHOLE)

    to = endpoint(down_seconds=30, attempts=7, patience=5)
    line = EndpointClient(to, transport=httpx.MockTransport(answer), clock=clock)
    with pytest.raises(ModelError) as caught:
        await complete(line)
    assert (caught.value.attempts, caught.value.patience) == (7, 5)
    model = line.model('m')
    assert not model.down, 'it is marked only for calls with another model'
    model.mark_down()
    assert model.down
    await clock.advance(31)
    assert not model.down
    with pytest.raises(ModelError):
        await complete(line)
    assert model.down, 'one failure is enough as long as nothing has succeeded since'
    broken = False
    await complete(line)
    assert not model.down


async def test_an_endpoint_has_its_own_timeouts() -> None:
    async def script(wire: Wire) -> None:
        await wire.gone()

    async with serving(script) as server:
        line = EndpointClient(endpoint(url=server.url, first_seconds=0.05))
        with pytest.raises(ModelError, match=r'it sent nothing for 0\.05 s'):
            async for _ in line.stream('m', make_request(timeouts=None)):
                pass
        await line.close()


@pytest.mark.parametrize(
    ('url', 'variable', 'value', 'message'),
    [
        ('http://127.0.0.1:99999/v1', '', '', 'here: its address cannot be used: .*port must be'),
        ('http://127.0.0.1:9/v1', 'HTTP_PROXY', 'foo://bar:1', 'here: the proxy .* cannot be used: .*foo'),
        ('http://127.0.0.1:9/v1', 'HTTP_PROXY', 'http://[::1', 'here: the proxy .* cannot be used: '),
        ('http://127.0.0.1:9/v1', 'HTTP_PROXY', 'socks5://h:1', 'here: the proxy .* cannot be used: .*socks'),
        ('http://127.0.0.1:9/v1', 'NO_PROXY', 'fd00::/8', 'here: the proxy .* cannot be used: '),
        (
            'https://127.0.0.1:9/v1',
            'SSL_CERT_FILE',
            '/not/there',
            'here: .* certificates .* cannot be used: ',
        ),
    ],
)
async def test_unusable_files_are_named(
    monkeypatch: pytest.MonkeyPatch, url: str, variable: str, value: str, message: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, value)
    line = EndpointClient(endpoint(url=url))
    with pytest.raises(ModelError, match=message) as caught:
        await complete(line)
    assert (caught.value.kind, caught.value.retryable) == ('bad request', False)


@pytest.mark.parametrize('proxy', ['http://127.0.0.1:9', 'http://me:hidden-word@127.0.0.1:9'])
async def test_a_proxy_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv('http_proxy', proxy)
    monkeypatch.setenv('no_proxy', 'elsewhere.example')
    line = EndpointClient(endpoint(url='http://models.example/v1'))
    with pytest.raises(
        ModelError, match=r'here: models\.example through the proxy 127\.0\.0\.1:9 cannot'
    ) as caught:
        await complete(line)
    assert 'hidden' not in str(caught.value)
    monkeypatch.setenv('no_proxy', '127.0.0.1')
    line = EndpointClient(endpoint(url='http://127.0.0.1:9/v1'))
    with pytest.raises(ModelError, match=r'here: 127\.0\.0\.1:9 cannot be reached'):
        await complete(line)


def test_an_invalid_port_is_reported_under_uvloop() -> None:
    async def complete_there() -> None:
        with pytest.raises(ModelError, match='its address cannot be used: port must be 0-65535') as caught:
            await complete(EndpointClient(endpoint(url='http://127.0.0.1:99999/v1')))
        assert not caught.value.retryable

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(complete_there())
