"""get_previous: lets a worker read its teammates' results, by role."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.protocol import ToolContext, tool


@tool(category='team')
async def get_previous(
    context: ToolContext,
    role: Annotated[
        str, Field(max_length=100, description='The role whose results to read, such as `researcher`')
    ],
) -> str:
    """Read the results that a role of your team has delivered so far."""
    results = context.facts.get('results')
    if results is None:
        raise ToolError('there are no shared results here: this tool is for the workers of a team')
    wanted_role = role.strip().lower()
    matches = [result for result in results if result['agent_role'] == wanted_role]
    if not matches:
        there = ', '.join(dict.fromkeys(result['agent_role'] for result in results)) or 'nobody'
        return f'There is no result from {role!r} yet. There are results from: {there}.'
    return '\n\n'.join(
        f'Task {result["task_id"]} of the {wanted_role}'
        f'{"" if result["success"] else " (it failed)"}:\n{result["output"]}'
        for result in matches
    )
