"""Generated requests against the whole schema: no server error, and no answer outside the schema."""

import asyncio
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from engine import Conductor
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from ui.api.app import build_api
from ui.web.backend import Backend

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
STREAM = '^/events$'
"""Without an end: tried in `test_streams`."""
EXAMPLES = 10
"""Requests for each operation."""


class Served:
    """A conductor and its API on an event loop that all requests share."""

    def __init__(self) -> None:
        model = FakeModel(pipeline_reply)
        self.conductor, backend = Conductor(catalog=catalog(model, Lone)), Backend()
        backend.open(self.conductor)
        self.app = build_api(backend)

    def prepare(self) -> dict[str, str]:
        """One run that has ended, for requests that name one."""

        async def work() -> str:
            run = (await self.conductor.start('pipeline', {'task': 'Compare tea and coffee'})).id
            await self.conductor.result(run)
            return run

        return {'run': asyncio.run(work())}


SERVED = Served()
KNOWN = SERVED.prepare()
schema = schemathesis.openapi.from_asgi('/openapi.json', SERVED.app).exclude(path_regex=STREAM, method='GET')


@pytest.fixture(autouse=True, scope='module')
def closed() -> Iterator[None]:
    yield
    asyncio.run(SERVED.conductor.close())


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_the_server(case: schemathesis.Case) -> None:
    if 'run' in case.path_parameters and len(str(case.path_parameters['run'])) % 2:
        case.path_parameters['run'] = KNOWN['run']  # Half of them about a run that exists.
    case.call_and_validate(checks=CHECKS)
