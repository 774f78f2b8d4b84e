"""OpenCode, a real third-party agent, in the sandbox, with a scripted provider."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Status
from engine.statechart.retry import Retry
from engine.tools.acp.known_agents import KNOWN_AGENTS, ExternalAgent
from engine.tools.acp.process import find_processes, kill_processes
from engine.workspace import Sandbox
from tests.processes.acp.conductor import conductor_with, lone
from tests.processes.acp.provider import Provider
from tests.support.harness import until, wait_for_state
from tests.support.servers.http_server import local
from tests.support.servers.npm import install

pytestmark = pytest.mark.long
VERSION = '1.18.33'
BY_IT = {'': 'agent:opencode'}
WORK = 'at_work'


@pytest.fixture(scope='module')
def program() -> Path:
    """The path of OpenCode, installed if it is missing."""
    return install('opencode-ai', VERSION) / '.bin' / 'opencode'


def opencode(program: Path, url: str, permission: str = '') -> ExternalAgent:
    provider = {'npm': '@ai-sdk/openai-compatible', 'options': {'baseURL': f'{url}/v1', 'apiKey': 'none'},
                'models': {'m': {'name': 'm'}}}  # fmt: skip
    settings = {
        'model': 'script/m', 'small_model': 'script/m', 'provider': {'script': provider},
        'autoupdate': False, 'share': 'disabled',
    }  # fmt: skip
    if permission:
        settings['permission'] = {'edit': permission, 'bash': permission}
    env = {'OPENCODE_CONFIG_CONTENT': json.dumps(settings), 'OPENCODE_DISABLE_MODELS_FETCH': '1'}
    return replace(KNOWN_AGENTS['opencode'], command=str(program), env=env, files=(), start=120.0, idle=120.0)


WRITE: tuple[str, dict[str, Any]] = ('write', {'filePath': '/workspace/hello.txt', 'content': 'hi there\n'})


async def test_it_asks_and_writes_a_file(program: Path, sandbox: Sandbox) -> None:
    with local(Provider(WRITE).reply) as provider:
        async with conductor_with(opencode(program, provider.url, 'ask')) as conductor:
            run = (await conductor.start('lone', models=BY_IT)).id
            view = await wait_for_state(conductor, run, f'{WORK}.approving')
            assert 'hello.txt' in view.agents[WORK]['messages'][-1]['parts'][-1]['arguments']
            await conductor.send(run, 'approve', at=f'{WORK}.approving')
            outcome = await asyncio.wait_for(conductor.result(run), 120)
            view = await conductor.view(run)
            files = {
                file.path: file.digest for file in await conductor.workspaces.files(run, view.files[WORK])
            }
            text = await conductor.workspaces.content(run, files['hello.txt'])
    assert outcome.status is Status.DONE and outcome.answer == 'All done.', outcome.error
    assert text == b'hi there\n'
    assert view.agents[WORK]['session']['loads']


async def test_a_denied_file_is_not_written(program: Path, sandbox: Sandbox) -> None:
    """OpenCode asks only if configured to, which `approvals="all"` does."""
    with local(Provider(WRITE).reply) as provider:
        async with conductor_with(opencode(program, provider.url)) as conductor:
            run = (await conductor.start('lone', models=BY_IT, approvals='all')).id
            await wait_for_state(conductor, run, f'{WORK}.approving')
            await conductor.send(run, 'deny', at=f'{WORK}.approving', data={'reason': 'no'})
            await asyncio.wait_for(conductor.result(run), 120)
            assert not (conductor.workspaces.of(run, WORK).folder / 'hello.txt').exists()


async def test_cancelling_during_a_command_leaves_nothing(program: Path, sandbox: Sandbox) -> None:
    sleep = (
        'bash',
        {'command': 'echo begun > begun.txt; sleep 1000', 'description': 'sleep', 'timeout': 900_000},
    )
    with local(Provider(sleep).reply) as provider:
        async with conductor_with(opencode(program, provider.url, 'allow')) as conductor:
            run = (await conductor.start('lone', models=BY_IT)).id
            await until((conductor.workspaces.of(run, WORK).folder / 'begun.txt').exists)
            await conductor.cancel(run, 'enough')
            await until(lambda: not find_processes(f'{run}/{WORK}'))


async def test_a_session_killed_during_a_command_is_resumed(program: Path, sandbox: Sandbox) -> None:
    command = 'test -e begun.txt || { echo > begun.txt; sleep 1000; }'
    hangs = ('bash', {'command': command, 'description': 'once', 'timeout': 900_000})
    pattern = lone(retry=Retry(attempts=3, delay=0.01))
    with local(Provider(hangs).reply) as provider:
        async with conductor_with(opencode(program, provider.url, 'allow'), pattern) as conductor:
            run = (await conductor.start('lone', models=BY_IT)).id
            await wait_for_state(conductor, run, f'{WORK}.using_tools')
            await until((conductor.workspaces.of(run, WORK).folder / 'begun.txt').exists)
            before = (await conductor.view(run)).agents[WORK]['session']
            kill_processes(f'{run}/{WORK}')
            outcome = await asyncio.wait_for(conductor.result(run), 120)
            after = (await conductor.view(run)).agents[WORK]['session']
            assert outcome.answer == 'All done.', outcome.error
            assert after['id'] == before['id'] and await conductor.audit(run)
