"""hemicycle agent serve: patterns as a coding agent for editors, over standard input and output."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from ui.cli.conductors import open_conductor
from ui.cli.exit_codes import CODES
from ui.cli.inputs import parse_by_role
from ui.cli.session import Session, with_session

EPILOG = f"""In the settings of an editor that speaks the Agent Client Protocol, here Zed:

```
{{"agent_servers": {{"Hemicycle": {{"command": "hemicycle", "args": ["agent", "serve"]}}}}}}
```

{CODES}"""


@with_session('patterns', 'pace', 'database', 'synchronous', 'server')
def serve(
    pattern: Annotated[
        str,
        typer.Option(help='The initial pattern of a session; the editor can pick another as its mode.'),
    ] = 'builder',
    models: Annotated[
        list[str] | None,
        typer.Option(
            '--model', metavar='[ROLE=]NAME', help='The model, for one role or for all others. Repeatable.'
        ),
    ] = None,
    *,
    session: Session,
) -> None:
    """Serve an editor over standard input and output, as a coding agent.

    Each prompt starts a run of the session's pattern, with the editor's folder as its project. Its plan, its
    agents' text and calls are shown as they arrive; approvals are the editor's permissions. Files are changed
    in the run's folders, and written to the editor's folder only if a person allows it.
    """
    chosen = parse_by_role(models or [], '--model', 'NAME')
    session.catalog.pattern(pattern)

    async def work() -> None:
        from acp import run_agent  # Slow to import.

        from ui.api.acp import EditorAgent

        async with open_conductor(session) as conductor:
            agent: Any = EditorAgent(conductor, pattern, chosen)
            await run_agent(agent)

    asyncio.run(work())
