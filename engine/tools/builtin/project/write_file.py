"""write_file: creates or overwrites a file in the agent's folder."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.tools.artifacts import ToolOutput
from engine.tools.protocol import ToolContext, tool


@tool(category='files', side_effects=True)
async def write_file(
    context: ToolContext,
    path: Annotated[str, Field(min_length=1, description='The file, relative to your folder: src/app.py')],
    text: Annotated[str, Field(max_length=2_000_000, description='The complete content of the file')],
) -> ToolOutput:
    """Write a whole text file in your folder; missing folders are created."""
    data = text.encode(errors='replace')
    before = await context.files.write(path, data)
    lines = text.count('\n') + (not text.endswith('\n') and bool(text))
    summary = f'{"Replaced" if before else "Created"} {path}: {lines} lines, {len(data)} bytes.'
    return ToolOutput(text=summary, drops=('test_result',))
