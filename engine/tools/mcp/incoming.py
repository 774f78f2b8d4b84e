"""Messages of an MCP server, repaired for the package to read: a bad part fails only itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from engine.tools.mcp.listing import mark_invalid_tools

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

    Item = SessionMessage | Exception


class IncomingMessages:
    """The messages of a connection.

    Args:
        stream: the connection's own stream.
        version: returns the version of the protocol, once it is known.
    """

    def __init__(self, stream: ReadStream[Item], version: Callable[[], str | None]) -> None:
        self._stream, self._version = stream, version

    @property
    def last_context(self) -> Context | None:
        """The context of the last message's sender, by which the package finds the call it belongs to."""
        return getattr(self._stream, 'last_context', None)

    async def receive(self) -> Item:
        """Return the next message."""
        return self._repair(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __aiter__(self) -> IncomingMessages:
        """Return itself."""
        return self

    async def __anext__(self) -> Item:
        """Return the next message."""
        return self._repair(await self._stream.__anext__())

    async def __aenter__(self) -> IncomingMessages:
        """Enter the stream."""
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        """Leave the stream."""
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)

    def _repair(self, item: Item) -> Item:
        if isinstance(item, ValidationError):
            return _refuse(item) or item
        message = getattr(item, 'message', None)
        result = getattr(message, 'result', None)
        if isinstance(result, dict) and isinstance(result.get('tools'), list):
            message.result = mark_invalid_tools(result, self._version())  # type: ignore[union-attr]
        return item


def _refuse(error: ValidationError) -> SessionMessage | None:
    """Return an error for the call whose answer is no answer: it would be waited for in vain."""
    from mcp.shared.message import SessionMessage
    from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError

    problems = error.errors(include_url=False)
    answers: list[Mapping[str, Any]] = [
        problem['input'] for problem in problems if isinstance(problem['input'], Mapping)
    ]
    answer = next((answer for answer in answers if 'id' in answer and 'method' not in answer), None)
    if answer is None or type(answer['id']) not in (int, str):
        return None
    kind = 'JSONRPCResponse' if 'result' in answer else 'JSONRPCError'
    problem = next(problem for problem in problems if problem['loc'][:1] == (kind,))
    place = '.'.join(map(str, problem['loc'][1:]))
    refused = ErrorData(code=PARSE_ERROR, message=f'its answer cannot be parsed: {place}: {problem["msg"]}')
    return SessionMessage(JSONRPCError(jsonrpc='2.0', id=answer['id'], error=refused))


@asynccontextmanager
async def repairing(
    transport: Transport, version: Callable[[], str | None]
) -> AsyncIterator[TransportStreams]:
    """Open a transport whose messages are repaired."""
    async with transport as (reading, writing):
        yield IncomingMessages(reading, version), writing
