"""A program by the types that `openapi-typescript` makes of the OpenAPI document, against the API."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from engine import LocalConductor
from tests.support.api import serve_api, serve_app
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from tests.support.servers.npm import install
from ui.app.backend import Backend

pytestmark = pytest.mark.long
VERSION = '7.13.0'
PROGRAM = Path(__file__).with_name('typescript_client.ts')
COMPILED = ['--strict', '--target', 'es2022', '--module', 'commonjs', '--lib', 'es2022,dom']
NODE = 'declare const process: { argv: string[] };\n'
"""What the program uses of Node.js, whose own types are a package."""


def run(*command: str | Path) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


async def test_a_typed_program_launches_and_reads_a_run(tmp_path: Path) -> None:
    programs, backend = install('openapi-typescript', VERSION) / '.bin', Backend()
    document = tmp_path / 'openapi.json'
    document.write_text(json.dumps(serve_api(backend).openapi()))
    run(
        programs / 'openapi-typescript',
        document,
        '--default-non-nullable=false',  # fields with defaults may be left out of requests
        '--output',
        tmp_path / 'schema.ts',
    )
    (tmp_path / 'node.d.ts').write_text(NODE)
    program = Path(shutil.copy(PROGRAM, tmp_path))
    run(programs / 'tsc', *COMPILED, program, tmp_path / 'node.d.ts')
    async with LocalConductor(catalog=catalog(FakeModel(pipeline_reply), Lone)) as conductor:
        backend.open(conductor)
        async with serve_app(serve_api(backend)) as address:
            printed = await asyncio.to_thread(run, 'node', program.with_suffix('.js'), address)
    assert json.loads(printed) == {
        'status': 'done',
        'moments': True,
        'agents': True,
        'misses': 0,
        'tags': ['drinks'],
        'start': None,
        'problem': 'urn:hemicycle:unknown-run',
    }
