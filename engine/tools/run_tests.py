"""run_tests: pytest in the agent's folder, inside the sandbox, with a short report."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.beneath import parts_of
from engine.suite import run_suite
from engine.tool import ToolContext, tool

LONGEST = 600


@tool(category='commands', side_effects=True, seconds=LONGEST + 30)
async def run_tests(
    context: ToolContext,
    path: Annotated[str, Field(description='A file or a folder with tests; nothing for all of them')] = '',
    keyword: Annotated[str, Field(max_length=200, description='Only tests whose names fit this')] = '',
    seconds: Annotated[float, Field(gt=0, le=LONGEST, description='How long they may take')] = 120,
) -> str:
    """Run your tests with pytest: how many passed, and what went wrong in the others."""
    chosen = [f'./{"/".join(parts_of(path))}'] if path else []
    options = [*(['-k', keyword] if keyword else []), *chosen]
    return (await run_suite(context.files, context.commands, options=options, seconds=seconds)).text
