"""The inbox and notifications over HTTP: every action has a route, and answers count once."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from engine import Conductor, InvalidInput, LocalConductor
from tests.support.harness import FakeModel, catalog, start_run, until
from tests.unit.ui.app.services.test_inbox import Pair, reply, wait_for_questions
from tests.unit.ui.app.services.test_notifications import URL, Receiver
from tests.unit.ui.app.services.test_schedules import sign
from ui.api.client.connection import Connection
from ui.api.client.services import HttpServices
from ui.app.backend import Backend
from ui.app.services.inbox import Inbox, QuestionClosed
from ui.app.services.schedules import (
    Interval,
    Schedule,
    Schedules,
    ScheduleSpec,
    Trigger,
)
from ui.app.services.services import Services


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(reply)


@pytest.fixture
async def conductor(model: FakeModel):
    async with LocalConductor(catalog=catalog(model, Pair)) as conductor:
        yield conductor


ACTION = {'pattern': 'pair', 'approvals': 'none'}


@pytest.mark.parametrize('moment', [1e300, -1e12, '9999-12-31T23:59:59-23:00'])
async def test_a_moment_that_no_response_can_show_is_refused(http: httpx.AsyncClient, moment: float | str):
    spec = {'cron': ['30 2 * * *'], 'end': moment}
    refused = await http.post('/schedules', json={'name': 'Nightly', 'action': ACTION, 'spec': spec})
    assert [error['field'] for error in refused.json()['errors']] == ['spec.end'], refused.text
    assert (await http.get('/schedules')).json() == []


async def test_a_schedule_is_managed_over_http(
    conductor: Conductor, services: HttpServices, http: httpx.AsyncClient
):
    body = {
        'name': 'Nightly',
        'action': ACTION,
        'spec': {'cron': ['30 2 * * *'], 'time_zone': 'Europe/Berlin'},
    }
    response = await http.post('/schedules', json=body)
    assert response.status_code == 201, response.text
    assert len(response.json()['next_times']) == 5
    place = f'/schedules/{response.json()["id"]}'
    second_response = await http.post('/schedules', json={**body, 'spec': {'cron': ['at noon']}})
    assert [error['field'] for error in second_response.json()['errors']] == ['spec.cron.0']
    assert (await http.patch(place, json={'paused': True})).json()['next_times'] == []
    tick = (await http.post(f'{place}/run')).json()
    assert (await http.get(f'/runs/{tick["run"]}/result?wait=20')).json()['status'] == 'done'
    span = {'since': '2026-01-01T00:00:00Z', 'until': '2026-01-03T00:00:00Z'}
    filled = await http.post(f'{place}/backfill', json=span)
    assert [item['due'] for item in filled.json()] == ['2026-01-01T01:30:00Z', '2026-01-02T01:30:00Z']
    assert len((await http.get(f'{place}/ticks')).json()) == 3
    client, schedules = services.schedules, Schedules(conductor)
    assert await client.list() == await schedules.list()
    schedule = Schedule(
        name='B',
        action=(await schedules.list())[0].action,
        spec=ScheduleSpec(intervals=(Interval(every=9.0),)),
    )
    added = await client.add(schedule)
    assert added.spec == schedule.spec and (await client.change(added.id, note='x')).note == 'x'
    assert await client.log((await schedules.list())[1].id) == await schedules.log(
        (await schedules.list())[1].id
    )
    assert (await client.run_now(added.id)).state == 'started'
    await client.remove(added.id)
    assert (await http.get(f'/schedules/{added.id}')).json()['type'] == 'urn:hemicycle:unknown-schedule'
    assert (await http.delete(place)).status_code == 204


@pytest.fixture
async def services(app: FastAPI) -> AsyncIterator[HttpServices]:
    """The client of the services."""
    ask = Connection('http://127.0.0.1:8080', transport=httpx.ASGITransport(app))
    ask.http.base_url = httpx.URL('http://127.0.0.1:8080')
    yield HttpServices(ask)
    await ask.close()


async def test_the_client_answers_assigns_and_snoozes(conductor: Conductor, services: HttpServices):
    run = await start_run(conductor, 'pair', approvals='all')
    inbox = Inbox(conductor)
    await wait_for_questions(inbox, 2)
    assert await services.inbox.list(run=run) == await inbox.list()
    first, second = (await services.inbox.list()).items
    assert (await services.inbox.assign(first.ask.id, 'ada')).assignee == 'ada'
    assert [item.ask for item in (await services.inbox.list(assignee='ada')).items] == [first.ask]
    assert (await services.inbox.snooze(first.ask.id, 4e9)).snoozed_until == 4e9
    assert (await services.inbox.list()).snoozed == 1
    assert (await services.inbox.snooze(first.ask.id, 0.0)).snoozed_until == 0.0
    info = await services.inbox.answer(second.ask.id, 'approve', digest=second.ask.digest)
    assert info.id == run
    with pytest.raises(QuestionClosed, match='has ended the question'):
        await services.inbox.find(second.ask.id)
    with pytest.raises(InvalidInput, match='must be one of'):
        await services.inbox.answer(first.ask.id, 'dance', digest=first.ask.digest)


async def test_a_trigger_fires_over_http(http: httpx.AsyncClient):
    body = {'name': 'Issues', 'action': {'pattern': 'pipeline'}, 'mapping': {'task': '/title'}}
    data = (await http.post('/triggers', json=body)).json()
    sent = json.dumps({'title': 'Compare tea and coffee'})
    headers = sign(Trigger(**{**data, 'created': 0.0, 'action': None, 'mapping': {}}), sent)
    path, json_type = f'/triggers/{data["id"]}/webhook', {'Content-Type': 'application/json'}
    both = [await http.post(path, content=sent, headers={**headers, **json_type}) for _ in range(2)]
    assert [item.status_code for item in both] == [200, 200] and both[0].json()['run'] == both[1].json()[
        'run'
    ]
    bad = await http.post(path, content=sent + ' ', headers={**headers, **json_type})
    assert (bad.status_code, bad.json()['type']) == (401, 'urn:hemicycle:bad-signature')
    assert (await http.patch(f'/triggers/{data["id"]}', json={'paused': True})).json()['secret'] == ''
    assert (await http.post(path, content=sent, headers={**headers, **json_type})).status_code == 404
    assert [trigger['secret'] for trigger in (await http.get('/triggers')).json()] == ['']
    assert len((await http.get(f'/triggers/{data["id"]}/ticks')).json()) == 1
    assert (await http.delete(f'/triggers/{data["id"]}')).status_code == 204


@pytest.fixture
def receiver(backend: Backend, conductor: Conductor) -> Receiver:
    receiver = Receiver()
    services = Services(conductor)
    services.notifications = receiver.notifications(conductor)
    backend.open(conductor, services=services)
    return receiver


async def test_of_two_answers_one_counts_and_the_other_is_refused(
    conductor: Conductor, http: httpx.AsyncClient
):
    run = await start_run(conductor, 'pair', approvals='all')
    await wait_for_questions(Inbox(conductor), 2)
    items = (await http.get('/inbox')).json()['items']
    ask = items[0]['ask']
    assert ask['calls'][0]['name'] == 'calculator'
    path = f'/inbox/{ask["id"]}/answer'
    response = await http.post(path, json={'event': 'approve', 'digest': 'x'})
    assert (response.status_code, response.json()['type']) == (409, 'urn:hemicycle:question-closed')
    bodies = [{'event': event, 'digest': ask['digest']} for event in ('approve', 'deny')]
    both = await asyncio.gather(*(http.post(path, json=body) for body in bodies))
    assert sorted(item.status_code for item in both) == [200, 409]
    closed = await http.get(f'/inbox/{ask["id"]}')
    assert closed.status_code == 409 and 'has ended the question' in closed.json()['detail']
    assert (await http.get(f'/inbox/{run}.1.00000000')).status_code == 404
    other = items[1]['ask']['id']
    assert (await http.put(f'/inbox/{other}/assignee', json={'assignee': 'Ada'})).json()['assignee'] == 'Ada'
    later = await http.put(f'/inbox/{other}/snooze', json={'until': '2100-01-01T00:00:00Z'})
    assert later.json()['snoozed_until'] == '2100-01-01T00:00:00Z'
    assert (await http.put(f'/inbox/{other}/snooze', json={'until': 'tomorrow'})).status_code == 422
    assert (await http.get('/inbox')).json() == {'items': [], 'snoozed': 1}


async def test_a_destination_shows_its_secret_once(receiver: Receiver, http: httpx.AsyncClient):
    response = await http.post('/destinations', json={'name': 'Team', 'address': URL})
    assert response.status_code == 201 and response.json()['secret'].startswith('whsec_')
    place = f'/destinations/{response.json()["id"]}'
    assert [destination['secret'] for destination in (await http.get('/destinations')).json()] == ['']
    assert (await http.patch(place, json={'tag': 'nightly'})).json()['secret'] == ''
    assert (await http.patch(place, json={'address': 'x'})).status_code == 422
    assert (await http.patch(place, json={'id': 'x'})).status_code == 422
    sent = (await http.post(f'{place}/test')).json()
    await until(lambda: receiver.requests)
    resent = await http.post(f'/messages/{sent["id"]}/resend')
    assert resent.status_code == 200
    assert (await http.get('/messages')).json()[0]['id'] == sent['id']
    assert (await http.delete(place)).status_code == 204
    assert (await http.post(f'{place}/test')).json()['type'] == 'urn:hemicycle:unknown-destination'
    assert (await http.post('/messages/none/resend')).status_code == 404


@pytest.fixture
def dies_once(conductor: Conductor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server die once, after carrying out a request and before storing its reply."""

    async def die(key: str, reply: str | None) -> None:
        monkeypatch.undo()
        raise asyncio.CancelledError

    monkeypatch.setattr(conductor.journal.documents, 'finish_reservation', die)


