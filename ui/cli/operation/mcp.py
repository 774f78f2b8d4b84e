"""hemicycle mcp-server serve: patterns and runs for chat agents, over standard input and output."""

from __future__ import annotations

import asyncio

from ui.cli.conductors import open_conductor
from ui.cli.exit_codes import CODES
from ui.cli.session import Session, with_session

EPILOG = f"""In the configuration of a chat agent:

```
{{"mcpServers": {{"hemicycle": {{"command": "hemicycle", "args": ["mcp-server", "serve"]}}}}}}
```

{CODES}"""


@with_session('patterns', 'pace', 'database', 'synchronous', 'server')
def serve(*, session: Session) -> None:
    """Serve a chat agent over standard input and output, as an MCP server.

    Each pattern is a tool; runs can be waited for, answered, cancelled and forked; runs and their artifacts
    are resources. Runs belong to this process, or to the server that serves the database; `hemicycle serve`
    offers the same at `/mcp`.
    """

    async def work() -> None:
        from ui.api.mcp.server import serve_stdio  # Slow to import.

        async with open_conductor(session) as conductor:
            await serve_stdio(conductor)

    asyncio.run(work())
