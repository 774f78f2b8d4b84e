"""expand_section: writes one section of an outline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput, as_text
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.builtin.writing.generate_outline import Material
from engine.tools.protocol import ToolContext, tool


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
        Field(max_length=50_000, description='Full outline; empty for the existing one'),
    ] = '',
    research: Annotated[Material, Field(description='Research data (optional)')] = '',
    tone: Annotated[str, Field(max_length=500, description='Writing tone (optional)')] = '',
) -> ToolOutput:
    """Write one section in full, without its heading; it begins with a transition from the previous one."""
    outline_text = outline or as_text(context.artifacts.get('outline', ''))
    parts = [f'Write the section “{section_title}” in Markdown, without its heading.']
    if outline_text:
        parts.append(f'The outline of the whole text:\n{as_data(outline_text)}')
    if before := _section_before(section_title, context.artifacts.get('outline')):
        parts.append(f'The previous section is {as_data(before)}\nBegin with a transition from it.')
    if research:
        parts.append(f'Research to include, with its links:\n{as_data(research)}')
    if tone:
        parts.append(f'Tone: {as_data(tone)}')
    text = await context.ask('\n\n'.join(parts))
    if not text:
        raise ToolError('the model wrote nothing; ask again, or write the section yourself')
    return ToolOutput(text=text, adds={'section_content': {section_title: text}})


def _section_before(title: str, outline: Any) -> str:
    """Return the preceding section's title; '' for the first, and one not in the outline exactly once."""
    sections = outline.get('sections', ()) if isinstance(outline, Mapping) else ()
    titles = [section['title'] for section in sections]
    return titles[titles.index(title) - 1] if title in titles[1:] and titles.count(title) == 1 else ''
