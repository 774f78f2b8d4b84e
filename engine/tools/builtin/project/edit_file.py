"""edit_file: replaces a passage of a file in the agent's folder."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.protocol import ToolContext, tool


@tool(category='files', side_effects=True)
async def edit_file(
    context: ToolContext,
    path: Annotated[str, Field(min_length=1, description='The file, relative to your folder: src/app.py')],
    old: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2_000_000,
            description='The passage to replace, exactly as in the file',
        ),
    ],
    new: Annotated[str, Field(max_length=2_000_000, description='The replacement text')],
    everywhere: Annotated[bool, Field(description='Replace every occurrence')] = False,
) -> ToolOutput:
    """Replace a passage in a text file; it must occur exactly once unless `everywhere` is set."""
    try:
        text = (await context.files.read(path)).decode()
    except UnicodeDecodeError:
        raise ToolError(f'{path}: not a text file') from None
    count = text.count(old)
    if not count:
        raise ToolError(f'{path}: the passage was not found; read the file and copy the passage exactly')
    if count > 1 and not everywhere:
        raise ToolError(f'{path}: the passage occurs {count} times; include more of the surrounding text')
    line = text[: text.index(old)].count('\n') + 1
    await context.files.write(path, text.replace(old, new).encode(errors='replace'))
    summary = (
        f'Replaced {f"{count} passages, the first" if count > 1 else "the passage"} in line {line} of {path}.'
    )
    return ToolOutput(text=summary, drops=('test_result',))
