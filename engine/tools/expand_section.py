"""expand_section: writes one section of an outline."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from engine.dynamic.artifacts import Given, as_text
from engine.dynamic.templates import as_data
from engine.errors import ToolError
from engine.tool import ToolContext, tool


@tool(
    category='content',
    hint='Expands one outline section into full prose. Call per section.',
    consumes=('outline',),
    produces=('section_content',),
    needs=('model',),
    seconds=600,
)
async def expand_section(
    context: ToolContext,
    section_title: Annotated[str, Field(min_length=1, max_length=500, description='The section to expand')],
    outline: Annotated[
        str,
        Field(max_length=50_000, description='Full outline; nothing for the one that is there'),
    ] = '',
    research: Annotated[dict[str, Any], Field(description='Research data (optional)')] = {},  # noqa: B006
    tone: Annotated[str, Field(max_length=500, description='Writing tone (optional)')] = '',
) -> Given:
    """Write one section in full, without its heading."""
    known = outline or as_text(context.artifacts.get('outline', ''))
    parts = [f'Write the section “{section_title}” in Markdown, without its heading.']
    if known:
        parts.append(f'The outline of the whole text:\n{as_data(known)}')
    if research:
        parts.append(f'Research to work in, with its links:\n{as_data(as_text(research))}')
    if tone:
        parts.append(f'Tone: {as_data(tone)}')
    text = await context.ask('\n\n'.join(parts))
    if not text:
        raise ToolError('the model wrote nothing; ask again, or write the section yourself')
    return Given(text=text, adds={'section_content': {section_title: text}})
