"""generate_outline: the sections of a text, with the points of each."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput, as_text
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.protocol import ToolContext, tool

Material = Annotated[
    str, BeforeValidator(lambda value: as_text(value) if value else ''), Field(max_length=200_000)
]
"""Text to work in; objects become JSON. An open object type would rule out strict schemas."""


class OutlineSection(FrozenModel):
    """One section of the outline."""

    title: str = Field(min_length=1, description='Its heading')
    points: tuple[str, ...] = Field(default=(), description='Its points, one per item')
    words: int = Field(200, ge=20, le=5_000, description='Target length in words')


class Outline(FrozenModel):
    """The outline of a text."""

    title: str = Field(min_length=1, description='The title of the text')
    sections: tuple[OutlineSection, ...] = Field(min_length=1, max_length=12)


@tool(
    category='content',
    hint='Use for posts with 3+ sections. Provides structure for expand_section.',
    consumes=('analysis',),
    produces=('outline',),
    needs=('model',),
    seconds=600,
)
async def generate_outline(
    context: ToolContext,
    topic: Annotated[str, Field(min_length=1, max_length=20_000, description='Main topic for the outline')],
    sections: Annotated[list[str], Field(max_length=20, description='Suggested sections (optional)')] = [],  # noqa: B006
    research: Annotated[Material, Field(description='Research data to incorporate (optional)')] = '',
    target_words: Annotated[int, Field(ge=0, le=20_000, description='Target word count (optional)')] = 0,
) -> ToolOutput:
    """Generate a structured outline for a longer text."""
    parts = [f'Write an outline for a text about:\n{as_data(topic)}']
    if analysis := context.artifacts.get('analysis'):
        parts.append(f'Analysis of the request:\n{as_data(as_text(analysis))}')
    if sections:
        parts.append('Suggested sections:\n' + as_data('\n'.join(f'- {title}' for title in sections)))
    if research:
        parts.append(f'Research to include:\n{as_data(research)}')
    if target_words:
        parts.append(f'Target length: about {target_words} words.')
    outline: Outline = await context.ask('\n\n'.join(parts), output=Outline)
    return ToolOutput(text=outline.model_dump_json(indent=1), artifacts={'outline': outline.model_dump()})
