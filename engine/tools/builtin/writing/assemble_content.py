"""assemble_content: assembles a text from its sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Annotated, Any

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput, number_name
from engine.tools.protocol import ToolContext, tool


def content_of(context: ToolContext) -> str:
    """Return the content made by this tool. Raises `ToolError` if there is none yet."""
    content = context.artifacts.get('content', '')
    if not content:
        raise ToolError('content: there is none yet; write it first or pass it')
    return str(content)


@tool(
    category='content',
    hint='Combines expanded sections into the final post, with your transitions.',
    consumes=('section_content', 'outline'),
    produces=('content',),
)
async def assemble_content(
    context: ToolContext,
    sections: Annotated[
        list[str],
        Field(
            max_length=40,
            description='Section contents in order; for an expanded section, its title is enough',
        ),
    ],
    transitions: Annotated[
        list[str],
        Field(
            max_length=40,
            description='A sentence before each section except the first, or "" for none (optional)',
        ),
    ] = [],  # noqa: B006
    intro: Annotated[str, Field(max_length=20_000, description='Introduction (optional)')] = '',
    outro: Annotated[str, Field(max_length=20_000, description='Conclusion/CTA (optional)')] = '',
) -> ToolOutput:
    """Combine sections into the final content: title, introduction, sections with headings, conclusion.

    Expanded sections already begin with transitions.
    """
    written: Mapping[str, str] = context.artifacts.get('section_content', {})
    outline: Mapping[str, Any] = context.artifacts.get('outline', {})
    chosen = sections or [item['title'] for item in outline.get('sections', ()) if item['title'] in written]
    if not chosen:
        raise ToolError('sections: none were given, and none have been expanded')
    parts = [f'# {outline["title"]}'] if outline.get('title') else []
    parts += [intro.strip()] if intro.strip() else []
    times: Counter[str] = Counter()
    for section, transition in zip_longest(chosen, ['', *transitions][: len(chosen)], fillvalue=''):
        times[section] += 1
        key = number_name(section, times[section])
        if transition.strip():
            parts.append(transition.strip())
        if section in written:
            parts.append(f'## {section}\n\n{written.get(key, written[section]).strip()}')
        elif len(section.split()) <= 12 and not section.rstrip().endswith(('.', '!', '?')):
            listed = ', '.join(map(repr, written)) or 'none'
            raise ToolError(f'sections: {section!r} was not expanded; available: {listed}')
        else:
            parts.append(section.strip())
    parts += [outro.strip()] if outro.strip() else []
    content = '\n\n'.join(parts)
    words = len(content.split())
    return ToolOutput(text=f'{words} words:\n\n{content}', artifacts={'content': content})
