"""Reading over HTTP: lists with cursors, one run at any step, errors as problem details."""

import httpx
import pytest

from engine import Conductor
from engine.records import Outcome, RunInfo, View
from tests.support.harness import complete_run, start_run
from ui.api.wire import decode

TASK = {'task': 'Compare tea and coffee'}


async def test_patterns_are_described_with_their_schema(http: httpx.AsyncClient):
    data = (await http.get('/patterns')).json()
    pipeline = next(pattern for pattern in data['patterns'] if pattern['name'] == 'pipeline')
    assert pipeline['parameters']['properties']['task']['type'] == 'string'
    assert (await http.get('/patterns/pipeline')).json() == pipeline


async def test_a_chart_is_drawn_in_each_format(http: httpx.AsyncClient):
    parameters = {'parameters': '{"task": "Compare tea and coffee"}'}
    for form, beginning in (('mermaid', 'stateDiagram'), ('dot', 'digraph'), ('svg', '<svg')):
        answer = await http.get('/patterns/pipeline/diagram', params={'format': form, **parameters})
        assert answer.status_code == 200
        assert beginning in answer.text


async def test_a_run_is_read_exactly_as_the_engine_has_it(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_run(conductor, 'pipeline', TASK)
    outcome = await conductor.result(run)
    answer = await http.get(f'/runs/{run}')
    info = await conductor.info(run)
    assert decode(RunInfo, answer.json()) == info
    assert answer.headers['ETag'].startswith(f'"{info.seq}.')
    assert decode(View, (await http.get(f'/runs/{run}/view?at=3')).json()) == await conductor.view(run, 3)
    assert decode(Outcome, (await http.get(f'/runs/{run}/result')).json()) == outcome
    assert (await http.get(f'/runs/{run}/memory')).json() == outcome.memory
    spoken = (await http.get(f'/runs/{run}/transcript')).json()
    assert {item['agent'] for item in spoken} == set((await conductor.view(run)).agents)


async def test_a_run_is_sent_again_only_if_it_has_changed(conductor: Conductor, http: httpx.AsyncClient):
    run = await start_run(conductor, 'lone')
    etag = (await http.get(f'/runs/{run}')).headers['ETag']
    for known in (etag, f'"1", W/{etag}', '*'):
        same = await http.get(f'/runs/{run}', headers={'If-None-Match': known})
        assert (same.status_code, same.content, same.headers['ETag']) == (304, b'', etag), known
    await conductor.annotate(run, title='Tea')  # takes no step
    changed = await http.get(f'/runs/{run}', headers={'If-None-Match': etag})
    assert (changed.status_code, changed.json()['title']) == (200, 'Tea')


async def test_steps_come_in_pages_without_gaps(conductor: Conductor, http: httpx.AsyncClient):
    run = await complete_run(conductor, 'pipeline', TASK)
    seqs, cursor = [], ''
    while cursor is not None:
        page = (await http.get(f'/runs/{run}/steps', params={'limit': 4, 'cursor': cursor})).json()
        seqs += [step['seq'] for step in page['items']]
        cursor = page['next']
    assert seqs == list(range(1, (await conductor.info(run)).seq + 1))


async def test_paging_survives_runs_that_come_and_go(conductor: Conductor, http: httpx.AsyncClient):
    old = [await start_run(conductor, 'lone') for _ in range(5)]
    first = (await http.get('/runs', params={'limit': 2})).json()
    await start_run(conductor, 'lone')  # With an offset this would show the second run twice.
    second = (await http.get('/runs', params={'limit': 2, 'cursor': first['next']})).json()
    last = (await http.get('/runs', params={'limit': 2, 'cursor': second['next']})).json()
    listed = [run['id'] for page in (first, second, last) for run in page['items']]
    assert listed == old[::-1]
    assert last['next'] is None
    assert last['total'] == 6


@pytest.mark.parametrize(
    ('path', 'status', 'field'),
    [
        ('/runs/nothing', 404, None),
        ('/patterns/nothing', 404, None),
        ('/runs?cursor=nonsense', 422, 'cursor'),
        ('/runs?since=yesterday', 422, 'since'),
        ('/runs?since=2026-01-01T00:00:00', 422, 'since'),
        ('/runs?edge=nowhere', 422, 'edge'),
        ('/runs?trouble=true', 422, 'trouble'),
        ('/runs?limit=0', 422, 'limit'),
        ('/runs/nothing/view?at=99999999999999999999', 422, 'at'),
        ('/patterns/pipeline/shape?parameters=[]', 422, 'parameters'),
        ('/patterns/pipeline/shape?parameters={"max_iterations":"x"}', 422, 'max_iterations'),
        ('/nowhere', 404, None),
    ],
)
async def test_an_error_is_a_problem_that_names_the_field(
    http: httpx.AsyncClient, path: str, status: int, field: str | None
):
    answer = await http.get(path)
    problem = answer.json()
    assert (answer.status_code, problem['status']) == (status, status)
    assert answer.headers['Content-Type'] == 'application/problem+json'
    assert problem['type'].startswith('urn:hemicycle:')
    assert problem['detail']
    assert field is None or [error['field'] for error in problem['errors']] == [field]


async def test_a_missing_step_is_404(conductor: Conductor, http: httpx.AsyncClient):
    run = await complete_run(conductor, 'lone')
    answer = await http.get(f'/runs/{run}/view?at=99')
    assert (answer.status_code, answer.json()['type']) == (404, 'urn:hemicycle:unknown-step')


async def test_the_documentation_needs_no_other_server(http: httpx.AsyncClient):
    page = (await http.get('/docs')).text
    assert 'https://' not in page
    assert '/static-offline-docs/swagger-ui-bundle.js' in page
    assert (await http.get('/static-offline-docs/swagger-ui-bundle.js')).status_code == 200
