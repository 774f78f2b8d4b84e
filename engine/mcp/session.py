"""A connection to an MCP server: made when it is needed, kept, and made anew after it was lost."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from engine.errors import ToolError
from engine.mcp.server import Server
from engine.plain import said

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar('T')
AGAIN = 1.0
"""Seconds until news are asked for again."""
LEAVE = 8.0
"""Seconds that a server has to end; then it is left to itself, killed or not."""
MOST_SAID = 600
"""Characters of what a program wrote to its standard error that are shown."""
MOST_EVENT = 32 * 1024 * 1024
"""Bytes of one event of a server's stream."""


class Lost(ToolError):
    """There is no connection, or it broke."""

    retryable = True


class Session:
    """One server's connection.

    What the package opens must be closed by the task that opened it: a task of its own holds each connection.

    Args:
        server: as configured.
        changed: called when the server says that its tools are others now.
    """

    def __init__(self, server: Server, changed: Callable[[], None]) -> None:
        self._server, self._changed = server, changed
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._lock = asyncio.Lock()
        self._errors = ''

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as one knows."""
        return bool(self._task and not self._task.done() and self._ready and self._ready.done())

    async def client(self) -> Client:
        """The connection. Raises `Lost`."""
        async with self._lock:
            if self._task is None or self._task.done() or self._ready is None:
                self._ready = asyncio.get_running_loop().create_future()
                self._task = asyncio.create_task(self._hold(self._ready), name=f'mcp:{self._server.name}')
            ready = self._ready
            try:
                async with asyncio.timeout(self._server.start):
                    return await asyncio.shield(ready)
            except TimeoutError:
                await self.close()
                raise self.lost(f'it did not answer within {self._server.start:g} seconds') from None
            except BaseException:
                if not ready.done():  # Whoever wanted it was cancelled: the next one begins again.
                    await self.close()
                raise

    async def use(self, what: Callable[[Client], Awaitable[T]], *, again: bool) -> T:
        """Do something with the connection; where it proves to be broken, the next use makes another.

        Args:
            what: is done.
            again: whether it may be done twice, if the connection breaks meanwhile.

        Raises:
            ToolError: what the server said, in words; `Lost` where the connection broke.
        """
        client = await self.client()
        try:
            return await self._use(client, what)
        except Lost:
            if not again:
                raise
        return await self._use(await self.client(), what)

    async def _use(self, client: Client, what: Callable[[Client], Awaitable[T]]) -> T:
        from mcp.shared.exceptions import MCPError

        try:
            return await what(client)
        except MCPError as error:
            if error.code == CLOSED or (self._task is not None and self._task.done()):
                await self.close()
                problem = 'the connection was lost; whether the call was carried out is not known'
                raise self.lost(problem) from None
            raise ToolError(self._named(error.message)) from None
        except (ToolError, asyncio.CancelledError):
            raise
        except Exception as error:  # Answers that do not fit the protocol, broken pipes, HTTP: all end here.
            await self.close()
            raise self.lost(f'it answered with what cannot be read: {_innermost(error)}') from None

    async def close(self) -> None:
        """End the connection, and the program where one was started."""
        task, self._task, self._ready = self._task, None, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task}, timeout=LEAVE)

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = await self._open(stack)
                if not ready.done():
                    ready.set_result(client)
                await self._listen(client)
        except BaseException as error:
            if not ready.done():
                ready.set_exception(self.lost(f'it cannot be reached: {_innermost(error)}'))
                ready.exception()  # Somebody may have given up waiting.
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _open(self, stack: AsyncExitStack) -> Client:
        # It takes a while, in which the event loop must go on.
        await asyncio.to_thread(importlib.import_module, 'mcp')
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        logging.getLogger('mcp').setLevel(logging.CRITICAL)  # What is wrong is said by `Lost`, and once.
        server, transport = self._server, None
        if server.url:
            http = await stack.enter_async_context(create_mcp_http_client(headers=dict(server.headers)))
            transport = streamable_http_client(server.url, http_client=http, max_sse_event_size=MOST_EVENT)
        else:
            parameters = StdioServerParameters(
                command=server.command, args=list(server.args), env=dict(server.env), cwd=server.folder
            )
            errors = await stack.enter_async_context(self._listening())
            transport = stdio_client(parameters, errlog=errors)
        return await stack.enter_async_context(Client(transport, message_handler=self._told, cache=None))

    async def _listen(self, client: Client) -> None:
        """Wait for news of the tools; returns when the connection is gone, as far as one hears of that."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        while True:
            try:
                async with client.listen(tools_list_changed=True) as news:
                    async for _ in news:
                        self._changed()
            except SubscriptionLost:
                self._changed()
            except ListenNotSupportedError:
                break
            except MCPError as error:
                if error.code == CLOSED:
                    return
                break
            await asyncio.sleep(AGAIN)
        await asyncio.Event().wait()  # It is of an older kind, and sends notifications.

    async def _told(self, message: Any) -> None:
        if getattr(message, 'method', '') == 'notifications/tools/list_changed':
            self._changed()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[TextIO]:
        """A file for a program's standard error, of which the end is kept."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        reading, writing = os.pipe()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, 'rb')
        )
        self._errors = ''
        keeping = asyncio.create_task(self._keep(reader))
        try:
            with os.fdopen(writing, 'w') as file:
                yield file
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            transport.close()

    async def _keep(self, reader: asyncio.StreamReader) -> None:
        while piece := await reader.read(4096):
            self._errors = (self._errors + piece.decode('utf-8', 'replace'))[-MOST_SAID:]

    def lost(self, problem: str) -> Lost:
        """The error, with the server's name, and what it wrote last."""
        errors = self._errors.strip()
        return Lost(self._named(f'{problem}; it wrote: {errors}' if errors else problem))

    def _named(self, problem: str) -> str:
        return f'MCP server {self._server.name}: {self._server.hide(problem)}'


def _innermost(error: BaseException) -> str:
    """The error inside groups of one; the first of many."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return said(error)


CLOSED = -32000
"""The package's code for a connection that is gone."""
