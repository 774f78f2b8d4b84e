"""notes: short notes that an agent writes, and reads in later turns and visits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from engine.errors import ToolError
from engine.tools.protocol import ToolContext, tool


@tool(category='notes')
async def notes(
    context: ToolContext,
    action: Annotated[Literal['write', 'read', 'list'], Field(description='What to do')],
    title: Annotated[str, Field(max_length=100, description='The title of the note')] = '',
    text: Annotated[str, Field(max_length=5_000, description='The text to write')] = '',
) -> str:
    """Keep short notes for yourself: write one, read one, or list their titles."""
    if action == 'list':
        return '\n'.join(f'- {name}' for name in context.store) or 'There are no notes yet.'
    if not title:
        raise ToolError(f'title: needed to {action} a note')
    if action == 'write':
        context.store[title] = text
        return f'Noted under {title!r}.'
    if title not in context.store:
        raise ToolError(f'there is no note {title!r}; available: {", ".join(context.store) or "none"}')
    return context.store[title]
