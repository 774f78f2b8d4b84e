"""Generated requests against the whole schema: no server error, and no answer outside the schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from engine import LocalConductor
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from ui.api.app import build_api
from ui.api.dependencies import EVENT_STREAM
from ui.api.operations.examples import TAGS
from ui.app.backend import Backend

if TYPE_CHECKING:  # Slow to import: only in the workers that run these tests.
    import schemathesis
    from schemathesis.schemas import BaseSchema

GENERATED: dict[str, Any] = {'phases': {'coverage': {'enabled': False}}}
COVERAGE: dict[str, Any] = {
    # One method that an operation does not have stands for all: the router refuses them.
    'phases': {'coverage': {'unexpected-methods': ['TRACE']}},
    # Its body is the protocol's own model, whose thousand ways to be wrong are refused before our code.
    'operations': [
        {'include-path': '/agui/{pattern}', 'phases': {'coverage': {'generation': {'mode': 'positive'}}}}
    ],
}
EVENT = {
    'schema': {'type': 'object', 'properties': {'retry': {'type': 'integer'}, 'data': {'type': 'string'}}}
}
STREAM = '/events'
"""It never ends: `test_streams` covers it."""
SETTINGS = settings(
    max_examples=3,  # of each operation; coverage adds what its schema implies: range limits, missing fields
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Served:
    """A conductor and its API on an event loop that all requests share."""

    def __init__(self) -> None:
        model = FakeModel(pipeline_reply)
        self.conductor, backend = LocalConductor(catalog=catalog(model, Lone)), Backend()
        backend.open(self.conductor)
        self.app = build_api(backend)
        self.run = asyncio.run(self.prepare())

    async def prepare(self) -> str:
        """An ended run, for requests that name one."""
        run = (await self.conductor.start('pipeline', {'task': 'Compare tea and coffee'})).id
        await self.conductor.result(run)
        return run


@pytest.fixture(scope='module')
def served() -> Iterator[Served]:
    served = Served()
    yield served
    asyncio.run(served.conductor.close())


@pytest.fixture(params=[name for name, _ in TAGS])
def schema(served: Served, configuration: dict[str, Any], request: pytest.FixtureRequest) -> BaseSchema:
    """The operations of one tag; their requests are generated only when tested, since there are thousands."""
    import schemathesis

    # Schemathesis checks each event of a stream against the schema, not the stream.
    text = json.dumps(served.app.openapi())
    document = json.loads(text.replace(json.dumps(EVENT_STREAM), json.dumps({'text/event-stream': EVENT})))
    paths = {
        path: {
            method: operation
            for method, operation in operations.items()
            if request.param in operation['tags'] and (method, path) != ('get', STREAM)
        }
        for path, operations in document['paths'].items()
    }
    schema = schemathesis.openapi.from_dict(
        {**document, 'paths': paths}, config=schemathesis.config.SchemathesisConfig.from_dict(configuration)
    )
    schema.app = served.app
    return schema


@pytest.mark.parametrize(
    'configuration',
    [pytest.param(GENERATED, id='generated'), pytest.param(COVERAGE, id='coverage', marks=pytest.mark.long)],
)
def test_no_request_breaks_the_server(schema: BaseSchema, served: Served, subtests: pytest.Subtests) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.pytest.lazy import get_all_tests
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = (
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    )

    def check(case: schemathesis.Case) -> None:
        if 'run' in case.path_parameters and len(str(case.path_parameters['run'])) % 2:
            case.path_parameters['run'] = served.run  # Half of the requests name an existing run.
        case.call_and_validate(checks=checks)

    for item in get_all_tests(schema=schema, test_func=check, settings=SETTINGS, given_kwargs=None):
        operation, test = item.ok()
        with subtests.test(operation.label):
            test()
