"""A connection to an MCP server: opened when needed, kept open, and reopened if lost."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import Context
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from engine.errors import ToolError
from engine.records.jsonable import clip, describe_error, unwrap_error
from engine.tools.mcp.asking import CURRENT, AskingCall
from engine.tools.mcp.config import MAX_MESSAGE_BYTES, McpServer
from engine.tools.mcp.connection_errors import (
    CLOSED,
    SESSION_ENDED,
    UNKNOWN,
    ConnectionLost,
    SessionEnded,
    error_text,
    is_closed,
)
from engine.tools.mcp.line_limit import ENCODING, line_problem
from engine.tools.mcp.token_file import TokenFile

if TYPE_CHECKING:
    from mcp import Client, types
    from mcp.client import Transport
    from mcp.client.session import ClientRequestContext

    from engine.tools.mcp.oauth import StoredSignIn

T = TypeVar('T')
LISTEN_RETRY_SECONDS = 1.0
"""Seconds between attempts to listen for changes."""
CLOSE_SECONDS = 8.0
"""Seconds that a server has to exit; after that, it is abandoned even if still alive."""
MAX_STDERR = 600
"""Maximum characters shown of a program's standard error."""
MAX_ERROR = 4_000
"""Maximum characters of an error."""


class McpSession:
    """The connection to one server.

    The package requires that a connection is closed by the task that opened it, so each has its own task.

    Args:
        server: its configuration.
        changed: called when the server reports that its tools have changed.
        tokens: the tokens from signing in, if the server requires it.
    """

    def __init__(
        self, server: McpServer, changed: Callable[[], None], tokens: TokenFile | None = None
    ) -> None:
        self._server, self._changed, self._tokens = server, changed, tokens
        self.calls: list[AskingCall] = []
        """Calls in progress."""
        self.has_ambiguous_questions = False
        """Whether there was a question that could have come from calls of several runs."""
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._lock = asyncio.Lock()
        self._errors = ''
        self._broken = ''
        """Why the connection was closed, if known."""

    @property
    def name(self) -> str:
        """The server's name."""
        return self._server.name

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return bool(self._task and not self._task.done() and self._ready and self._ready.done())

    async def client(self) -> Client:
        """Return the open connection, opening it if necessary. Raises `ConnectionLost`."""
        async with self._lock:
            if self._task is None or self._task.done() or self._ready is None:
                self._ready = asyncio.get_running_loop().create_future()
                name = f'mcp:{self._server.name}'  # Own context: it outlives the call that opens it.
                self._task = asyncio.create_task(
                    self._serve_connection(self._ready), name=name, context=Context()
                )
            ready = self._ready
            try:
                async with asyncio.timeout(self._server.start):
                    return await asyncio.shield(ready)
            except TimeoutError:
                await self.close()
                raise self.connection_error(
                    f'it did not answer within {self._server.start:g} seconds'
                ) from None
            except BaseException:
                if not ready.done():  # The caller was cancelled: the next one starts over.
                    await self.close()
                raise

    async def use(self, what: Callable[[Client], Awaitable[T]], *, repeatable: bool) -> T:
        """Use the connection; if it is broken, the next use opens a new one.

        Args:
            what: the operation.
            repeatable: whether the operation may be repeated if the connection breaks meanwhile.

        Raises:
            ToolError: the server's error; `ConnectionLost` if the connection broke.
        """
        client = await self.client()
        try:
            return await self._use(client, what)
        except ConnectionLost as error:
            if not (repeatable or isinstance(error, SessionEnded)):
                raise
        return await self._use(await self.client(), what)

    async def _use(self, client: Client, what: Callable[[Client], Awaitable[T]]) -> T:
        """Use a connection. Only errors of the connection itself close it, because it is shared."""
        from mcp.shared.exceptions import MCPError

        from engine.tools.mcp.http_client import BROKEN_OFF

        task = self._task
        try:
            return await what(client)
        except (ToolError, asyncio.CancelledError):
            raise
        except MCPError as error:
            message, code = error_text(error), error.code
            lost = is_closed(error)
        except Exception as error:
            message, code, lost = f'its answer cannot be parsed: {describe(error)}', 0, False
        if lost or (task is not None and task.done()):
            await self._close(task)
            raise self.connection_error(f'{self._broken or "the connection was lost"}; {UNKNOWN}')
        if message == SESSION_ENDED:
            await self._close(task)
            raise SessionEnded(self._name_server('it has ended the session'))
        if self._server.url and (code == BROKEN_OFF or (code == CLOSED and message.startswith(STREAM_ENDED))):
            raise ConnectionLost(self._name_server(f'{message}; {UNKNOWN}'))
        raise ToolError(self._name_server(message))

    async def close(self) -> None:
        """Close the connection, and stop the program if one was started."""
        await self._close(self._task)

    async def _close(self, task: asyncio.Task[None] | None) -> None:
        """Close a connection, unless it has already been replaced."""
        if task is not self._task:
            return
        self._task = self._ready = None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task}, timeout=CLOSE_SECONDS)

    async def _serve_connection(self, ready: asyncio.Future[Client]) -> None:
        self._broken = ''
        try:
            async with AsyncExitStack() as stack:
                client = await self._open(stack)
                if not ready.done():
                    ready.set_result(client)
                await self._watch_tools(client)
        except BaseException as error:
            if not ready.done():
                reason = self._broken or describe(error)
                if isinstance(unwrap_error(error), FileNotFoundError) and not self._server.url:
                    reason = f'there is no program {self._server.command!r}'
                ready.set_exception(
                    self.connection_error(
                        reason if reason.startswith(WANTED) else f'it cannot be reached: {reason}'
                    )
                )
                ready.exception()  # The caller may have given up waiting.
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _open(self, stack: AsyncExitStack) -> Client:
        # Importing takes a while, and must not block the event loop.
        await asyncio.to_thread(importlib.import_module, 'mcp')
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        from engine.tools.mcp.http_client import HttpClient
        from engine.tools.mcp.incoming import repairing
        from engine.tools.mcp.tasks import Tasks

        logging.getLogger('mcp').setLevel(logging.CRITICAL)  # `ConnectionLost` reports the error, once.
        server = self._server
        transport: Transport
        if server.url:
            http = await stack.enter_async_context(HttpClient(dict(server.headers), self._auth()))
            transport = streamable_http_client(
                server.url, http_client=http, max_sse_event_size=MAX_MESSAGE_BYTES
            )
        else:
            parameters = StdioServerParameters(
                command=server.command,
                args=list(server.args),
                env=dict(server.env),
                cwd=server.folder,
                encoding=ENCODING,
                encoding_error_handler='replace',  # Otherwise one invalid byte ends the connection.
            )
            errors = await stack.enter_async_context(self._capture_errors())
            transport = stdio_client(parameters, errlog=errors)
        client: Client = Client(
            repairing(transport, lambda: client.session.protocol_version),
            message_handler=self._on_message,
            cache=None,
            extensions=[Tasks(server.task_seconds)],
            elicitation_callback=self._ask,
        )
        return await stack.enter_async_context(client)

    async def _ask(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Pass a question to its call; older servers do not say which call it belongs to."""
        from mcp import types

        call = CURRENT.get(None)
        busy = [other for other in self.calls if not other.is_waiting] or self.calls
        if call is None and len({other.run for other in busy}) == 1:
            call = busy[0]
        if call is None:
            self.has_ambiguous_questions = bool(busy)
            return types.ElicitResult(action='cancel')
        return await call.answer(params)

    def _auth(self) -> StoredSignIn | None:
        from engine.tools.mcp.oauth import SIGN_IN, stored_sign_in

        if self._tokens is None:
            return None
        if not self._tokens.read().get('tokens'):
            raise ToolError(SIGN_IN % self._server.name)
        return stored_sign_in(self._server, self._tokens)

    async def _watch_tools(self, client: Client) -> None:
        """Wait for changes to the tools; return when the connection is known to be closed."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._changed()
            except SubscriptionLost:
                self._changed()
            except ListenNotSupportedError:
                break
            except MCPError as error:
                if is_closed(error):
                    return
                break
            await asyncio.sleep(LISTEN_RETRY_SECONDS)
        await asyncio.Event().wait()  # An older server: it sends notifications instead.

    async def _on_message(self, message: Any) -> None:
        if getattr(message, 'method', '') == 'notifications/tools/list_changed':
            self._changed()
        elif (problem := line_problem(message)) and self._task:
            self._broken = problem
            self._task.cancel()

    @asynccontextmanager
    async def _capture_errors(self) -> AsyncIterator[TextIO]:
        """Yield a file for a program's standard error; the end of the output is kept."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        reading, writing = os.pipe()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, 'rb')
        )
        self._errors = ''
        keeping = asyncio.create_task(self._read_errors(reader))
        try:
            with os.fdopen(writing, 'w') as file:
                yield file
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            transport.close()

    async def _read_errors(self, reader: asyncio.StreamReader) -> None:
        while piece := await reader.read(4096):
            self._errors = (self._errors + piece.decode('utf-8', 'replace'))[-MAX_STDERR:]

    def connection_error(self, problem: str) -> ConnectionLost:
        """Return the error, with the server's name and the last output of its program."""
        errors = self._errors.strip()
        return ConnectionLost(self._name_server(f'{problem}; it wrote: {errors}' if errors else problem))

    def hide(self, text: str) -> str:
        """Remove the server's secrets and tokens from text."""
        hidden = self._server.hide(text)
        return self._tokens.secret_filter.redact_text(hidden) if self._tokens else hidden

    def _name_server(self, problem: str) -> str:
        return f'MCP server {self._server.name}: {clip(self.hide(problem), MAX_ERROR)}'


async def open_once(server: McpServer, auth: StoredSignIn) -> None:
    """Connect to a server once in order to sign in."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from engine.tools.mcp.http_client import BoundedClient
    from engine.tools.mcp.incoming import repairing

    logging.getLogger('mcp').setLevel(logging.CRITICAL)
    async with BoundedClient(dict(server.headers), auth) as http:
        transport = streamable_http_client(server.url, http_client=http, max_sse_event_size=MAX_MESSAGE_BYTES)
        async with Client(
            repairing(transport, lambda: client.session.protocol_version), cache=None
        ) as client:
            await client.list_tools()


def describe(error: BaseException) -> str:
    """Describe the innermost error of a group; the first of several."""
    return describe_error(unwrap_error(error)).removeprefix('MCPError: ')  # Added by the package.


WANTED = 'you have to sign in to it'
STREAM_ENDED = 'SSE stream'
"""The start of the package's message for an interrupted response."""
