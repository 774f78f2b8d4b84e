"""transcript_processor: reads the transcript of a show, with speakers and times."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.podcast import transcript
from engine.tools.protocol import ToolContext, tool

FILE = 'transcript.txt'
"""A file in the agent's folder, in any supported format."""
MAX_CHARACTERS = 200_000
"""Maximum characters of a transcript in one model call; longer ones are processed in parts."""
MAX_PAGE_TEXT = 55_000
"""Maximum characters of one result; a longer transcript is read on from a given time."""


def transcript_of(context: ToolContext) -> Mapping[str, Any]:
    """Return the transcript made by this tool. Raises `ToolError` if there is none yet."""
    parsed: Mapping[str, Any] | None = context.artifacts.get('transcript')
    if not parsed:
        raise ToolError('there is no transcript yet; use transcript_processor first')
    return parsed


def transcript_lines(parsed: Mapping[str, Any]) -> list[str]:
    """Format each cue as a line with its time and speaker."""
    return [f'[{_time(cue)}] {cue["speaker"]}: {cue["text"]}'.replace('] : ', '] ') for cue in parsed['cues']]


def transcript_parts(parsed: Mapping[str, Any], most: int) -> list[str]:
    """Split a transcript into as few parts as possible, each within the given number of characters."""
    parts: list[str] = []
    for line in transcript_lines(parsed):
        if parts and len(parts[-1]) + len(line) < most:
            parts[-1] += f'\n{line}'
        else:
            parts.append(line)
    return parts


@tool(
    category='podcast',
    required=True,
    hint='Use it first: the other tools read its result.',
    produces=('transcript',),
    most_text=60_000,
)
async def transcript_processor(
    context: ToolContext,
    path: Annotated[str, Field(min_length=1, description='The transcript in your folder')] = FILE,
    start: Annotated[
        str,
        Field(
            max_length=20, description='The time to continue from, given at the end of the previous result'
        ),
    ] = '',
) -> ToolOutput:
    """Read a transcript (SRT, WebVTT, JSON or plain text) and show it with times and speakers."""
    data = await context.files.read(path)
    try:
        text, encoding = await asyncio.to_thread(transcript.decode, data)
        kind, cues = await asyncio.to_thread(transcript.parse, text)
    except ValueError as error:
        raise ToolError(f'{path}: {error}') from None
    try:
        begin = transcript.parse_time(start) if start else 0.0
    except ValueError as error:
        raise ToolError(f'start: {error}') from None
    speakers = list(dict.fromkeys(cue.speaker for cue in cues if cue.speaker))
    words = sum(len(cue.text.split()) for cue in cues)
    duration = max(cue.end for cue in cues)
    parsed = {
        'format': kind,
        'encoding': encoding,
        'duration': duration,
        'speakers': speakers,
        'words': words,
        'estimated': any(cue.estimated for cue in cues),
        'cues': [asdict(cue) for cue in cues],
    }
    names = f' by {", ".join(speakers)}' if speakers else ''
    length = transcript.format_time(duration, estimated=all(cue.estimated for cue in cues))
    head = f'{kind.upper()}, {length} long, {words} words{names}.'
    if encoding != 'utf-8':
        head += f' Its encoding appears to be {encoding}.'
    if parsed['estimated']:
        head += ' Times marked ≈ are not in the file: they are estimated from the number of words.'
    return ToolOutput(text=f'{head}\n\n{_page(parsed, begin)}', artifacts={'transcript': parsed})


def _page(parsed: Mapping[str, Any], begin: float) -> str:
    """Return the lines from a time on that fit into one result, and the time to continue at."""
    lines = transcript_lines(parsed)
    first = next((place for place, cue in enumerate(parsed['cues']) if cue['start'] >= begin), len(lines))
    size = 0
    for place in range(first, len(lines)):
        size += len(lines[place]) + 1
        if size > MAX_PAGE_TEXT and place > first:
            excerpt, time = (
                '\n'.join(lines[first:place]),
                transcript.format_time(parsed['cues'][place]['start']),
            )
            return f'{excerpt}\n[There is more: continue with start={time}]'
    return '\n'.join(lines[first:]) or f'[Nothing is said after {transcript.format_time(begin)}]'


def _time(cue: Mapping[str, Any]) -> str:
    return transcript.format_time(cue['start'], estimated=bool(cue.get('estimated')))
