"""assemble_content: puts the sections of a text together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from engine.dynamic.artifacts import Given
from engine.errors import ToolError
from engine.tool import ToolContext, tool


def content_of(context: ToolContext) -> str:
    """What this tool has made, for those that need it. Raises `ToolError` as long as there is nothing."""
    found = context.artifacts.get('content', '')
    if not found:
        raise ToolError('content: there is none yet; write it first, or give it')
    return str(found)


@tool(
    category='content',
    hint='Combines expanded sections into final post with transitions.',
    consumes=('section_content', 'outline'),
    produces=('content',),
)
async def assemble_content(
    context: ToolContext,
    sections: Annotated[
        list[str],
        Field(
            max_length=40,
            description='Section contents in their order; the title alone of one that was expanded will do',
        ),
    ],
    intro: Annotated[str, Field(max_length=20_000, description='Introduction (optional)')] = '',
    outro: Annotated[str, Field(max_length=20_000, description='Conclusion/CTA (optional)')] = '',
) -> Given:
    """Combine sections into the final content: title, introduction, sections with headings, conclusion."""
    written: Mapping[str, str] = context.artifacts.get('section_content', {})
    outline: Mapping[str, Any] = context.artifacts.get('outline', {})
    chosen = sections or [item['title'] for item in outline.get('sections', ()) if item['title'] in written]
    if not chosen:
        raise ToolError('sections: none were given, and none have been expanded')
    parts = [f'# {outline["title"]}'] if outline.get('title') else []
    parts += [intro.strip()] if intro.strip() else []
    for section in chosen:
        if section in written:
            parts.append(f'## {section}\n\n{written[section].strip()}')
        elif len(section.split()) <= 12 and not section.rstrip().endswith(('.', '!', '?')):
            listed = ', '.join(map(repr, written)) or 'none'
            raise ToolError(f'sections: {section!r} was not expanded; there are: {listed}')
        else:
            parts.append(section.strip())
    parts += [outro.strip()] if outro.strip() else []
    content = '\n\n'.join(parts)
    words = len(content.split())
    return Given(text=f'{words} words:\n\n{content}', artifacts={'content': content})
