"""Streams: numbered steps, text in flight, the end of a run, the list of runs, the socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from engine import Conductor, LocalConductor
from engine.records import RunId
from tests.support.harness import FakeModel, Lone, catalog, complete_run, start_run, until
from ui.api.app import build_api
from ui.api.streams import sse
from ui.api.streams.messages import StreamMessage, list_messages, run_messages
from ui.api.streams.schema import MESSAGES
from ui.app.backend import Backend

TASK = {'task': 'Compare tea and coffee'}


def parse_events(text: str) -> list[ServerSentEvent]:
    events = []
    for block in text.split('\n\n'):
        fields = dict(line.split(': ', 1) for line in block.split('\n') if ': ' in line and line[0] != ':')
        if 'event' in fields:
            events.append(ServerSentEvent(fields['event'], fields.get('data', ''), fields.get('id')))
    return events


async def test_a_stream_has_all_steps_in_order_and_ends_with_the_run(
    conductor: Conductor, http: httpx.AsyncClient
):
    run = await start_run(conductor, 'pipeline', TASK)
    answer = await http.get(f'/runs/{run}/events')
    assert answer.headers['Content-Type'].startswith('text/event-stream')
    events = parse_events(answer.text)
    steps = [event for event in events if event.event == 'step']
    last = (await conductor.info(run)).seq
    assert [int(event.id) for event in steps] == list(range(1, last + 1))
    assert [json.loads(event.data)['seq'] for event in steps] == list(range(1, last + 1))
    assert all(not event.id for event in events if event.event != 'step')
    assert (events[-1].event, json.loads(events[-1].data)['status']) == ('end', 'done')


async def test_a_stream_resumes_after_the_last_event(conductor: Conductor, http: httpx.AsyncClient):
    run = await complete_run(conductor, 'pipeline', TASK)
    last = (await conductor.info(run)).seq
    later = parse_events((await http.get(f'/runs/{run}/events', headers={'Last-Event-ID': '5'})).text)
    assert [event.id for event in later if event.event == 'step'] == [str(n) for n in range(6, last + 1)]
    over = await http.get(f'/runs/{run}/events', headers={'Last-Event-ID': str(last)})
    assert over.status_code == 204  # A browser stops reconnecting.
    assert (await http.get(f'/runs/{run}/events?after={last + 1}')).status_code == 404
    assert (await http.get(f'/runs/{run}/events', headers={'Last-Event-ID': 'x'})).status_code == 422
    assert (await http.get('/runs/nothing/events')).status_code == 404
    for last_id in ('x', 'inf', 'nan'):
        assert (await http.get('/events', headers={'Last-Event-ID': last_id})).status_code == 422


class TestText:
    @pytest.fixture
    def model(self) -> FakeModel:
        self.go_on = asyncio.Event()
        return FakeModel(lambda request: self.go_on)

    async def test_a_late_client_first_gets_the_text_streamed_so_far(
        self, conductor: Conductor, model: FakeModel
    ):
        run = await start_run(conductor, 'lone')
        await until(lambda: any(True for _ in conductor.feed.partial(run)))
        messages = run_messages(conductor, run, 0)
        early = [await anext(messages) for _ in range((await conductor.info(run)).seq + 1)]
        assert early[-1].kind == 'text'
        assert json.loads(early[-1].data)['text'] == 'wait'
        self.go_on.set()
        rest = [message.kind async for message in messages]
        assert rest[-1] == 'end'

    async def test_a_heartbeat_is_sent_while_nothing_happens(
        self, conductor: Conductor, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sse, 'HEARTBEAT', 0.001)
        run = await start_run(conductor, 'lone')
        pieces = sse._encode(run_messages(conductor, run, 0))
        async for piece in pieces:
            if piece == b': alive\n\n':
                break
        await pieces.aclose()  # type: ignore[attr-defined]
        await conductor.cancel(run)

    async def test_a_slow_reader_is_notified_and_catches_up_from_the_journal(
        self, conductor: Conductor, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr('engine.runtime.feed.MAX_WAITING', 3)
        run = await start_run(conductor, 'lone', paused=True)
        messages = run_messages(conductor, run, 0)
        received = [await anext(messages) for _ in range(2)]
        waiting = asyncio.ensure_future(anext(messages))
        await asyncio.sleep(0)
        for _ in range(10):  # It reads nothing meanwhile; the run does not wait for it.
            await conductor.resume(run)
            await conductor.pause(run)
        await conductor.cancel(run)
        self.go_on.set()
        received.append(await waiting)
        received += [message async for message in messages]
        assert 'behind' in [message.kind for message in received]
        numbers = [int(message.id) for message in received if message.kind == 'step']
        assert numbers == list(range(1, (await conductor.info(run)).seq + 1))


async def test_the_list_shows_runs_as_they_change(conductor: Conductor):
    first = await start_run(conductor, 'lone', paused=True)
    messages = list_messages(conductor, conductor.feed)
    assert await of(messages, first) == 'paused'
    second = await start_run(conductor, 'lone', paused=True)
    assert await of(messages, second) == 'paused'
    await conductor.cancel(first)
    assert await of(messages, first) == 'cancelled'
    await conductor.delete(first)
    await conductor.resume(second)
    async for message in messages:
        if message.kind == 'gone':
            break
    assert json.loads(message.data) == {'run': first}
    await messages.aclose()  # type: ignore[attr-defined]


async def of(messages: AsyncIterator[StreamMessage], run: RunId) -> str:
    async for message in messages:
        content = json.loads(message.data)
        if message.kind == 'run' and content['id'] == run:
            return str(content['status'])
    raise AssertionError('the stream has ended')


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A client in its own thread, whose event loop also runs the conductor."""
    model, backend = FakeModel(lambda request: asyncio.Event()), Backend()
    conductor = LocalConductor(catalog=catalog(model, Lone))
    backend.open(conductor)
    with TestClient(build_api(backend)) as client:
        yield client
        assert client.portal is not None
        client.portal.call(conductor.close)


