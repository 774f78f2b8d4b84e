"""write_file: makes a file in the agent's folder, or writes it anew."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.dynamic.artifacts import Given
from engine.tool import ToolContext, tool


@tool(category='files', side_effects=True)
async def write_file(
    context: ToolContext,
    path: Annotated[str, Field(min_length=1, description='Where, from your folder: src/app.py')],
    text: Annotated[str, Field(max_length=2_000_000, description='All that the file is to hold')],
) -> Given:
    """Write a whole text file in your folder; the folders around it are made."""
    data = text.encode(errors='replace')
    before = await context.files.write(path, data)
    lines = text.count('\n') + (not text.endswith('\n') and bool(text))
    said = f'{"Replaced" if before else "Made"} {path}: {lines} lines, {len(data)} bytes.'
    return Given(text=said, drops=('test_result',))
