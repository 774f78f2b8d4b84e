"""Errors for the loss of an MCP connection or session, or of a call whose outcome is unknown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.errors import ToolError

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

UNKNOWN = 'whether the call was carried out is not known'
CLOSED, CLOSED_SAID = -32000, 'Connection closed'
"""The package's error code and message for a closed connection."""
SESSION_ENDED = 'Session terminated'
UNREADABLE = re.compile(
    r'(Failed to parse [\w ]+: )\d+ validation errors? for [^\n]*\n'
    r'(?:.*\nJSONRPCResponse\.)?([^\n ]*)\n? *([^\n]*?) \[type=.*',
    re.S,
)
"""The package's message for an answer that it cannot read, which holds pydantic's text."""


class ConnectionLost(ToolError):
    """There is no connection, or it broke."""

    retryable = True


class SessionEnded(ConnectionLost):
    """The server has ended the session without carrying out the call."""


def error_text(error: MCPError) -> str:
    """Return an error's message, on one line."""
    return UNREADABLE.sub(lambda match: match[1] + ': '.join(filter(None, match.groups()[1:])), error.message)


def is_closed(error: MCPError) -> bool:
    """Return whether the connection is closed; servers use the code for other errors, too."""
    return error.code == CLOSED and error.message == CLOSED_SAID
