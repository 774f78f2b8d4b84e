"""A small MCP server for tests: `server.py stdio [how it misbehaves]`, or `server.py http PORT`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.mcp.tasks import LongWork

READS = ToolAnnotations(read_only_hint=True)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False)


class Guest(BaseModel):
    name: str = Field(min_length=2)
    nights: int = Field(1, ge=1, le=30)
    size: str = 's'


def who() -> Elicit[Guest]:
    return Elicit('Who stays?', Guest)


def make_server(how: str) -> MCPServer:  # noqa: C901  (a list of tools)
    extensions = [LongWork()] if how == 'tasks' else []
    server = MCPServer('small', log_level='CRITICAL', extensions=extensions)
    calls: list[str] = []

    @server.tool(annotations=READS)
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        calls.append('add')
        return a + b

    @server.tool(annotations=ADDS)
    def remember(text: str) -> str:
        """Keep a text."""
        calls.append(text)
        return ', '.join(calls)

    @server.tool(name='wipe.all/now')
    def wipe() -> str:
        """Delete everything."""
        calls.clear()
        return 'wiped'

    @server.tool(annotations=READS)
    def fail(text: str) -> str:
        """Fail, and say so."""
        raise ValueError(f'no: {text} {os.environ.get("SMALL_TOKEN", "")}')

    @server.tool(annotations=READS)
    def leak(how: str) -> str:
        """Return a secret."""
        token = os.environ.get('SMALL_TOKEN', '')
        if how == 'error':
            raise ToolError(f'bad token {token}')
        return f'the token is {token}'

    @server.tool(annotations=READS)
    def picture() -> Image:
        """A picture."""
        return Image(data=b'\x89PNG....', format='png')

    @server.tool(annotations=READS)
    def long(megabytes: int) -> str:
        """A long text."""
        return 'x' * 1_000_000 * megabytes

    @server.tool(annotations=READS)
    async def hang() -> str:
        """Never answer."""
        await asyncio.sleep(3600)
        return 'late'

    @server.tool(annotations=ADDS)
    def die() -> str:
        """End the server in the middle of the call."""
        os._exit(3)

    @server.tool(annotations=READS)
    def process() -> str:
        """The id of this process."""
        return str(os.getpid())

    @server.tool(annotations=READS)
    def environment() -> str:
        """The names of the variables."""
        return ' '.join(sorted(os.environ))

    @server.tool(annotations=READS)
    async def grow(context: Context) -> str:
        """Add a tool."""

        @server.tool(name='grown')
        def grown() -> str:
            """A new one."""
            return 'grown'

        await context.notify_tools_changed()
        return 'done'

    if how == 'asks':

        @server.tool(annotations=ADDS)
        def book(guest: Annotated[ElicitationResult[Guest], Resolve(who)]) -> str:
            """Book a room."""
            answer = guest.model_dump(exclude_none=True)
            return json.dumps({'content': answer.pop('data', None), **answer})

    if how == 'many':
        for number in range(300):
            server.add_tool(lambda: 'ok', name=f'tool_{number}', description='One of many')
    return server


def main() -> None:
    kind, how = sys.argv[1], (sys.argv[2:] or [''])[0]
    if how == 'silent':
        time.sleep(3600)
    if how == 'garbage':
        print('Welcome to the server!\n{"jsonrpc": 7}\n<html>', flush=True)
        time.sleep(3600)
    if how == 'broken':
        print(f'cannot find module x {os.environ.get("SMALL_TOKEN", "")}', file=sys.stderr)
        sys.exit(1)
    if how == 'noisy':
        print('Starting up ...', flush=True)
    if kind == 'stdio':
        make_server(how).run('stdio')
    else:
        make_server(how).run('streamable-http', host='127.0.0.1', port=int(how))


if __name__ == '__main__':
    main()
