"""What is lost of an MCP server: a connection, a session, or a call of which nobody knows the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import ToolError

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

UNKNOWN = 'whether the call was carried out is not known'
CLOSED, CLOSED_SAID = -32000, 'Connection closed'
"""The package's code and words for a closed connection."""
SESSION_ENDED = 'Session terminated'


class ConnectionLost(ToolError):
    """There is no connection, or it broke."""

    retryable = True


class SessionEnded(ConnectionLost):
    """The server has ended the session, and has not carried out the call."""


def is_closed(error: MCPError) -> bool:
    """Whether the connection is gone: servers use the code for any error of theirs."""
    return error.code == CLOSED and error.message == CLOSED_SAID
