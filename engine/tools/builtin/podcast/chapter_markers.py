"""chapter_markers: the chapters of a show, and a file with them for podcast players."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from engine.errors import ToolError
from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.podcast.transcript import format_time, parse_time
from engine.tools.builtin.podcast.transcript_processor import MAX_CHARACTERS, transcript_of, transcript_parts
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.protocol import ToolContext, tool

FILE = 'chapters.json'
FORMAT_VERSION = '1.2.0'
"""The version of the podcast namespace's JSON Chapters Format."""
MIN_CHAPTER = 60.0
"""Minimum length of a chapter in seconds when no start times are given."""
MAX_CHAPTER = 2_700.0
"""Length in seconds from which a chapter that is given is refused."""
SENTENCE_END = re.compile(r'[.!?\u2026\u3002\uff01\uff1f]["\u201d\u2019)]*$')
MAX_SENTENCE = 60
"""Maximum words of a sentence in a long passage; some transcripts have no punctuation."""
DIVIDE = (
    'Divide this episode into chapters by topic: one every three to ten minutes, each from the time of the'
    ' line where its topic begins.'
)
LONG = 1_800.0
"""Seconds of a show for each of which it has a chapter more than one."""
MAX_CHAPTERS = 12
"""Maximum number of chapters to place at pauses."""


class Chapter(BaseModel):
    """A chapter and its start time."""

    model_config = ConfigDict(extra='forbid')

    start: str = Field(description='Its start time, such as 00:00, 12:30 or 1:02:03')
    title: str = Field(min_length=1, max_length=200, description='Its topic')


class Chapters(FrozenModel):
    """The chapters of an episode."""

    chapters: tuple[Chapter, ...] = Field(min_length=1, max_length=100)


@tool(
    category='podcast',
    side_effects=True,
    hint='Pass chapters named after what you have read; without any, they are made by topic.',
    consumes=('transcript',),
    produces=('chapters',),
    seconds=600,
)
async def chapter_markers(
    context: ToolContext,
    chapters: Annotated[
        list[Chapter], Field(max_length=100, description='In order; the first starts at 00:00')
    ] = [],  # noqa: B006
) -> ToolOutput:
    """Make the chapters of the show and write them to chapters.json, in a format for podcast players."""
    transcript = transcript_of(context)
    if chapters:
        markers, notes = _check_chapters(chapters, transcript['duration'])
    else:
        markers, notes = await _by_topic(context, transcript)
    if transcript.get('estimated'):
        markers = [{**item, 'estimated': True} if item['startTime'] else item for item in markers]
    document = {'version': FORMAT_VERSION, 'chapters': markers}
    await context.files.write(FILE, json.dumps(document, ensure_ascii=False, indent=2).encode())
    if transcript.get('estimated'):
        notes.append('The times are estimates: the transcript has none.')
    text = '\n'.join([f'{chapter_list(markers)}\n\nWritten to {FILE}.', *notes])
    return ToolOutput(text=text, artifacts={'chapters': markers})


def chapter_list(chapters: Sequence[Mapping[str, Any]], before: str = '') -> str:
    """Format chapters with their times, one per line."""
    return '\n'.join(
        f'{before}{format_time(item["startTime"], estimated=bool(item.get("estimated")))} {item["title"]}'
        for item in chapters
    )