async def ask_thrice(http: httpx.AsyncClient, path: str, body: Any = None) -> list[httpx.Response]:
    """Send a request three times with one key; returns the second and third answers."""
    key = {'Idempotency-Key': 'k'}
    with pytest.raises(asyncio.CancelledError):
        await http.post(path, json=body, headers=key)
    return [await http.post(path, json=body, headers=key) for _ in range(2)]


@pytest.mark.usefixtures('dies_once')
@pytest.mark.parametrize('kind', ['schedules', 'triggers', 'destinations'])
async def test_an_addition_repeated_with_its_key_is_made_once(
    receiver: Receiver, http: httpx.AsyncClient, kind: str
):
    bodies = {
        'schedules': {'name': 'Nightly', 'action': ACTION, 'spec': {'cron': ['30 2 * * *']}},
        'triggers': {'name': 'Issues', 'action': ACTION},
        'destinations': {'name': 'Team', 'address': URL},
    }
    first, second = await ask_thrice(http, f'/{kind}', bodies[kind])
    assert (first.status_code, second.status_code) == (201, 201), first.text
    assert second.json() == first.json()
    assert second.headers['Location'] == first.headers['Location'] == f'/api/v1/{kind}/{first.json()["id"]}'
    assert [item['id'] for item in (await http.get(f'/{kind}')).json()] == [first.json()['id']]


