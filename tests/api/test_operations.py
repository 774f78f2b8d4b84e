"""Every method of the facade has a route, so that the API gains what the conductor gains."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import TypeAdapter

from engine import Conductor

ROUTES: dict[str, tuple[str, ...]] = {
    'accepts': ('accepts',),
    'annotate': ('annotate',),
    'audit': ('audit',),
    'can_control': ('get_live_state',),
    'cancel': ('cancel',),
    'catalog': ('list_patterns', 'get_pattern', 'list_models', 'list_endpoints', 'list_tools', 'get_tool'),
    'check': ('check',),
    'clean_up': ('clean_up',),
    'compare': ('compare',),
    'delete': ('delete',),
    'delete_note': ('delete_note',),
    'disk_usage': ('disk_usage',),
    'draw': ('draw', 'draw_pattern', 'draw_run'),
    'iter_runs': ('list_runs',),
    'export_bundle': ('export_bundle', 'export_run'),
    'explain_guards': ('explain_guards',),
    'extend': ('extend',),
    'family': ('family',),
    'fold': ('get_snapshot', 'list_steps', 'get_shape'),
    'forecast': ('forecast',),
    'fork': ('fork',),
    'fork_all': ('fork_all',),
    'handle': ('get_run',),
    'import_bundle': ('import_bundle',),
    'info': ('get_run',),
    'lineage': ('lineage',),
    'mark_winner': ('mark_winner',),
    'merging': ('mergeable', 'list_changes', 'compose', 'test_work', 'preview_merge', 'merge', 'send_back'),
    'notes': ('notes',),
    'owner': ('describe_server',),
    'pause': ('pause',),
    'preview_cleanup': ('preview_cleanup',),
    'probe': ('probe',),
    'purge': ('purge',),
    'recover': ('recover',),
    'rerun': ('rerun',),
    'resting_step': ('get_live_state',),
    'restore': ('restore',),
    'result': ('get_result',),
    'resume': ('resume',),
    'retention': ('retention',),
    'retry': ('retry',),
    'retry_at': ('retry_at',),
    'runs': ('list_runs',),
    'save_test': ('save_test',),
    'send': ('send', 'approve', 'deny', 'take_seat', 'hand_back', 'edit'),
    'set_breakpoints': ('set_breakpoints', 'list_breakpoints'),
    'shape': ('get_shape',),
    'snapshot': ('get_snapshot',),
    'start': ('start',),
    'step': ('step',),
    'stranded': ('describe_server', 'get_live_state'),
    'traffic': ('traffic',),
    'transitions': ('list_steps',),
    'turn_end': ('get_turn_end',),
    'view': ('get_view', 'get_memory', 'get_transcript', 'get_usage', 'get_report'),
    'watch': ('watch', 'watch_runs'),
    'workspaces': ('list_files', 'list_snapshot', 'get_content', 'get_archive', 'list_changes'),
    'write_note': ('write_note', 'change_note'),
}
"""The operations for each action."""
INSIDE = {
    'clock': 'the process has it',
    'close': 'the server ends by its signal',
    'feed': 'streams read it',
    'journal': 'each of its readings is a action of its own',
    'recordings': 'they go with their runs',
    'sandbox': 'agents and tools use it',
    'services': 'activities use them',
}
"""Members that are not actions of a caller, and why."""


async def test_every_method_of_the_facade_has_a_route(conductor: Conductor, app: FastAPI):
    public = {name for name in dir(conductor) if not name.startswith('_')}
    assert public - set(ROUTES) - set(INSIDE) == set(), 'has no route: add one, or say why not'
    assert (set(ROUTES) | set(INSIDE)) - public == set(), 'is no action any more'
    named = {operation for done in ROUTES.values() for operation in done}
    served = {
        operation['operationId'] for path in app.openapi()['paths'].values() for operation in path.values()
    }
    assert named - served == set()


async def test_operations_have_readable_names_and_summaries(app: FastAPI):
    for path, operations_of in app.openapi()['paths'].items():
        for method, operation in operations_of.items():
            where = f'{method} {path}'
            assert operation['operationId'].isidentifier(), where
            assert operation['tags'], where
            assert operation['description'].endswith(('.', '?')), where
            assert {'401', '403', '409', '422', '500', '503'} <= set(operation['responses']), where


FILES = {'check': 'what `save_test` gives', 'import_bundle': 'what `export_bundle` gives'}
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
    for path, operations_of in app.openapi()['paths'].items():
        answer = await http.options(path)
        named = {method.lower() for method in answer.headers['Allow'].split(', ')}
        assert (answer.status_code, named) == (204, {*operations_of, 'options'}), path
    refused = await http.put('/runs')
    assert (refused.status_code, refused.headers['Allow']) == (405, 'GET, OPTIONS, POST')
    assert (await http.options('/nothing')).status_code == 404


async def test_a_line_break_in_a_path_is_answered_with_a_problem(http: httpx.AsyncClient):
    for path in ('/runs%0A', '/tools/a%0Ab', '/%0A'):
        answer = await http.get(path)
        assert (answer.status_code, answer.headers['content-type']) == (404, 'application/problem+json'), path
        assert answer.json()['type'] == 'urn:hemicycle:not-found', path
