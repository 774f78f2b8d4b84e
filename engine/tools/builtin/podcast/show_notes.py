"""show_notes: notes for listeners, from the transcript of a show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput, bullet
from engine.tools.builtin.podcast.chapter_markers import chapter_list
from engine.tools.builtin.podcast.transcript_processor import MAX_CHARACTERS, transcript_of, transcript_parts
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.protocol import ToolContext, tool

WRITE = 'Write show notes for this episode'
JOIN = 'Combine the show notes of the parts of an episode'


class ShowNotes(FrozenModel):
    """Show notes for listeners."""

    title: str = Field(min_length=1, description='The title of the episode')
    summary: str = Field(min_length=1, description='Its content in one paragraph')
    points: tuple[str, ...] = Field(
        min_length=1, max_length=12, description='What listeners learn, one point per item'
    )
    mentioned: tuple[str, ...] = Field(default=(), description='Books, tools and places mentioned')


@tool(
    category='podcast',
    hint='Use after the chapters have been made: they are included.',
    consumes=('transcript', 'chapters', 'links'),
    produces=('show_notes',),
    needs=('model',),
    seconds=600,
)
async def show_notes(
    context: ToolContext,
    focus: Annotated[str, Field(max_length=2_000, description='What to emphasize (optional)')] = '',
) -> ToolOutput:
    """Write the show notes in Markdown: title, summary, main points, chapters, mentions, links."""
    transcript = transcript_of(context)
    stress = f'\n\nEmphasize this:\n{as_data(focus)}' if focus else ''
    spoken = transcript_parts(transcript, MAX_CHARACTERS)
    parts = []
    for number, part in enumerate(spoken, 1):
        parts.append(await _notes(context, f'{WRITE}{_part_note(number, spoken)}', part, stress))
    notes = parts[0]
    if len(parts) > 1:
        drafts = '\n\n'.join(part.model_dump_json() for part in parts)
        notes = await _notes(context, JOIN, drafts, stress)
    sections = [f'# {notes.title}', notes.summary, '\n'.join(map(bullet, notes.points))]
    if chapters := context.artifacts.get('chapters'):
        sections.append(f'## Chapters\n\n{chapter_list(chapters, "- ")}')
    if notes.mentioned:
        sections.append('## Mentioned\n\n' + '\n'.join(map(bullet, notes.mentioned)))
    if links := context.artifacts.get('links'):
        sections.append(
            '## Links\n\n' + '\n'.join(f'- [{name}]({address})' for name, address in links.items())
        )
    text = '\n\n'.join(sections)
    return ToolOutput(text=text, artifacts={'show_notes': text})


async def _notes(context: ToolContext, task: str, material: str, stress: str) -> ShowNotes:
    notes: ShowNotes = await context.ask(f'{task}.\n\n{as_data(material)}{stress}', output=ShowNotes)
    return notes


def _part_note(number: int, parts: Sequence[str]) -> str:
    return f', of which this is part {number} of {len(parts)}' if len(parts) > 1 else ''
