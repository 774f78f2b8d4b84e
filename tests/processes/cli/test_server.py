"""Commands that use a server: the one they name, or the one that serves their database."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client

from tests.browser.server import Server
from tests.support import forkserver
from tests.support.charts.ticking import write_ticking
from tests.tree import ROOT

pytestmark = pytest.mark.slow
ORIGIN = 'https://tool.example'
TASK = ('--task', 'Compare tea and coffee')


@pytest.fixture(scope='module')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp('server')
    server = Server(folder, patterns=write_ticking(folder, ticks=3, seconds=0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('HEMICYCLE_ORIGINS', ORIGIN)
        server.start()
    yield server
    server.stop()


def hemicycle(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {'PATH': '/usr/bin:/bin', 'HEMICYCLE_HOME': str(home), 'HEMICYCLE_PACE': '0'}
    return forkserver.run(list(arguments), environment)


def read_lines(result: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_waiting_run_is_left_to_the_server_quietly(tmp_path: Path):
    server = Server(tmp_path)
    server.start()
    result = hemicycle('run', 'pipeline', *TASK, '--approvals', 'all', '--server', server.url, home=tmp_path)
    server.stop()
    assert 'is waiting for a person: approval' in result.stdout + result.stderr
    assert 'Traceback' not in result.stderr and 'asyncgen' not in result.stderr


def test_every_command_works_in_a_named_server(server: Server, tmp_path: Path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return hemicycle(*arguments, '--server', server.url, home=tmp_path)

    started = run('run', 'pipeline', *TASK, '--title', 'Tea', '--quiet')
    assert started.returncode == 0, started.stderr
    assert '# Tea' in started.stdout
    [info] = read_lines(run('runs', 'list', '--json'))
    assert info['title'] == 'Tea'
    assert 'done' in run('show', 'last').stdout
    assert run('runs', 'audit', 'last').returncode == 0
    assert run('runs', 'note', 'add', 'last', 'well', '--at', '1').returncode == 0
    assert run('runs', 'change', 'last', '--starred').returncode == 0
    out = tmp_path / 'tea.md'
    assert run('runs', 'export', 'last', '--markdown', '-o', str(out)).returncode == 0
    assert '# Tea' in out.read_text('utf-8')
    assert run('fork', 'rerun', 'last', '--quiet').returncode == 0
    assert len(read_lines(run('runs', 'list', '--json'))) == 2
    test_file = tmp_path / 'tea.yaml'
    assert run('test', 'save', 'last', str(test_file)).returncode == 0
    assert 'passed' in run('test', 'check', str(test_file)).stdout
    bundle = tmp_path / 'tea.jsonl.gz'
    assert run('runs', 'export', 'last', '--bundle', '-o', str(bundle)).returncode == 0
    assert 'already' in run('runs', 'import', str(bundle)).stdout
    assert run('runs', 'remove', 'last').returncode == 0
    assert len(read_lines(run('runs', 'list', '--json'))) == 1
    assert not (tmp_path / 'hemicycle.db').exists()


def test_a_pattern_that_only_the_server_has_is_listed_drawn_run_and_forked(server: Server, tmp_path: Path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return hemicycle(*arguments, '--server', server.url, home=tmp_path)

    assert hemicycle('pattern', 'draw', 'ticking', home=tmp_path).returncode == 2
    assert 'ticking' in run('pattern', 'list').stdout
    assert 'ticking' in [pattern['name'] for pattern in read_lines(run('pattern', 'list', '--json'))]
    assert 'working' in run('pattern', 'draw', 'ticking').stdout
    assert 'there is no such parameter' in run('pattern', 'draw', 'ticking', '--set', 'x=1').stderr
    started = run('run', 'ticking', '--quiet')
    assert started.returncode == 0, started.stderr
    forked = run('fork', 'start', 'last', '--at', '2', '--quiet')
    assert forked.returncode == 0, forked.stderr
    local = hemicycle('run', 'ticking', '--database', str(server.database), '--quiet', home=tmp_path)
    assert local.returncode == 0, local.stderr


def test_commands_delegate_to_the_server_of_their_database(server: Server, tmp_path: Path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return hemicycle(*arguments, '--database', str(server.database), home=tmp_path)

    assert run('run', 'pipeline', *TASK, '--title', 'handed over', '--quiet').returncode == 0
    [info] = read_lines(run('runs', 'list', '--search', 'handed', '--json'))
    result = hemicycle('runs', 'list', '--search', 'handed', '--json', '--server', server.url, home=tmp_path)
    assert read_lines(result) == [info]
    owner = httpx.get(f'{server.url}/api/v1/server').json()
    assert info['owner'] == owner['owner']
    paused = run('run', 'pipeline', *TASK, '--paused', '--title', 'held')
    assert paused.returncode == 4, paused.stderr
    assert run('resume', 'last', '--quiet').returncode == 0


def test_the_readme_launches_follows_and_answers_a_run(server: Server):
    readme = (ROOT / 'README.md').read_text('utf-8')
    [script] = [block for block in re.findall(r'```sh\n(.*?)```', readme, re.DOTALL) if 'curl' in block]
    script = script.replace('http://127.0.0.1:8080', server.url)
    # A stand-in for jq, which is not installed everywhere.
    field = 'python3 -c "import json, sys; told = json.load(sys.stdin); print({})"'
    script = script.replace("jq -r '.[].event'", field.format("' '.join(one['event'] for one in told)"))
    script = re.sub(r'jq -r \.(\w+)', lambda match: field.format(f"told['{match[1]}']"), script)
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert 'event: step' in done.stdout
    assert 'approve deny' in done.stdout
    assert '# Tea' in done.stdout


async def test_the_api_its_documentation_and_mcp_are_served_along_with_the_pages(server: Server):
    async with httpx.AsyncClient(base_url=server.url) as http:
        assert 'swagger-ui' in (await http.get('/api/v1/docs')).text
        bundle = await http.get('/api/v1/static-offline-docs/swagger-ui-bundle.js')
        assert bundle.status_code == 200
        data = (await http.get('/api/v1/openapi.json')).json()
        assert data['openapi'].startswith('3.1')
        assert (await http.get('/api/v1/nowhere')).json()['type'] == 'urn:hemicycle:not-found'
        foreign = await http.get('/api/v1/runs', headers={'Host': 'evil.example'})
        assert (foreign.status_code, foreign.json()['type']) == (400, 'urn:hemicycle:bad-request')
        cross = {'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors'}
        for origin, status in (('https://evil.example', 403), (ORIGIN, 200)):
            answer = await http.get('/api/v1/runs', headers={**cross, 'Origin': origin})
            assert answer.status_code == status
            assert answer.headers.get('access-control-allow-origin') == (origin if status == 200 else None)
            before = {**cross, 'Origin': origin, 'Access-Control-Request-Method': 'POST'}
            assert (await http.options('/mcp', headers=before)).status_code == status
            assert (await http.get('/', headers={**cross, 'Origin': origin})).status_code == 403
    async with Client(f'{server.url}/mcp') as client:
        assert 'pipeline' in [tool.name for tool in (await client.list_tools()).tools]


def test_a_missing_server_is_reported(tmp_path: Path):
    result = hemicycle('runs', 'list', '--server', 'nonsense', home=tmp_path)
    assert (result.returncode, 'server' in result.stderr) == (2, True)
