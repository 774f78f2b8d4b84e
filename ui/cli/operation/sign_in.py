"""hemicycle mcp-server sign-in: sign in to an MCP server in a browser."""

from __future__ import annotations

import asyncio
import webbrowser
from typing import Annotated

import typer

from engine import InvalidInput
from ui.cli.output.step_text import console
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle mcp-server sign-in notion
hemicycle mcp-server sign-in notion --no-browser
```"""


@with_session()
def sign_in(
    server: Annotated[str, typer.Argument(metavar='SERVER', help='Name of an MCP server that has `oauth`.')],
    browser: Annotated[bool, typer.Option(help='Open the page in a browser.')] = True,
    *,
    session: Session,
) -> None:
    """Sign in to an MCP server with this machine's browser.

    The tokens are stored next to the configuration, in a file that only you can read, and renewed as
    needed. The browser must be able to reach this machine at 127.0.0.1.
    """
    catalog, out = session.catalog, console()
    if server not in catalog.mcp.names:
        names = ', '.join(catalog.mcp.names) or 'none'
        raise InvalidInput({'SERVER': f'there is no MCP server {server!r}; available: {names}'})

    async def show(url: str) -> None:
        out.print(f'Sign in at: {strip_control(url)}', soft_wrap=True, markup=False)
        if browser:
            await asyncio.to_thread(webbrowser.open, url)

    async def run() -> None:
        try:
            health = await catalog.mcp.sign_in(server, show)
        finally:
            await catalog.close()
        if health.problem:
            raise InvalidInput({'SERVER': health.problem.removeprefix(f'MCP server {server}: ')})
        out.print(f'Signed in: {len(health.tools)} tools', markup=False)

    asyncio.run(run())
