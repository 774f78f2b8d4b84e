"""The small MCP server: how it is started and connected to, and an agent with its tools."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from engine import Catalog, Pattern
from engine.agents.chart import agent
from engine.configuration import load_configuration
from engine.tools.mcp.config import McpServer
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool
from tests.support.harness import FakeModel, catalog

PROGRAM = str(Path(__file__).with_name('server.py'))
SMALL = f'[mcp.small]\ncommand = "{sys.executable}"\nargs = ["{PROGRAM}", "stdio"]\nstart = 60\n'


class Remote(Pattern):
    """An agent with the tools of a server."""

    initial = 'working'
    answer = 'said'
    states = [
        agent('working', prompt='ask', then='keep', tools=('mcp:small',)),
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'working', 'over'], ['failed', 'working', 'lost']]

    class Memory(Pattern.Memory):  # type: ignore[name-defined, misc]
        said: str = ''

    def ask(self, memory: Any) -> str:
        return 'do it'

    def keep(self, memory: Any, event: Any) -> None:
        memory.said = event.data['text'].strip()


def remote(model: FakeModel, file: Path, **environment: str) -> Catalog:
    """Return a catalog with that agent and this model; `file` configures the servers."""
    own_catalog = catalog(model, Remote)
    return Catalog(
        patterns=own_catalog.patterns,
        models=own_catalog.models,
        configuration=load_configuration(file, environment),
    )


@contextlib.asynccontextmanager
async def connect(server: McpServer) -> AsyncIterator[tuple[McpServers, dict[str, Tool]]]:
    """Connect to one server, and find its tools."""
    tools: dict[str, Tool] = {}
    servers = McpServers({server.name: server}, tools)
    try:
        yield servers, tools
    finally:
        await servers.close()