def _check_chapters(chapters: Sequence[Chapter], duration: float) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the valid chapters and notes on the others. Raises `ToolError` if none is valid."""
    markers: list[dict[str, Any]] = []
    wrong: list[str] = []
    for number, chapter in enumerate(chapters):
        at = f'chapters.{number}.start'
        try:
            start = parse_time(chapter.start)
        except ValueError as error:
            wrong.append(f'{at}: {error}')
            continue
        if start >= duration:
            wrong.append(f'{at}: the show ends at {format_time(duration)}')
        elif markers and start <= markers[-1]['startTime']:
            wrong.append(f'{at}: it must be later than the previous chapter')
        else:
            markers.append({'startTime': start, 'title': chapter.title})
    if not markers:
        raise ToolError('; '.join(wrong))
    if len(markers) <= duration // LONG:
        count = 'one chapter is' if len(markers) == 1 else f'{len(markers)} chapters are'
        raise ToolError(f'chapters: {count} too few for {format_time(duration)}: divide it by topic')
    notes = [f'Left out: {"; ".join(wrong)}.'] if wrong else []
    if markers[0]['startTime']:
        notes.append(f'The first chapter was moved from {format_time(markers[0]["startTime"])} to 00:00.')
        markers[0]['startTime'] = 0.0
    starts = [marker['startTime'] for marker in markers]
    longest, start = max((end - start, start) for start, end in pairwise([*starts, duration]))
    if longest >= MAX_CHAPTER:
        problem = f'the one from {format_time(start)} lasts {format_time(longest)}'
        raise ToolError(f'chapters: {problem}: divide it by topic')
    return markers, notes


async def _by_topic(
    context: ToolContext, transcript: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the chapters that the model finds, each from a cue on, and notes.

    Without a model, or if it finds none, they are of similar length.
    """
    cues, paused = transcript['cues'], _at_pauses(transcript['cues'])
    if context.model is None or len(paused) == 1:
        return paused, []
    chosen: list[Chapter] = []
    parts = transcript_parts(transcript, MAX_CHARACTERS)
    try:
        for number, part in enumerate(parts, 1):
            which = f' This is part {number} of {len(parts)} of it.' if len(parts) > 1 else ''
            start = ' The first starts at 00:00.' if number == 1 else ''
            answer = await context.model(f'{DIVIDE}{which}{start}\n\n{as_data(part)}', output=Chapters)
            chosen += answer.chapters
        markers, notes = _check_chapters(chosen, transcript['duration'])
    except ToolError as error:
        return paused, [f'The chapters are of similar length: the model named none that fit ({error}).']
    starts = [float(part['start']) for cue in cues for part in _sentences(cue)]
    for item in markers[1:]:
        item['startTime'] = round(min(starts, key=lambda start: abs(start - item['startTime'])), 3)
    first_by_start = {item['startTime']: item for item in reversed(markers)}
    return list(reversed(first_by_start.values())), notes


def _at_pauses(cues: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return chapters of similar length, each starting after the longest pause near its ideal place.

    Without a pause, it starts at the nearest sentence, or at the nearest passage.
    """
    cues = [part for cue in cues for part in _sentences(cue)]
    end = max(float(cue['end']) for cue in cues)
    count = max(1, min(MAX_CHAPTERS, int(end // (3 * MIN_CHAPTER))))
    length = end / count
    starts = [cues[0]]
    for number in range(1, count):
        place = number * length
        near = [
            (
                max(0.0, round(after['start'] - before['end'], 1)),
                bool(SENTENCE_END.search(before['text'])),
                -abs(after['start'] - place),
                after,
            )
            for before, after in pairwise(cues)
            if abs(after['start'] - place) <= length / 2
            and after['start'] - starts[-1]['start'] >= MIN_CHAPTER
        ]
        if near:
            starts.append(max(near, key=lambda item: item[:3])[3])
    return [
        {'startTime': 0 if number == 0 else round(cue['start'], 3), 'title': _short_title(cue['text'])}
        for number, cue in enumerate(starts)
    ]


def _sentences(cue: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Split a long passage at sentence ends, or every few words if there are none; its times are shared."""
    words = str(cue['text']).split()
    length = cue['end'] - cue['start']
    if length < MIN_CHAPTER:
        yield cue
        return
    first = 0
    for place, word in enumerate(words, start=1):
        if SENTENCE_END.search(word) or place - first == MAX_SENTENCE or place == len(words):
            yield {
                **cue,
                'start': cue['start'] + length * first / len(words),
                'end': cue['start'] + length * place / len(words),
                'text': ' '.join(words[first:place]),
            }
            first = place


def _short_title(text: str) -> str:
    words = text.split()
    return ' '.join(words[:8]).rstrip('.,;:') + (' …' if len(words) > 8 else '')