def test_a_socket_streams_and_steers(client: TestClient):
    ident = client.post('/runs', json={'pattern': 'lone', 'paused': True}).json()['id']
    with client.websocket_connect('/socket') as socket:
        socket.send_json({'id': 1, 'do': 'subscribe', 'run': ident})
        messages = [socket.receive_json() for _ in range(2)]
        assert {'type': 'done', 'id': 1} in messages
        while not [item for item in messages if item['type'] == 'step']:
            messages.append(socket.receive_json())
        assert next(item['seq'] for item in messages if item['type'] == 'step') == 1
        socket.send_json({'id': 'x', 'do': 'cancel', 'run': ident, 'seen': 0})
        refused = answer_of(socket, 'x')
        assert (refused['type'], refused['problem']['status']) == ('problem', 412)
        socket.send_json({'id': 3, 'do': 'dance'})
        assert answer_of(socket, None)['problem']['status'] == 422
        socket.send_json({'id': 4, 'do': 'subscribe', 'run': 'nothing'})
        assert answer_of(socket, 4)['problem']['status'] == 404
        socket.send_json({'id': 7, 'do': 'subscribe', 'run': ident, 'after': 99})
        assert answer_of(socket, 7)['problem']['type'] == 'urn:hemicycle:unknown-step'
        for number in (5, 50):
            socket.send_json({'id': number, 'do': 'cancel', 'run': ident, 'key': 'once'})
        while messages[-1]['type'] != 'end':
            messages.append(socket.receive_json())
        socket.send_json({'id': 6, 'do': 'subscribe'})
        while messages[-1]['type'] != 'run':
            messages.append(socket.receive_json())
        client.delete(f'/runs/{ident}')
        while messages[-1]['type'] != 'gone':
            messages.append(socket.receive_json())
        assert {item['id']: item['type'] for item in messages if item.get('id') in (5, 50)} == {
            5: 'done',
            50: 'done',
        }
        for message in [*messages, refused]:
            MESSAGES.validate_python(message)


def answer_of(socket: WebSocketTestSession, id: object) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = socket.receive_json()
        if message['type'] in ('done', 'problem') and message.get('id') == id:
            return message


def test_a_socket_from_another_site_is_refused(client: TestClient):
    foreign = client.websocket_connect('/socket', headers={'Origin': 'https://evil.example'})
    with pytest.raises(WebSocketDisconnect), foreign:
        pass
    with client.websocket_connect('/socket', headers={'Origin': 'http://testserver'}):
        pass


def test_another_site_may_not_steer(client: TestClient):
    headers = {'Origin': 'https://evil.example'}
    refused = client.post('/runs', json={'pattern': 'lone'}, headers=headers)
    assert (refused.status_code, refused.json()['type']) == (403, 'urn:hemicycle:other-site')
    assert client.get('/runs').json()['total'] == 0
    assert 'access-control-allow-origin' not in client.get('/runs', headers=headers).headers


ORIGIN = 'https://tool.example'


@pytest.fixture
def shared(backend: Backend) -> httpx.ASGITransport:
    return httpx.ASGITransport(build_api(backend, [ORIGIN]))


async def test_only_configured_sites_may_use_the_server(shared: httpx.ASGITransport):
    async with httpx.AsyncClient(transport=shared, base_url='http://127.0.0.1:8080') as http:
        preflight = {'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'If-Match'}
        for origin, may in ((ORIGIN, True), ('https://evil.example', False)):
            before = await http.options('/runs', headers={'Origin': origin, **preflight})
            assert (before.status_code == 200) is may
            assert ('access-control-allow-origin' in before.headers) is may
            response = await http.post('/runs', json={'pattern': 'lone'}, headers={'Origin': origin})
            assert response.status_code == (201 if may else 403)
            assert ('access-control-allow-origin' in response.headers) is may
        assert (
            'etag'
            in (await http.get('/runs', headers={'Origin': ORIGIN}))
            .headers['access-control-expose-headers']
            .lower()
        )
        assert (await http.get('/runs')).json()['total'] == 1
