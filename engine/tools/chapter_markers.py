"""chapter_markers: the chapters of a show, also as a file that players of podcasts read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from engine.dynamic.artifacts import Given
from engine.errors import ToolError
from engine.sources.transcript import clock, seconds_of
from engine.tool import ToolContext, tool
from engine.tools.transcript_processor import transcript_of

FILE = 'chapters.json'
VERSION = '1.2.0'
"""Of the podcast namespace's JSON Chapters Format."""
SHORTEST = 60.0
"""Seconds of a chapter, where nobody says where they begin."""


class Chapter(BaseModel):
    """Where a chapter begins."""

    model_config = ConfigDict(extra='forbid')

    start: str = Field(description='Its time: 00:00, 12:30 or 1:02:03')
    title: str = Field(min_length=1, max_length=200, description='What it is about')


@tool(
    category='podcast',
    side_effects=True,
    hint='Name the chapters by what you have read; without any they are found at pauses.',
    consumes=('transcript',),
    produces=('chapters',),
)
async def chapter_markers(
    context: ToolContext,
    chapters: Annotated[
        list[Chapter], Field(max_length=100, description='In order; the first begins at 00:00')
    ] = [],  # noqa: B006
) -> Given:
    """Make the chapters of the show and write them to chapters.json, in the format of podcast players."""
    transcript = transcript_of(context)
    found = _checked(chapters, transcript['duration']) if chapters else _at_pauses(transcript['cues'])
    document = {'version': VERSION, 'chapters': found}
    await context.files.write(FILE, json.dumps(document, ensure_ascii=False, indent=2).encode())
    listed = '\n'.join(f'{clock(item["startTime"])} {item["title"]}' for item in found)
    return Given(text=f'{listed}\n\nWritten to {FILE}.', artifacts={'chapters': found})


def _checked(chapters: Sequence[Chapter], duration: float) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, chapter in enumerate(chapters):
        try:
            start = seconds_of(chapter.start)
        except ValueError as error:
            raise ToolError(f'chapters.{number}.start: {error}') from None
        if start >= duration:
            raise ToolError(f'chapters.{number}.start: the show is over at {clock(duration)}')
        found.append({'startTime': start, 'title': chapter.title})
    if found[0]['startTime'] != 0:
        raise ToolError('chapters.0.start: the first chapter begins at 00:00')
    if any(after['startTime'] <= before['startTime'] for before, after in pairwise(found)):
        raise ToolError('chapters: each begins after the one before it')
    return found


def _at_pauses(cues: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Chapters that begin after the longest pauses, and none shorter than a minute."""
    gaps = [(after['start'] - before['end'], after) for before, after in pairwise(cues)]
    longest = sorted(gaps, key=lambda gap: (-gap[0], gap[1]['start']))
    most = max(1, min(12, int(cues[-1]['end'] // (3 * SHORTEST))))
    starts = [cues[0]]
    for gap, cue in longest:
        far = all(abs(cue['start'] - other['start']) >= SHORTEST for other in starts)
        if gap > 0 and far and len(starts) < most:
            starts.append(cue)
    ordered = sorted(starts, key=lambda cue: float(cue['start']))
    return [
        {'startTime': 0 if number == 0 else round(cue['start'], 3), 'title': _title(cue['text'])}
        for number, cue in enumerate(ordered)
    ]


def _title(text: str) -> str:
    words = text.split()
    return ' '.join(words[:8]).rstrip('.,;:') + (' …' if len(words) > 8 else '')
