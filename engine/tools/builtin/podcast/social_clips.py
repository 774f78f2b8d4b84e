"""social_clips: quotations from a show that are worth a clip, with their times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.podcast.transcript import format_time
from engine.tools.builtin.podcast.transcript_processor import MAX_CHARACTERS, transcript_of, transcript_parts
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.protocol import ToolContext, tool


class Clip(FrozenModel):
    """A quotation and the post to publish it with."""

    quote: str = Field(min_length=10, max_length=600, description='The spoken words, verbatim')
    post: str = Field(min_length=1, max_length=500, description='The post to publish the clip with')


class Clips(FrozenModel):
    """Several clips."""

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
    count: Annotated[int, Field(ge=1, le=10, description='Number of clips')] = 3,
) -> ToolOutput:
    """Find quotations for short clips, each with its time and a post. The times come from the transcript."""
    transcript = transcript_of(context)
    parts = transcript_parts(transcript, MAX_CHARACTERS)
    clips: list[dict[str, Any]] = []
    invented: list[str] = []
    for part, share in zip(parts, _shares(count, len(parts)), strict=True):
        question = f'Choose {share} quotations from this episode for short clips.\n\n{as_data(part)}'
        for again in (False, True):
            chosen: Clips = await context.ask(question, output=Clips)
            accepted, missed = _check_clips(chosen.clips[:share], transcript['cues'])
            if accepted or again:
                break
            listed = '\n'.join(missed)
            question += f'\n\nNobody says this. Copy the spoken words exactly:\n{as_data(listed)}'
        clips += accepted
        invented += missed
    lines = [f'{_span(item)}: “{item["quote"]}”\n{item["post"]}' for item in clips]
    lines += [] if clips else ['There are no clips: the model quoted nothing that is said in the show.']
    left = [f'[left out because nobody says it: {quote!r}]' for quote in invented]
    return ToolOutput(text='\n\n'.join([*lines, *left]), artifacts={'social_clips': clips})


def _shares(count: int, parts: int) -> list[int]:
    """Return the number of clips to take from each part, at least one."""
    return [max(1, count // parts + (number < count % parts)) for number in range(parts)]


def _check_clips(
    clips: Sequence[Clip], cues: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the clips with their times, and the quotations not found in the transcript."""
    accepted: list[dict[str, Any]] = []
    invented: list[str] = []
    for clip in clips:
        place = _find_cues(clip.quote, cues)
        if place is None:
            invented.append(clip.quote)
            continue
        item = {'start': place[0]['start'], 'end': place[-1]['end'], 'quote': clip.quote, 'post': clip.post}
        accepted.append(item | ({'estimated': True} if any(cue.get('estimated') for cue in place) else {}))
    return accepted, invented


def _span(clip: Mapping[str, Any]) -> str:
    times = [format_time(clip[name], estimated=bool(clip.get('estimated'))) for name in ('start', 'end')]
    return ' to '.join(times)


def _find_cues(quote: str, cues: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]] | None:
    """Return the cues that a quotation spans; None if it is not found."""
    starts: list[int] = []
    spoken_words = ''
    for cue in cues:
        starts.append(len(spoken_words))
        spoken_words += f'{_normalize(cue["text"])} '
    at = spoken_words.find(_normalize(quote))
    if at < 0:
        return None
    end = at + len(_normalize(quote))
    return [
        cue
        for cue, start, after in zip(cues, starts, [*starts[1:], len(spoken_words)], strict=True)
        if start < end and after > at
    ]


def _normalize(text: str) -> str:
    return ' '.join(re.sub(r'[^\w\s]', '', text.casefold()).split())
