"""Transcripts in JSON, as speech recognition services and YouTube write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from engine.tools.builtin.podcast.cue import Cue

KINDS = 'Whisper, WhisperX, AssemblyAI, Deepgram or YouTube'


def parse_json(text: str) -> list[Cue]:
    """Return the cues. Raises `ValueError` for JSON of any other kind."""
    try:
        cues = [_cue(*item) for item in _passages(json.loads(text))]
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, RecursionError):
        raise ValueError(f'it is JSON, but no transcript from {KINDS}') from None
    return [cue for cue in cues if cue.text]


def _passages(data: Any) -> Iterable[tuple[Any, Any, Any, Any]]:
    """Return start and end in seconds, speaker and text."""
    match data:
        case {'results': {'utterances': [*items]}}:  # Deepgram
            return [_timed(item, item['transcript']) for item in items]
        case {
            'results': {'channels': [{'alternatives': [{'paragraphs': {'paragraphs': [*items]}}, *_]}, *_]}
        }:
            return [_timed({**item, **part}, part['text']) for item in items for part in item['sentences']]
        case {'utterances': [*items]}:  # AssemblyAI, in milliseconds
            return [_timed(item, item['text'], 1000) for item in items]
        case {'segments': [*items]}:  # Whisper and WhisperX
            return [_timed(item, item['text']) for item in items]
        case {'events': [*items]}:  # YouTube's json3
            return map(_event, items)
        case [{'start': _, 'duration': _}, *_]:  # youtube-transcript-api
            return [(item['start'], item['start'] + item['duration'], None, item['text']) for item in data]
    raise ValueError


def _timed(item: Any, text: str, unit: float = 1) -> tuple[Any, Any, Any, Any]:
    return item['start'] / unit, item['end'] / unit, item.get('speaker'), text


def _event(item: Any) -> tuple[Any, Any, Any, Any]:
    start = item['tStartMs'] / 1000
    text = ''.join(part.get('utf8', '') for part in item.get('segs', ()))
    return start, start + item.get('dDurationMs', 0) / 1000, None, text


def _cue(start: float, end: float, speaker: Any, text: str) -> Cue:
    name = '' if speaker is None else str(speaker)
    name = f'Speaker {name}' if name.isdigit() or len(name) == 1 else name
    first = round(float(start), 3)
    return Cue(start=first, end=max(first, round(float(end), 3)), speaker=name, text=' '.join(text.split()))
