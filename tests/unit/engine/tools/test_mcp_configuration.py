"""MCP without a server: names of tools, valid settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mcp import types

from engine.configuration import load_configuration
from engine.tools.mcp.config import McpServer
from engine.tools.mcp.listing import sanitize
from engine.tools.mcp.remote_tool import RemoteTool
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool

KEY = 'k-very-secret-1234'


@pytest.mark.parametrize('tool', ['read', 'read file', 'a.b/c', 'ü', 'x' * 200, 'y' * 58, ''])
def test_names_are_valid_for_every_provider(tool: str) -> None:
    name = sanitize('files', tool)
    assert re.fullmatch(r'[A-Za-z0-9_-]{1,64}', name)
    assert name == f'files_{tool}' or re.search('_[0-9a-f]{8}$', name)


def test_colliding_names_are_distinguished() -> None:
    assert sanitize('files', 'read', {'files_read'}) != 'files_read'
    assert len({sanitize('files', tool) for tool in ('a b', 'a.b', 'a_b', 'x' * 70, 'x' * 71)}) == 5
    imitation = sanitize('files', 'a b').removeprefix('files_')
    assert sanitize('files', imitation) != sanitize('files', 'a b')


async def test_the_order_of_the_configuration_does_not_change_names() -> None:
    def find_names(*servers: str) -> set[tuple[str, str]]:
        tools: dict[str, Tool] = {}
        configured = McpServers({name: McpServer(name=name, command='true') for name in servers}, tools)
        for name in servers:
            listed = types.Tool(name={'a': 'b_c', 'a_b': 'c'}[name], input_schema={'type': 'object'})
            configured._register_tools(configured._known[name], [listed])
        return {(name, tool.origin) for name, tool in tools.items() if isinstance(tool, RemoteTool)}

    assert find_names('a', 'a_b') == find_names('a_b', 'a')


def test_servers_are_configured_next_to_endpoints(tmp_path: Path) -> None:
    file = tmp_path / 'endpoints.toml'
    file.write_text(
        '[mcp.files]\ncommand = "npx"\nargs = ["-y", "files"]\ntools = ["read_*"]\napprovals = "all"\n'
        '[mcp.web]\nurl = "https://mcp.example/mcp?x=1"\nheaders = {Authorization = "env:AUTH"}\n'
        '[mcp.lost]\ncommand = "x"\nenv = {TOKEN = "keyring:a/b"}\n[mcp.gone]\ncommand = "x"\noff = true\n'
    )
    settings = load_configuration(file, {'AUTH': f'Bearer {KEY}'}, lambda service, user: None)
    assert set(settings.servers) == {'files', 'web'}
    assert settings.missing_servers == {'lost': "the keyring has no password of 'b' for 'a'"}
    web = settings.servers['web']
    assert web.headers == {'Authorization': f'Bearer {KEY}'} and web.where == 'https://mcp.example/mcp'
    assert KEY not in repr(web) and web.hide(f'wrong: {KEY}') == 'wrong: [hidden]'
    assert settings.servers['files'].tools == ('read_*',)
