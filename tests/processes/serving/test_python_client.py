"""A client that `openapi-python-client` generates from the OpenAPI document, against the API."""

from __future__ import annotations

import json
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from engine import LocalConductor
from tests.support.api import serve_api, serve_app
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from tests.support.servers.pypi import install
from ui.app.backend import Backend

pytestmark = pytest.mark.long
VERSION = '0.29.1'
SETTINGS = {  # It knows bytes by one name.
    'content_type_overrides': dict.fromkeys(
        ['application/gzip', 'application/zip'], 'application/octet-stream'
    ),
    'post_hooks': [],
}


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def operations(tmp_path: Path, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The generated module of each operation, and `models` and `Client`; nothing is left out."""
    document, settings = tmp_path / 'openapi.json', tmp_path / 'settings.json'
    described = serve_api(backend).openapi()
    document.write_text(json.dumps(described))
    settings.write_text(json.dumps(SETTINGS))
    command = [
        install('openapi-python-client', VERSION) / 'openapi-python-client',
        'generate',
        '--meta',
        'none',
    ]
    paths = ['--path', document, '--config', settings, '--output-path', tmp_path / 'generated']
    ran = subprocess.run([*command, *paths], capture_output=True, text=True, timeout=120, check=True)
    assert 'WARNING' not in ran.stdout + ran.stderr and 'Unable' not in ran.stdout
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = {
        module.stem: import_module(f'generated.api.{module.parent.name}.{module.stem}')
        for module in (tmp_path / 'generated' / 'api').glob('*/*.py')
        if module.stem != '__init__'
    }
    named = {item['operationId'] for path in described['paths'].values() for item in path.values()}
    assert set(modules) == named
    return modules | {
        'models': import_module('generated.models'),
        'Client': import_module('generated').Client,
    }


async def test_a_generated_client_launches_follows_and_checks_a_run(
    operations: dict[str, Any], backend: Backend
) -> None:
    models = operations['models']
    async with LocalConductor(catalog=catalog(FakeModel(pipeline_reply), Lone)) as conductor:
        backend.open(conductor)
        async with (
            serve_app(serve_api(backend)) as address,
            operations['Client'](base_url=address, raise_on_unexpected_status=True) as client,
        ):

            async def call(operation: str, *path: str, **values: Any) -> Any:
                return await operations[operation].asyncio(*path, client=client, **values)

            body = {
                'pattern': 'pipeline',
                'parameters': {'task': 'Compare tea and coffee'},
                'tags': ['drinks'],
            }
            run = (await call('start', body=models.NewRun.from_dict(body))).id
            assert (await call('get_result', run, wait=30.0)).status == 'done'
            streamed = await call('watch', run)
            assert 'event: step' in streamed and 'event: end' in streamed
            steps = await call('list_steps', run)
            assert steps.items[0].event.name == 'start' and steps.items[0].time.tzinfo
            assert (await call('get_transcript', run))[0].messages
            saved = await call('save_test', run)
            checked = await call('check', body=models.ExperimentFileInput.from_dict(saved.to_dict()))
            (tested,) = checked.runs
            assert tested.misses == [] and tested.steps == len(steps.items), checked
            await call('annotate', run, body=models.Annotations(starred=True))
            kept = await call('get_run', run)
            assert kept.starred and kept.tags == ['drinks']  # what it was not told to change
            spec = models.ScheduleSpecInput(cron=['0 9 * * *'])
            action = models.LaunchInput(pattern='lone')
            schedule = await call(
                'add_schedule', body=models.ScheduleInput(name='Daily', action=action, spec=spec)
            )
            assert schedule.spec.start is None
            assert (await call('get_run', 'nothing')).type_ == 'urn:hemicycle:unknown-run'
