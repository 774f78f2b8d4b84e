"""A connection to an MCP server: which errors end it, and which fail only one call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from engine.tools.mcp.config import McpServer
from engine.tools.mcp.connection_errors import CLOSED, CLOSED_SAID
from engine.tools.mcp.session import McpSession


class Refusing:
    """A client whose server refuses to report changes."""

    def __init__(self, message: str) -> None:
        self._message = message

    def listen(self, **_: bool) -> Any:
        raise MCPError(CLOSED, self._message)


@pytest.mark.parametrize(('message', 'is_over'), [(CLOSED_SAID, True), ('too many subscriptions', False)])
async def test_only_a_lost_connection_ends_the_listening(message: str, is_over: bool) -> None:
    """Servers also use the package's error code for errors that leave the connection open."""
    session = McpSession(McpServer(name='small', command='true'), lambda: None)
    listening = asyncio.create_task(session._watch_tools(Refusing(message)))  # type: ignore[arg-type]
    for _ in range(3):
        await asyncio.sleep(0)
    assert listening.done() is is_over
    listening.cancel()
