"""hemicycle agent: coding agents that take the place of a model: list and test them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from engine.tools.acp import AgentHealth, ExternalAgentInfo
from ui.cli.catalog.saving import names_to_test, open_connections, report_tests
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle agent list
hemicycle agent test claude
hemicycle run race --task "Fix the failing test" --model racer1=agent:claude
```

Exit code: **0** done · **1** the test failed · **2** bad input, or refused"""


@with_session('as_json', 'server')
def list_agents(*, session: Session) -> None:
    """List the known coding agents: what they may access, or how to install them."""

    async def work() -> Sequence[ExternalAgentInfo]:
        async with open_connections(session) as conductor:
            return await conductor.agents.list()

    for info in asyncio.run(work()):
        if session.as_json:
            print_json(**asdict(info))
        else:
            state = f'not installed: {info.install}' if info.install else info.problem or info.reach
            typer.echo(strip_control(f'{info.model}  {info.title}: {state}'))


@with_session('as_json', 'server')
def test(
    name: Annotated[str, typer.Argument(metavar='NAME', help='The name of the agent.')],
    *,
    session: Session,
) -> None:
    """Start an agent in an empty folder and begin a session. No prompt is sent: it is free."""
    chosen = name.removeprefix('agent:')

    async def work() -> AgentHealth:
        async with open_connections(session) as conductor:
            names_to_test([info.name for info in await conductor.agents.list()], chosen, 'agent')
            return await conductor.agents.test(chosen)

    report_tests([asyncio.run(work())], _describe, as_json=session.as_json)


def _describe(result: AgentHealth) -> tuple[str, str]:
    return result.agent, result.introduction or 'a session was opened'
