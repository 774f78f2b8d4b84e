"""Permissions of the MCP server: each tool for each role, over HTTP with a token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Route

from engine import Conductor
from engine.operations import Role
from tests.api.conftest import serve_mcp
from ui.api.mcp.over_http import McpOverHttp
from ui.app.access.access import Access
from ui.app.access.http import RequireLogin
from ui.app.backend import Backend

READS = frozenset(
    {
        'get_run', 'list_runs', 'get_experiment', 'list_experiments',
        'list_charts', 'get_chart', 'check_chart', 'list_chart_versions',
    }
)  # fmt: skip
"""Tools that a viewer may use."""
STEERS = frozenset(
    {
        'answer_run', 'approve_run', 'deny_run', 'cancel_run', 'fork_run',
        'start_experiment', 'pause_experiment', 'resume_experiment', 'cancel_experiment',
        'save_chart', 'restore_chart', 'remove_chart',
    }
)  # fmt: skip


@pytest.fixture
async def url(backend: Backend, access: Access) -> AsyncIterator[str]:
    app = McpOverHttp(backend)
    served = RequireLogin(Starlette(routes=[Route('/mcp', app)]), lambda: backend.access)
    async with serve_mcp(app, served) as url:
        yield url


async def token(access: Access, role: Role, account: str = 'admin') -> dict[str, str]:
    """The header with a new token of that scope."""
    secret = (await access.accounts.add_token(account, 'test', role, 1)).secret
    return {'Authorization': f'Bearer {secret}'}


@asynccontextmanager
async def connect(url: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def arguments(schema: dict[str, Any], run: str) -> dict[str, Any]:
    """Return the required arguments of a tool, with the id of a run."""
    values: dict[str, Any] = {
        'run': run, 'event': 'approve', 'at': 1, 'task': 'Tea or coffee?', 'experiment': 'tea', 'name': 'Tea',
        'text': 'chart: tea', 'version': '1', 'dataset': 'tea', 'pattern': 'pipeline',
        'variants': [{'name': 'a'}], 'scorers': [{'name': 'done', 'kind': 'status'}],
    }  # fmt: skip
    return {name: values[name] for name in schema.get('required', ())}


@pytest.mark.parametrize('role', list(Role))
async def test_each_tool_requires_its_role(
    url: str, access: Access, conductor: Conductor, role: Role
) -> None:
    run = (await conductor.start('lone', paused=True)).id
    before, refused = (await conductor.runs()).total, set()
    async with connect(url, await token(access, role)) as client:
        tools = (await client.list_tools()).tools
        names = {tool.name for tool in tools}
        assert names == READS | STEERS | {'lone', 'pipeline'}, 'say here who may use the new tool'
        for tool in tools:
            result = await client.call_tool(tool.name, arguments(tool.input_schema, run))
            if result.is_error and result.content[0].text.startswith('this needs the role'):
                refused.add(tool.name)
    assert refused == (names - READS if role is Role.VIEWER else set())
    if role is Role.VIEWER:
        assert (await conductor.runs()).total == before
        assert (await conductor.info(run)).seq == 1


async def test_a_session_belongs_to_its_caller(url: str, access: Access, conductor: Conductor) -> None:
    run = (await conductor.start('lone', paused=True)).id
    hello = {
        'protocolVersion': '2025-06-18',
        'capabilities': {},
        'clientInfo': {'name': 'test', 'version': '1'},
    }
    own = {'Accept': 'application/json, text/event-stream'}
    async with httpx.AsyncClient(headers=own) as http:
        admin, viewer = await token(access, Role.ADMIN), await token(access, Role.VIEWER)
        first = {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': hello}
        begun = await http.post(url, json=first, headers=admin)
        session = {'Mcp-Session-Id': begun.headers['mcp-session-id']}
        ready = {'jsonrpc': '2.0', 'method': 'notifications/initialized'}
        assert (await http.post(url, json=ready, headers=admin | session)).status_code == 202
        cancel = {'name': 'cancel_run', 'arguments': {'run': run}}
        call = {'jsonrpc': '2.0', 'id': 2, 'method': 'tools/call', 'params': cancel}
        stolen = await http.post(url, json=call, headers=viewer | session)
        assert 'this needs the role operator' in stolen.text
        assert not (await conductor.info(run)).status.ended
        await http.post(url, json=call, headers=admin | session)
        assert (await conductor.info(run)).status.ended
