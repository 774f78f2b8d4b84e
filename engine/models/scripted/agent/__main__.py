"""Runs the scripted agent on standard input and output."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any


def main() -> None:
    """Serve one client until it disconnects."""
    from acp import run_agent

    from engine.models.scripted.agent.server import ScriptedAgent

    options = argparse.ArgumentParser(description='The scripted model as a coding agent')
    options.add_argument('--ask', default='', help='kinds of tool calls that need permission: execute,edit')
    options.add_argument('--no-load', action='store_true', help='do not resume sessions')
    arguments = options.parse_args()
    agent: Any = ScriptedAgent(
        asks=frozenset(filter(None, arguments.ask.split(','))), loads=not arguments.no_load
    )
    asyncio.run(run_agent(agent))


if __name__ == '__main__':
    main()
