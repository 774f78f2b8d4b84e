"""Errors for the loss of an MCP connection or session, or of a call whose outcome is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import ToolError

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

UNKNOWN = 'whether the call was carried out is not known'
CLOSED, CLOSED_SAID = -32000, 'Connection closed'
"""The package's error code and message for a closed connection."""
SESSION_ENDED = 'Session terminated'


class ConnectionLost(ToolError):
    """There is no connection, or it broke."""

    retryable = True


class SessionEnded(ConnectionLost):
    """The server has ended the session without carrying out the call."""


def is_closed(error: MCPError) -> bool:
    """Return whether the connection is closed; servers use the code for other errors, too."""
    return error.code == CLOSED and error.message == CLOSED_SAID