@pytest.mark.usefixtures('dies_once')
async def test_a_schedule_run_by_hand_with_one_key_runs_once(conductor: Conductor, http: httpx.AsyncClient):
    body = {'name': 'Nightly', 'action': ACTION, 'spec': {'cron': ['30 2 * * *']}}
    place = f'/schedules/{(await http.post("/schedules", json=body)).json()["id"]}'
    first, second = await ask_thrice(http, f'{place}/run')
    assert first.json() == second.json() and first.json()['state'] == 'started'
    assert len((await http.get(f'{place}/ticks')).json()) == 1
    assert (await conductor.runs()).total == 1


async def test_every_request_that_creates_something_takes_a_key(app: FastAPI):
    creating = [
        operation
        for path in app.openapi()['paths'].values()
        for operation in path.values()
        if '201' in operation['responses']
    ]
    assert len(creating) > 8
    for operation in creating:
        named = {parameter['name'] for parameter in operation.get('parameters', ())}
        assert 'Idempotency-Key' in named, operation['operationId']


async def test_coding_agents_are_listed_and_tested(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('PATH', '')
    listed = {one['name']: one for one in (await http.get('/agents')).json()}
    assert listed['scripted']['simulated'] and 'claude' in listed
    assert listed['claude']['install']
    tested = (await http.post('/agents/claude/test')).json()
    assert tested['agent'] == 'claude' and tested['problem']
    unknown = await http.post('/agents/nobody/test')
    assert (unknown.status_code, unknown.json()['type']) == (404, 'urn:hemicycle:unknown-agent')
