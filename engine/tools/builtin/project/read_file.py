"""read_file: reads a text file, or some of its lines, in the agent's folder."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.images import image_problem, image_type, keep_image
from engine.tools.protocol import ToolContext, tool


@tool(category='files', most_text=60_000)
async def read_file(
    context: ToolContext,
    path: Annotated[str, Field(description='The file, relative to your folder: src/app.py')],
    start: Annotated[int, Field(ge=1, description='The first line to show')] = 1,
    count: Annotated[int, Field(ge=1, le=5_000, description='Maximum number of lines to show')] = 1_000,
) -> str | ToolOutput:
    """Read a text file in your folder."""
    data = await context.files.read(path)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = '\0'
    if '\0' in text and (image := await keep_image(data, context.files)):
        size = f'{len(data):,} bytes'
        summary = f'{path} is an image: {image.media_type}, {size}. Models that accept images are shown it.'
        return ToolOutput(text=summary, images=(image,))
    if '\0' in text and image_type(data):
        raise ToolError(f'{path}: an image that cannot be shown to a model: {image_problem(data)}')
    if '\0' in text:
        raise ToolError(f'{path}: not a text file ({len(data)} bytes)')
    lines = text.split('\n')
    total = len(lines) - (not lines[-1])  # the last line's terminator does not start another line
    if start > max(total, 1):
        raise ToolError(f'{path}: the file has only {total} lines')
    excerpt = lines[start - 1 : start - 1 + count]
    if start == 1 and total <= count:
        return text or '[the file is empty]'
    last = min(total, start - 1 + count)
    return '\n'.join(excerpt) + f'\n[lines {start} to {last} of {total}]'
