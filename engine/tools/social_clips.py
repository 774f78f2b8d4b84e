"""social_clips: quotations of a show that are worth a clip, with their times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from engine.dynamic.artifacts import Given
from engine.dynamic.templates import as_data
from engine.errors import ToolError
from engine.frozen import Record
from engine.sources.transcript import clock
from engine.tool import ToolContext, tool
from engine.tools.show_notes import spoken
from engine.tools.transcript_processor import transcript_of


class Clip(Record):
    """A quotation and the post that it goes with."""

    quote: str = Field(min_length=10, max_length=600, description='What is said, word by word')
    post: str = Field(min_length=1, max_length=500, description='The post that the clip goes with')


class Clips(Record):
    """Several of them."""

    clips: tuple[Clip, ...] = Field(min_length=1, max_length=10)


@tool(
    category='podcast',
    hint='Use at the end, to promote the episode.',
    consumes=('transcript',),
    produces=('social_clips',),
    needs=('model',),
    seconds=600,
)
async def social_clips(
    context: ToolContext,
    count: Annotated[int, Field(ge=1, le=10, description='How many')] = 3,
) -> Given:
    """Find quotations for short clips, each with its time and a post. The times come from the transcript."""
    transcript = transcript_of(context)
    question = f'Choose {count} quotations of this episode for short clips.\n\n{as_data(spoken(transcript))}'
    chosen: Clips = await context.ask(question, output=Clips)
    found: list[dict[str, Any]] = []
    invented: list[str] = []
    for clip in chosen.clips[:count]:
        place = _place(clip.quote, transcript['cues'])
        if place is None:
            invented.append(clip.quote)
        else:
            found.append({'start': place[0], 'end': place[1], 'quote': clip.quote, 'post': clip.post})
    if not found:
        raise ToolError(f'nobody says this in the show: {invented[0]!r}')
    lines = [
        f'{clock(item["start"])} to {clock(item["end"])}: “{item["quote"]}”\n{item["post"]}' for item in found
    ]
    left = [f'[left out, for nobody says it: {quote!r}]' for quote in invented]
    return Given(text='\n\n'.join([*lines, *left]), artifacts={'social_clips': found})


def _place(quote: str, cues: list[Mapping[str, Any]]) -> tuple[float, float] | None:
    """From when to when something is said, over as many cues as it takes."""
    starts: list[int] = []
    spoken_words = ''
    for cue in cues:
        starts.append(len(spoken_words))
        spoken_words += f'{_plain(cue["text"])} '
    at = spoken_words.find(_plain(quote))
    if at < 0:
        return None
    end = at + len(_plain(quote))
    inside = [
        cue
        for cue, start, after in zip(cues, starts, [*starts[1:], len(spoken_words)], strict=True)
        if start < end and after > at
    ]
    return inside[0]['start'], inside[-1]['end']


def _plain(text: str) -> str:
    return ' '.join(re.sub(r'[^\w\s]', '', text.casefold()).split())
