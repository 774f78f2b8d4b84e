"""Codex, a real third-party agent, in our sandbox in place of its own: it runs commands and asks nobody."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Status
from engine.tools.acp.known_agents import KNOWN_AGENTS
from engine.workspace import Sandbox
from tests.processes.acp.conductor import conductor_with
from tests.support.servers.http_server import Answer, local
from tests.support.servers.npm import install

pytestmark = pytest.mark.long
WORK = 'at_work'


@pytest.fixture(scope='module')
def program() -> Path:
    """The path of Codex's adapter, installed with Codex if it is missing."""
    return install('@agentclientprotocol/codex-acp', '2.6.0') / '.bin' / 'codex-acp'


def reply(method: str, path: str, body: Any) -> Answer:
    """A provider (OpenAI's responses) that runs one command, repeats its output, and is done."""
    if not path.startswith('/v1/responses'):
        return 404, {}, b'{"error": {"message": "there is nothing here"}}'
    outputs = [item['output'] for item in body['input'] if item.get('type') == 'function_call_output']
    item: dict[str, Any] = {
        'type': 'function_call', 'id': 'fc_1', 'call_id': 'call_1', 'name': 'exec_command',
        'arguments': json.dumps({'cmd': 'echo hi > hello.txt'}), 'status': 'completed',
    }  # fmt: skip
    if outputs:
        content = [{'type': 'output_text', 'text': f'All done: {outputs[-1]}', 'annotations': []}]
        item = {
            'type': 'message', 'id': 'm_1', 'role': 'assistant', 'status': 'completed', 'content': content,
        }  # fmt: skip
    events = [
        {'type': 'response.created', 'response': {'id': 'r_1'}},
        {'type': 'response.output_item.done', 'output_index': 0, 'item': item},
        {'type': 'response.completed', 'response': {'id': 'r_1', 'status': 'completed', 'output': [item]}},
    ]
    lines = [f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in events]
    return 200, {'Content-Type': 'text/event-stream'}, ''.join(lines).encode()


async def test_it_runs_a_command_and_asks_nobody(program: Path, sandbox: Sandbox) -> None:
    with local(reply) as provider:
        mine = {'name': 'mine', 'base_url': f'{provider.url}/v1', 'wire_api': 'responses'}
        settings = {
            'model': 'gpt-5.1', 'model_provider': 'mine',
            'model_providers': {'mine': {**mine, 'env_key': 'OPENAI_API_KEY'}},
        }  # fmt: skip
        env = {'CODEX_CONFIG': json.dumps(settings), 'OPENAI_API_KEY': 'none'}
        codex = replace(KNOWN_AGENTS['codex'], command=str(program), env=env, files=(), start=120.0)
        async with conductor_with(codex) as conductor:
            run = (await conductor.start('lone', models={'': 'agent:codex'})).id
            outcome = await asyncio.wait_for(conductor.result(run), 120)
            assert outcome.status is Status.DONE, outcome.error
            assert 'exited with code 0' in outcome.answer
            assert (conductor.workspaces.of(run, WORK).folder / 'hello.txt').read_text() == 'hi\n'
