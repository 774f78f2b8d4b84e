"""transcript_processor: reads a transcript of a show: who said what, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from engine.dynamic.artifacts import Given
from engine.errors import ToolError
from engine.sources import transcript
from engine.tool import ToolContext, tool

FILE = 'transcript.txt'
"""In the agent's folder, whatever its format."""


def transcript_of(context: ToolContext) -> Mapping[str, Any]:
    """What this tool has made, for those that need it. Raises `ToolError` as long as there is nothing."""
    found: Mapping[str, Any] | None = context.artifacts.get('transcript')
    if not found:
        raise ToolError('there is no transcript yet; use transcript_processor first')
    return found


@tool(
    category='podcast',
    required=True,
    hint='Use it first: the other tools read what it makes.',
    produces=('transcript',),
    most_text=60_000,
)
async def transcript_processor(
    context: ToolContext,
    path: Annotated[str, Field(min_length=1, description='The transcript in your folder')] = FILE,
) -> Given:
    """Read a transcript (SRT, WebVTT or plain text) and show it with times and speakers."""
    data = await context.files.read(path)
    try:
        kind, cues = await asyncio.to_thread(transcript.read, data.decode('utf-8', 'replace'))
    except ValueError as error:
        raise ToolError(f'{path}: {error}') from None
    speakers = list(dict.fromkeys(cue.speaker for cue in cues if cue.speaker))
    words = sum(len(cue.text.split()) for cue in cues)
    found = {
        'format': kind,
        'duration': cues[-1].end,
        'speakers': speakers,
        'words': words,
        'cues': [asdict(cue) for cue in cues],
    }
    names = f' by {", ".join(speakers)}' if speakers else ''
    head = f'{kind.upper()}, {transcript.clock(cues[-1].end)} long, {words} words{names}.'
    lines = [f'[{transcript.clock(cue.start)}] {_said(cue)}' for cue in cues]
    return Given(text='\n'.join([head, '', *lines]), artifacts={'transcript': found})


def _said(cue: transcript.Cue) -> str:
    return f'{cue.speaker}: {cue.text}' if cue.speaker else cue.text
