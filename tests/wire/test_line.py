"""A line to an endpoint: how many at once, the pause after a 429, cost, connections."""

import asyncio
import json

import httpx
import pytest

from engine.clock import SimulatedClock, settle
from engine.errors import ModelError
from engine.model import Completed
from engine.wire.gate import Gate
from engine.wire.line import Line
from engine.wire.prices import Price, Prices
from tests.wire.reading import asked, endpoint
from tests.wire.server import Wire, serving
from tests.wire.speech import OpenAISpeech

pytestmark = pytest.mark.anyio

speech = OpenAISpeech()
WHOLE = speech.start + speech.say('x') + speech.stop + speech.used(1_000_000) + speech.end


async def spoken(line: Line, model: str = 'm') -> Completed:
    events = [event async for event in line.model(model).stream(asked())]
    assert isinstance(events[-1], Completed)
    return events[-1]


async def test_no_more_at_once_than_allowed() -> None:
    gate, inside, most = Gate(2), 0, 0

    async def work() -> None:
        nonlocal inside, most
        async with gate.passing():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(7)))
    assert most == 2


@pytest.mark.parametrize(('asked_for', 'wait'), [(None, 1.0), (20.0, 20.0), (300.0, 0.0)])
async def test_all_keep_one_pause(asked_for: float | None, wait: float) -> None:
    clock = SimulatedClock()
    gate, passed = Gate(5, clock), 0

    async def work() -> None:
        nonlocal passed
        async with gate.passing():
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


async def test_a_429_holds_up_the_others() -> None:
    clock, answers = SimulatedClock(), [429, 200]

    def answer(request: httpx.Request) -> httpx.Response:
        status = answers.pop(0)
        headers = {'content-type': 'text/event-stream', 'retry-after': '2'}
        return httpx.Response(status, headers=headers, content=WHOLE if status == 200 else b'{}')

    line = Line(endpoint(), transport=httpx.MockTransport(answer), clock=clock)
    with pytest.raises(ModelError) as caught:
        await spoken(line)
    assert (caught.value.kind, caught.value.retry_after) == ('rate limit', 2)
    second = asyncio.create_task(spoken(line))
    await clock.advance(1.9)
    assert answers == [200], 'it waits'
    await clock.advance(0.2)
    assert (await second).reason == 'stop'
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
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=WHOLE)

    line = Line(endpoint(), prices=Prices(own=prices), transport=httpx.MockTransport(answer))
    end = await spoken(line)
    assert end.cost == (None if cost is None else pytest.approx(cost))
    await line.close()


async def test_a_line_opens_again_after_it_was_closed() -> None:
    async def script(wire: Wire) -> None:
        await wire.head()
        await wire.chunk(WHOLE)
        await wire.end()

    async with serving(script) as server:
        line = Line(endpoint(url=server.url))
        await spoken(line)
        await line.close()
        await asyncio.sleep(0.02)
        assert server.open == 0
        await spoken(line, 'other')
        assert json.loads(server.requests[-1].body)['model'] == 'other'
        await line.close()
