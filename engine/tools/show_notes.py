"""show_notes: notes for listeners, from the transcript of a show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from engine.dynamic.artifacts import Given
from engine.dynamic.templates import as_data
from engine.frozen import Record
from engine.sources.transcript import clock
from engine.tool import ToolContext, tool
from engine.tools.transcript_processor import transcript_of

MOST = 200_000
"""Characters of a transcript that a model is given."""


class ShowNotes(Record):
    """What a listener reads of a show."""

    title: str = Field(min_length=1, description='The title of the episode')
    summary: str = Field(min_length=1, description='What it is about, in a paragraph')
    points: tuple[str, ...] = Field(min_length=1, max_length=12, description='What one learns of it')
    mentioned: tuple[str, ...] = Field(default=(), description='Books, tools and places that are mentioned')


@tool(
    category='podcast',
    hint='Use when the chapters are made: they are put in too.',
    consumes=('transcript', 'chapters', 'links'),
    produces=('show_notes',),
    needs=('model',),
    seconds=600,
)
async def show_notes(
    context: ToolContext,
    focus: Annotated[str, Field(max_length=2_000, description='What to stress (optional)')] = '',
) -> Given:
    """Write the show notes in Markdown: title, summary, points, chapters, what is mentioned, links."""
    transcript = transcript_of(context)
    question = f'Write show notes for this episode.\n\n{as_data(spoken(transcript))}'
    notes: ShowNotes = await context.ask(
        question + (f'\n\nStress this:\n{as_data(focus)}' if focus else ''), output=ShowNotes
    )
    parts = [f'# {notes.title}', notes.summary, '\n'.join(f'- {point}' for point in notes.points)]
    if chapters := context.artifacts.get('chapters'):
        lines = '\n'.join(f'- {clock(item["startTime"])} {item["title"]}' for item in chapters)
        parts.append(f'## Chapters\n\n{lines}')
    if notes.mentioned:
        parts.append('## Mentioned\n\n' + '\n'.join(f'- {item}' for item in notes.mentioned))
    if links := context.artifacts.get('links'):
        parts.append('## Links\n\n' + '\n'.join(f'- [{name}]({address})' for name, address in links.items()))
    text = '\n\n'.join(parts)
    return Given(text=text, artifacts={'show_notes': text})


def spoken(transcript: Mapping[str, Any]) -> str:
    """A transcript as lines with times and speakers, as long as a model can be given."""
    lines = (f'[{clock(cue["start"])}] {cue["speaker"]}: {cue["text"]}' for cue in transcript['cues'])
    return '\n'.join(lines)[:MOST]
