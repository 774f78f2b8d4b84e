"""Steering over HTTP: every event, and answers to a step that has passed."""

import asyncio
from pathlib import Path

import httpx
import pytest

from engine import Conductor, Status
from engine.records import RunId
from tests.api.conftest import asking
from tests.api.test_launching import api
from tests.processes.mcp.test_questions import Hotel, waiting
from tests.support.harness import FakeModel, calls, start_run


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(lambda request: asyncio.Event())


async def start_paused(conductor: Conductor, pattern: str = 'lone') -> RunId:
    return await start_run(conductor, pattern, paused=True)


async def test_a_run_is_paused_resumed_and_cancelled(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_run(conductor, 'lone')
    answer = await http.post(f'/runs/{run}/pause')
    assert answer.status_code == 200, answer.text
    assert answer.headers['ETag'].startswith(f'"{(await conductor.info(run)).seq}.')
    assert (await conductor.view(run)).paused
    assert (await http.post(f'/runs/{run}/resume', json={})).status_code == 200
    assert not (await conductor.view(run)).paused
    assert (await http.post(f'/runs/{run}/step', json={'how': 'over'})).status_code == 200
    assert (await http.post(f'/runs/{run}/cancel', json={'reason': 'enough'})).json()['status'] == 'cancelled'
    refused = await http.post(f'/runs/{run}/pause')
    assert (refused.status_code, refused.json()['type']) == (409, 'urn:hemicycle:event-refused')


async def test_an_answer_to_an_older_step_is_refused(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_run(conductor, 'lone')
    etag = (await http.get(f'/runs/{run}')).headers['ETag']
    await conductor.pause(run)
    before = (await conductor.info(run)).seq
    for path, body in (
        ('resume', {}),
        ('step', {}),
        ('cancel', {}),
        ('events', {'name': 'resume'}),
        ('extend', {'tokens': 5}),
        ('approve', {}),
        ('deny', {}),
        ('edit', {'changes': [{'op': 'add', 'path': '/memory/x', 'value': 1}]}),
    ):
        late = await http.post(f'/runs/{run}/{path}', json=body, headers={'If-Match': etag})
        assert (late.status_code, late.json()['type']) == (412, 'urn:hemicycle:step-passed'), path
    late = await http.put(f'/runs/{run}/breakpoints', json={'breakpoints': []}, headers={'If-Match': etag})
    assert late.status_code == 412
    assert (await conductor.info(run)).seq == before
    now = (await http.get(f'/runs/{run}')).headers['ETag']
    assert (await http.post(f'/runs/{run}/resume', headers={'If-Match': now})).status_code == 200
    assert (await http.post(f'/runs/{run}/pause', headers={'If-Match': '*'})).status_code == 200
    assert (await http.post(f'/runs/{run}/resume', headers={'If-Match': 'W/"3"'})).status_code == 412
    seq = (await conductor.info(run)).seq
    for tags, status in ((f'"{seq - 1}", "{seq - 2}"', 412), (f'"{seq - 1}", W/"9", "{seq}"', 200)):
        late = await http.post(f'/runs/{run}/resume', headers={'If-Match': tags})
        assert late.status_code == status, tags


async def test_of_two_answers_to_one_step_one_counts(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_run(conductor, 'lone')
    headers = {'If-Match': (await http.get(f'/runs/{run}')).headers['ETag']}
    both = await asyncio.gather(*(http.post(f'/runs/{run}/pause', headers=headers) for _ in range(2)))
    assert sorted(answer.status_code for answer in both) == [200, 412]


async def test_a_request_is_repeated_with_its_key(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_paused(conductor)
    for key in ('a', 'a', 'b'):
        answer = await http.post(f'/runs/{run}/step', headers={'Idempotency-Key': key})
        assert answer.status_code == 200, answer.text
    etag = answer.headers['ETag']
    for _ in range(2):
        answer = await http.post(f'/runs/{run}/resume', headers={'Idempotency-Key': 'c', 'If-Match': etag})
        assert answer.status_code == 200, answer.text
    names = [step.event.name for step in await conductor.transitions(run)]
    assert (names.count('step'), names.count('resume')) == (2, 1)


async def test_a_tool_call_is_listed_and_approved_or_denied():
    async with asking() as conductor, api(conductor) as http:
        run = await start_run(conductor, 'asks', approvals='all')
        async for _ in conductor.watch(run):
            if (await conductor.info(run)).status is Status.WAITING:
                break
        accepted = {event['event']: event for event in (await http.get(f'/runs/{run}/accepts')).json()}
        assert set(accepted) == {'approve', 'deny'}
        assert accepted['approve']['calls'] == ['calculator {"expression": "1+1"}']
        answer = await http.post(f'/runs/{run}/approve', json={'always': True})
        assert answer.status_code == 200, answer.text
        assert (await http.get(f'/runs/{run}/result?wait=20')).json()['status'] == 'done'
        assert (await http.get(f'/runs/{run}/accepts')).json() == []


async def test_breakpoints_are_set_probed_and_listed(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_paused(conductor)
    answer = await http.put(f'/runs/{run}/breakpoints', json={'breakpoints': [{'enter': 'over'}]})
    assert [item['id'] for item in answer.json()] == ['1']
    assert (await http.get(f'/runs/{run}/breakpoints')).json()[0]['enter'] == 'over'
    response = await http.put(f'/runs/{run}/breakpoints', json={'breakpoints': [{'enter': 'nowhere'}]})
    assert response.status_code == 422
    assert (await http.post(f'/runs/{run}/probe', json={'condition': 'step > 0'})).status_code in (200, 422)
    assert (await http.post(f'/runs/{run}/probe', json={'condition': '('})).status_code == 422


async def test_a_client_waits_for_a_result(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_run(conductor, 'lone')
    early = await http.get(f'/runs/{run}/result')
    assert (early.status_code, early.json()['type']) == (409, 'urn:hemicycle:not-ended')
    await conductor.cancel(run)
    assert (await http.get(f'/runs/{run}/result')).json()['status'] == 'cancelled'


async def test_a_question_of_an_mcp_server_is_read_and_answered(tmp_path: Path):
    hotel = Hotel(tmp_path)
    async with hotel.conductor(calls(('small_book', {})), 'booked') as conductor, api(conductor) as http:
        run = await start_run(conductor, 'remote', approvals='none')
        await waiting(conductor, run)
        (one,) = (await http.get(f'/runs/{run}/accepts')).json()
        assert (one['event'], one['question']['message']) == ('answer', 'Who stays?')
        assert one['question']['fields']['properties']['name']['title'] == 'Guest'
        sent = {'name': 'answer', 'data': {'content': {'name': 'A'}}}
        refused = await http.post(f'/runs/{run}/events', json=sent)
        assert refused.status_code == 422 and 'content.name' in refused.text
        sent['data'] = {'content': {'name': 'Ada'}}
        assert (await http.post(f'/runs/{run}/events', json=sent)).status_code == 200
        assert (await conductor.result(run)).answer == 'booked'
