"""Signing in to an MCP server: once, in a browser; renewed automatically; tokens never shown."""

from __future__ import annotations

import json
import stat
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from mcp.client.auth import oauth2

from engine import ToolContext
from engine.configuration import load_configuration
from engine.errors import EngineError, ToolError
from engine.tools.mcp import oauth
from engine.tools.mcp.config import McpServer, OAuth
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool
from tests.support.mcp.oauth_server import REFRESH, RENEWED, TOKEN, Guarded, serve_guarded
from tests.support.mcp.pattern import connect


def using(
    server: Guarded, file: Path, **more: str
) -> AbstractAsyncContextManager[tuple[McpServers, dict[str, Tool]]]:
    settings = OAuth(file=file, **more)  # type: ignore[arg-type]
    return connect(McpServer(name='far', url=f'{server.url}/mcp', start=30.0, oauth=settings))


async def browse(url: str) -> None:
    """Acts as a person's browser."""
    async with httpx.AsyncClient(follow_redirects=True) as http:
        assert (await http.get(url)).status_code == 200


async def test_a_person_signs_in_once_and_tokens_are_kept(tmp_path: Path) -> None:
    file = tmp_path / 'oauth' / 'far.json'
    async with serve_guarded() as server:
        async with using(server, file) as (servers, tools):
            assert servers.last_health()[0].oauth
            before = await servers.test('far')
            assert (
                'you have to sign in to it: on the settings page, or with `hemicycle mcp-server sign-in far`'
                in before.problem
            )
            assert server.registered == [], 'nothing is registered before a person signs in'
            health = await servers.sign_in('far', browse)
            assert (health.problem, health.tools) == ('', ('far_whoami',))
            result = await tools['far_whoami'].run('', ToolContext(key='k'))
            assert result == 'you came with [hidden]'
            assert any(
                secret_filter.redact_text(REFRESH) == '[hidden]' for secret_filter in servers.secret_filters
            )
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        async with using(server, file) as (servers, tools):
            assert not (await servers.test('far')).problem, 'also after a restart'
        assert [grant['grant_type'] for grant in server.grants] == ['authorization_code']
        assert len(server.registered) == 1


async def test_a_token_is_renewed_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / 'far.json'
    async with serve_guarded() as server:
        async with using(server, file) as (servers, _):
            await servers.sign_in('far', browse)
        data = json.loads(file.read_text('utf-8'))
        file.write_text(json.dumps({**data, 'expires': 1.0}), 'utf-8')
        server.valid = {RENEWED}
        async with using(server, file) as (servers, _):
            assert not (await servers.test('far')).problem
        assert server.grants[-1]['grant_type'] == 'refresh_token'
        assert json.loads(file.read_text('utf-8'))['tokens']['access_token'] == RENEWED


async def test_a_rejected_token_asks_for_a_new_sign_in_without_waiting(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, tools):
        await servers.sign_in('far', browse)
        server.valid = set()
        await servers.close()
        with pytest.raises(ToolError, match='you have to sign in to it'):
            await tools['far_whoami'].run('', ToolContext(key='k'))


async def test_an_expired_sign_in_fails_calls_but_not_the_connection(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, tools):
        await servers.sign_in('far', browse)
        server.valid, server.resource = set(), {'resource': 'https://elsewhere.example/mcp'}
        for message in (
            'Protected resource https://elsewhere.example/mcp does not match',
            'you have to sign in',
        ):
            with pytest.raises(ToolError, match=f'^MCP server far: .*{message}') as caught:
                await tools['far_whoami'].run('', ToolContext(key='k'))
            assert 'not known' not in str(caught.value), 'no call was executed'
            assert servers.last_health()[0].connected
            server.resource = {}
        server.valid = {TOKEN}
        assert await tools['far_whoami'].run('', ToolContext(key='k')) == 'you came with [hidden]'


async def test_a_refused_sign_in_is_reported_and_keeps_no_token(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.refuses = True
        health = await servers.sign_in('far', browse)
        assert 'signing in failed: access_denied' in health.problem
        assert 'tokens' not in json.loads((tmp_path / 'far.json').read_text('utf-8'))


async def test_a_preregistered_client_is_used(tmp_path: Path) -> None:
    async with serve_guarded() as server:
        credentials = {'client_id': 'mine', 'client_secret': 'a-secret-of-mine'}
        async with using(server, tmp_path / 'far.json', **credentials) as (servers, _):
            assert not (await servers.sign_in('far', browse)).problem
        assert server.registered == []
        assert (server.grants[0]['client_id'], server.grants[0]['client_secret']) == (
            'mine',
            'a-secret-of-mine',
        )
        assert 'a-secret-of-mine' not in (tmp_path / 'far.json').read_text('utf-8')


async def test_sign_in_happens_only_when_a_server_asks(tmp_path: Path) -> None:
    servers = McpServers({'plain': McpServer(name='plain', url='http://127.0.0.1:9/mcp')}, {})
    assert 'set `oauth = true`' in (await servers.sign_in('plain', browse)).problem
    assert 'set `oauth = true`' in (await servers.sign_in('none', browse)).problem


FILE = """
[mcp.far]
url = "https://mcp.example/mcp"
oauth = true

[mcp.near]
url = "https://mcp.example/mcp"
oauth = {client_id = "mine", client_secret = "env:SECRET", scope = "read", port = 8123}
"""


def test_oauth_is_configured_briefly_or_in_detail(tmp_path: Path) -> None:
    path = tmp_path / 'endpoints.toml'
    path.write_text(FILE, 'utf-8')
    servers = load_configuration(path, {'SECRET': 'a-secret-of-mine'}).servers
    assert servers['far'].oauth == OAuth(file=tmp_path / 'oauth' / 'far.json')
    near = servers['near'].oauth
    assert near is not None and (near.client_id, near.scope, near.port) == ('mine', 'read', 8123)
    assert near.client_secret == 'a-secret-of-mine' and 'a-secret' not in repr(servers['near'])
    assert servers['near'].hide('a-secret-of-mine') == '[hidden]'
    assert load_configuration(path, {}).missing_servers == {
        'near': 'the environment variable SECRET is not set'
    }
    path.write_text('[mcp.x]\ncommand = "x"\noauth = true', 'utf-8')
    with pytest.raises(EngineError, match='oauth: only a server with a url'):
        load_configuration(path, {})


async def test_a_call_whose_token_cannot_be_renewed_was_certainly_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, 'EXCHANGE_SECONDS', 0.3)
    context = ToolContext(key='k')
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, tools):
        assert not (await servers.sign_in('far', browse)).problem
        later = SimpleNamespace(time=lambda: time.time() + 2 * server.lifetime)
        with monkeypatch.context() as patched:
            patched.setattr(oauth2, 'time', later)
            server.hangs = True
            with pytest.raises(ToolError, match='did not answer while signing in: ReadTimeout') as caught:
                await tools['far_whoami'].run('', context)
        assert 'MCP server far: 127.0.0.1' in str(caught.value) and 'not known' not in str(caught.value)
        assert 'you came with' in await tools['far_whoami'].run('', context)
