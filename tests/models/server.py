"""A real HTTP server on loopback that writes raw bytes and misbehaves in every way servers do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

Script = Callable[['Wire'], Awaitable[None]]
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Wire:
    """One connection, after a request has been read from it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request: bytes
    body: bytes

    async def head(self, status: str = '200 OK', **headers: str) -> None:
        lines = [f'HTTP/1.1 {status}']
        all_headers = {'content_type': 'text/event-stream', 'transfer_encoding': 'chunked', **headers}
        lines += [f'{name.replace("_", "-")}: {value}' for name, value in all_headers.items() if value]
        await self.raw('\r\n'.join([*lines, '', '']).encode())

    async def chunk(self, data: bytes) -> None:
        await self.raw(f'{len(data):x}\r\n'.encode() + data + b'\r\n')

    async def end(self) -> None:
        await self.raw(b'0\r\n\r\n')

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def drop(self) -> None:
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(1024):
                pass


@dataclass
class Server:
    """The requests, and whether the client has hung up."""

    url: str = ''
    requests: list[Wire] = field(default_factory=list)
    connections: int = 0
    open: int = 0


def answering(*pieces: bytes, status: str = '200 OK', **headers: str) -> Script:
    """Answer every request with these pieces."""

    async def script(wire: Wire) -> None:
        await wire.head(status, **headers)
        for piece in pieces:
            await wire.chunk(piece)
        await wire.end()

    return script


@contextlib.asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Server]:
    """Serve until the block is left; each request on a connection is answered by the script."""
    server = Server()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b'\r\n\r\n')
                lines = head.lower().split(b'\r\n')
                length = next(
                    int(line.split(b':')[1]) for line in lines if line.startswith(b'content-length')
                )
                wire = Wire(reader, writer, head, await reader.readexactly(length))
                server.requests.append(wire)
                await script(wire)
        except asyncio.IncompleteReadError:
            pass
        finally:
            server.open -= 1

    async with listening(handle) as port:
        server.url = f'http://127.0.0.1:{port}/v1'
        yield server


@contextlib.asynccontextmanager
async def listening(answer: Answer, host: str = '127.0.0.1') -> AsyncIterator[int]:
    """Listen on a port until the block is left; `answer` handles each connection, which is then closed."""

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks[asyncio.create_task(closing(reader, writer))] = writer

    server = await asyncio.start_server(accept, host, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await _turns()  # until pending connections are accepted: others would never be closed
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in tasks.values():  # including those that never started or are not read
            writer.transport.abort()
        await _turns()


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
