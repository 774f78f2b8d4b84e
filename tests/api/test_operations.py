"""Every operation has a route, so that the API gains what the conductor gains."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Protocol

import httpx
import jsonschema
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import Field, TypeAdapter

from engine import Conductor, InvalidInput, LocalConductor
from engine import operations as table
from engine.errors import NotAllowed
from engine.operations import Role, implement, operations_of, parts_of
from engine.records import RunId
from tests.support.identity import FixedIdentity
from ui.api.app import build_api
from ui.api.client import Connection, remote
from ui.api.operations.routes import derived_routes
from ui.api.problems import answer_errors
from ui.app.access.caller import Caller
from ui.app.access.guard import Guard
from ui.app.access.operations import AccountOperations
from ui.app.backend import Backend
from ui.app.services.operations import ServiceOperations

WITHOUT = {'sign_in': 'it opens a browser on the server'}
"""Operations that have no route, and why."""


def protocols(whole: type[Any]) -> Iterator[type[Any]]:
    yield whole
    for part in parts_of(whole).values():
        yield from protocols(part)


async def test_every_operation_has_a_route(app: FastAPI) -> None:
    served = {
        operation['operationId'] for path in app.openapi()['paths'].values() for operation in path.values()
    }
    for protocol in (*protocols(Conductor), *protocols(ServiceOperations), AccountOperations):
        for name, declared in operations_of(protocol).items():
            derived = (declared.route.id or name,) if declared.route else ()
            assert derived or declared.by_hand or name in WITHOUT, f'{protocol.__name__}.{name}'
            assert {*derived, *declared.by_hand} <= served, f'{protocol.__name__}.{name}'


async def test_the_document_is_made_beside_the_event_loop(backend: Backend) -> None:
    app, threads = build_api(backend), list[str]()

    def document() -> dict[str, Any]:
        threads.append(threading.current_thread().name)
        return {'openapi': '3.1.0'}

    app.openapi = document  # type: ignore[method-assign]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url='http://127.0.0.1') as http:
        assert (await http.get('/openapi.json')).json()['openapi'] == '3.1.0'
    assert threads[0] != threading.main_thread().name


class Greeting(Protocol):
    """An operation that exists nowhere else."""

    @table.operation(Role.OPERATOR, 'POST runs/{run}/greeting')
    async def greet(self, run: RunId, name: Annotated[str, Field(max_length=9)], times: int = 1) -> list[str]:
        """Greet someone."""


class Greeter:
    """Carries it out."""

    async def greet(self, run: RunId, name: str, times: int = 1) -> list[str]:
        return [f'{run}: hello {name}'] * times


async def test_one_declaration_makes_route_client_guard_and_log(conductor: LocalConductor) -> None:
    """A new operation is one place: its declaration, beside the code that carries it out."""
    logged: list[tuple[str, Any]] = []

    async def record(caller: Caller, path: str, **line: Any) -> None:
        logged.append((path, line['runs']))

    run = (await conductor.start('lone', paused=True)).id
    caller = FixedIdentity(Caller('ada', Role.OPERATOR))
    guard = Guard(protocol=Greeting, target=Greeter(), conductor=conductor, identity=caller, record=record)
    guarded = implement(Greeting, guard)
    app = FastAPI()
    app.state.backend = Backend()
    app.state.backend.open(conductor)
    app.include_router(derived_routes(Greeting, lambda connection: guarded, 'Greetings'), prefix='/api/v1')
    document = app.openapi()['paths']['/api/v1/runs/{run}/greeting']['post']
    assert document['description'] == 'Greet someone.'
    answer_errors(app)
    connection = Connection('http://127.0.0.1:8080', transport=httpx.ASGITransport(app))
    client = remote(Greeting, connection)
    assert await client.greet(run, 'Bo', times=2) == [f'{run}: hello Bo'] * 2
    assert logged == [('greet', [run])]
    with pytest.raises(InvalidInput) as refused:
        await client.greet(run, 'a name too long')
    assert 'name' in refused.value.problems
    caller.last_caller = Caller('ada', Role.VIEWER)
    with pytest.raises(NotAllowed):
        await client.greet(run, 'Bo')
    await connection.close()


async def test_operations_have_readable_names_and_summaries(app: FastAPI):
    for path, operations in app.openapi()['paths'].items():
        for method, operation in operations.items():
            where = f'{method} {path}'
            assert operation['operationId'].isidentifier(), where
            assert operation['tags'], where
            assert operation['description'].endswith(('.', '?')), where
            assert {'401', '403', '409', '422', '500', '503'} <= set(operation['responses']), where


FILES = {
    'check': 'what `save_test` gives',
    'import_bundle': 'what `export_bundle` gives',
    'upload_dataset': 'JSON lines',
}
"""Operations whose bodies are files."""


async def test_each_body_has_a_valid_example(app: FastAPI):
    document = app.openapi()
    bodies = 0
    for path in document['paths'].values():
        for operation in path.values():
            if 'requestBody' not in operation or operation['operationId'] in FILES:
                continue
            body = operation['requestBody']['content']['application/json']
            place = body['schema'].get('$ref', '').rpartition('/')[2]
            examples = (
                [body['example']]
                if 'example' in body
                else document['components']['schemas'][place]['examples']
            )
            for example in examples:
                jsonschema.validate(example, {**body['schema'], 'components': document['components']})
            bodies += len(examples)
    assert bodies > 20
    assert {tag['name'] for tag in document['tags']} == {
        tag for path in document['paths'].values() for operation in path.values() for tag in operation['tags']
    }


async def test_annotations_are_checked_before_they_are_kept(conductor: Conductor, http: httpx.AsyncClient):
    run = (await conductor.start('lone', title='Tea')).id
    for field, value in {'title': '  ', 'tags': ['']}.items():
        refused = await http.patch(f'/runs/{run}', json={field: value})
        assert [error['field'] for error in refused.json()['errors']] == [field], refused.text
    assert (await http.patch(f'/runs/{run}', json={'title': ' Coffee '})).json()['title'] == 'Coffee'


def parts(document: Any) -> Iterator[dict[str, Any]]:
    """Each object in a document."""
    if isinstance(document, dict):
        yield document
    for part in document.values() if isinstance(document, dict) else document:
        if isinstance(part, dict | list):
            yield from parts(part)


async def test_the_document_has_a_name_for_each_schema_and_defaults_that_fit(app: FastAPI):
    document = app.openapi()
    schemas = document['components']['schemas']
    titles = Counter(schema.get('title', name) for name, schema in schemas.items())
    assert [title for title, schemas in titles.items() if schemas > 1] == []
    assert [name for name in schemas if not name.isidentifier() or '__' in name] == []
    defaults = [part for part in parts(document) if {'default', 'title'} <= set(part)]
    assert len(defaults) > 50
    for part in defaults:
        checked = {**part, 'components': document['components']}
        jsonschema.validate(part['default'], checked, format_checker=jsonschema.FormatChecker())
        assert not ('format' in part and not isinstance(part['default'], str)), part


async def test_bodies_of_changes_have_no_defaults_that_clients_would_send(app: FastAPI):
    document = app.openapi()
    changes = [
        operation['requestBody']['content']['application/json']['schema']['$ref'].rpartition('/')[2]
        for path in document['paths'].values()
        for method, operation in path.items()
        if method == 'patch'
    ]
    assert len(changes) == 4
    for name in changes:
        fields = document['components']['schemas'][name]['properties']
        assert [field for field, schema in fields.items() if 'default' in schema] == [], name


async def test_the_document_says_how_callers_identify_themselves(app: FastAPI):
    document = app.openapi()
    assert {item['type'] for item in document['components']['securitySchemes'].values()} == {'http', 'apiKey'}
    assert document['security'] == [{}, {'token': []}, {'session': []}]
    signed = document['paths']['/triggers/{trigger}/webhook']['post']
    assert signed['security'] == [] and '401' in signed['responses']


async def test_no_body_takes_a_number_or_text_for_a_boolean(app: FastAPI, http: httpx.AsyncClient):
    bodies = {
        route.name: list(parts(TypeAdapter(route.body_field.field_info.annotation).core_schema))
        for route in iter_route_contexts(app.routes)
        if getattr(route, 'body_field', None) and route.name != 'run_with_agui'  # the protocol's own model
    }
    booleans = [(name, part) for name in bodies for part in bodies[name] if part.get('type') == 'bool']
    assert len(booleans) > 20
    assert [name for name, part in booleans if not part.get('strict')] == []
    for wrong in (0, 'false'):
        refused = await http.post('/runs', json={'pattern': 'lone', 'private': wrong})
        assert (refused.status_code, refused.json()['errors'][0]['field']) == (422, 'private')
    spec = {'cron': ['0 9 * * *'], 'start': True}
    refused = await http.post('/schedules', json={'name': 'x', 'action': {'pattern': 'lone'}, 'spec': spec})
    assert (refused.status_code, refused.json()['errors'][0]['field']) == (422, 'spec.start')


async def test_a_path_names_all_its_methods(app: FastAPI, http: httpx.AsyncClient):
    for path, operations_at in app.openapi()['paths'].items():
        answer = await http.options(path)
        named = {method.lower() for method in answer.headers['Allow'].split(', ')}
        assert (answer.status_code, named) == (204, {*operations_at, 'options'}), path
    refused = await http.put('/runs')
    assert (refused.status_code, refused.headers['Allow']) == (405, 'GET, OPTIONS, POST')
    assert (await http.options('/nothing')).status_code == 404


async def test_a_line_break_in_a_path_is_answered_with_a_problem(http: httpx.AsyncClient):
    for path in ('/runs%0A', '/tools/a%0Ab', '/%0A'):
        answer = await http.get(path)
        assert (answer.status_code, answer.headers['content-type']) == (404, 'application/problem+json'), path
        assert answer.json()['type'] == 'urn:hemicycle:not-found', path
