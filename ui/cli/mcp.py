"""hemicycle mcp: patterns and runs for chat agents, over standard input and output."""

from __future__ import annotations

import asyncio

import typer

from ui.cli.exit_codes import CODES
from ui.cli.options import Database, Durability, Pace, Patterns
from ui.cli.session import load_catalog, open_conductor, settings_of, storage_of

EPILOG = f"""In the configuration of a chat agent:

```
{{"mcpServers": {{"hemicycle": {{"command": "hemicycle", "args": ["mcp"]}}}}}}
```

{CODES}"""


def mcp(
    context: typer.Context,
    patterns: Patterns = [],  # noqa: B006  (Typer copies it)
    pace: Pace = None,
    database: Database = '',
    synchronous: Durability = 'normal',
) -> None:
    """Serve a chat agent over standard input and output, as an MCP server.

    Each pattern is a tool; runs can be waited for, answered, cancelled and forked; runs and their artifacts
    are resources. Runs belong to this process, or to the server that serves the database; `hemicycle serve`
    offers the same at `/mcp`.
    """
    settings = settings_of(database, synchronous, patterns)
    storage, catalog = storage_of(context), load_catalog(settings, pace)

    async def work() -> None:
        from ui.api.mcp.server import serve_stdio  # Slow to import.

        async with open_conductor(storage, settings, catalog) as conductor:
            await serve_stdio(conductor)

    asyncio.run(work())
