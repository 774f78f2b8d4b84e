"""run_tests: pytest in the agent's folder, inside the sandbox, with a short report."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.commands.suite import run_suite
from engine.dynamic.artifacts import Given
from engine.files.beneath import parts_of
from engine.tool import ToolContext, tool

LONGEST = 600


@tool(
    category='commands',
    needs=('sandbox',),
    side_effects=True,
    seconds=LONGEST + 30,
    hint='After each change; without a path and a keyword before you say that the work is done.',
    produces=('test_result', 'test_report'),
)
async def run_tests(
    context: ToolContext,
    path: Annotated[str, Field(description='A file or a folder with tests; nothing for all of them')] = '',
    keyword: Annotated[str, Field(max_length=200, description='Only tests whose names fit this')] = '',
    seconds: Annotated[float, Field(gt=0, le=LONGEST, description='How long they may take')] = 120,
) -> Given:
    """Run your tests with pytest: how many passed, and what went wrong in the others."""
    chosen = [f'./{"/".join(parts_of(path))}'] if path else []
    options = [*(['-k', keyword] if keyword else []), *chosen]
    tested = await run_suite(context.files, context.commands, options=options, seconds=seconds)
    made: dict[str, object] = {'test_report': tested.text}
    if not (options and tested.passed):  # That some of them pass says nothing of the others.
        made['test_result'] = tested.passed
    return Given(text=tested.text, artifacts=made)
