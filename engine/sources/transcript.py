"""Transcripts: who said what and when, read from SRT, WebVTT or plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pysubs2

SPEAKER = re.compile(r'^\s*([A-Z][\w.\'’-]*(?: [A-Z][\w.\'’-]*){0,2}):\s+(?=\S)')
CLOCK = re.compile(r'^\s*[\[(]?((?:\d{1,2}:)?\d{1,2}:\d{2})(?:[.,]\d+)?[\])]?\s*')
WORDS_A_SECOND = 2.5
"""How fast people talk, for plain texts that say no times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """Something said without a pause."""

    start: float
    """Seconds."""
    end: float
    speaker: str
    text: str


def read(text: str) -> tuple[str, list[Cue]]:
    """The format (`srt`, `vtt` or `text`) and the cues. Raises `ValueError` where there is nothing said."""
    text = text.lstrip('\ufeff')
    if text.lstrip().startswith('WEBVTT'):
        kind, cues = 'vtt', _subtitles(re.sub(r'<v(?:\.[\w.-]+)?\s+([^>]+)>', r'\1: ', text), 'vtt')
    elif re.search(r'^\d+\s*\n\s*\d{1,2}:\d{2}:\d{2}[,.]\d{1,3}\s*-->', text, re.M):
        kind, cues = 'srt', _subtitles(text, 'srt')
    else:
        kind, cues = 'text', _plain(text)
    if not cues:
        raise ValueError('there is nothing said in it')
    return kind, cues


def clock(seconds: float) -> str:
    """Seconds as people write them: 1:02:03, or 02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours}:{minutes:02}:{rest:02}' if hours else f'{minutes:02}:{rest:02}'


def seconds_of(text: str) -> float:
    """Seconds of a time as people write it. Raises `ValueError`."""
    parts = [float(part) for part in text.strip().split(':')]
    if not 1 <= len(parts) <= 3 or any(part < 0 for part in parts) or any(part >= 60 for part in parts[1:]):
        raise ValueError(f'{text!r} is no time')
    return sum(part * float(60**power) for power, part in enumerate(reversed(parts)))


def _subtitles(text: str, kind: str) -> list[Cue]:
    try:
        found = pysubs2.SSAFile.from_string(text, format_=kind)
    except (pysubs2.Pysubs2Error, ValueError) as error:
        raise ValueError(f'it cannot be read as {kind.upper()}: {error}') from None
    cues: list[Cue] = []
    for event in sorted(found.events, key=lambda event: event.start):
        words = ' '.join(re.sub(r'<[^>]+>', '', event.plaintext).split())
        if words:
            speaker, said = _speaker(words, cues[-1].speaker if cues else '')
            cues.append(Cue(start=event.start / 1000, end=event.end / 1000, speaker=speaker, text=said))
    return cues


def _plain(text: str) -> list[Cue]:
    cues: list[Cue] = []
    now = 0.0
    for paragraph in filter(str.strip, re.split(r'\n\s*\n|\n(?=[\[(]?\d{1,2}:\d{2})', text)):
        words = ' '.join(paragraph.split())
        if found := CLOCK.match(words):
            now, words = seconds_of(found[1]), words[found.end() :]
        if not words:
            continue
        speaker, said = _speaker(words, cues[-1].speaker if cues else '')
        length = len(said.split()) / WORDS_A_SECOND
        cues.append(Cue(start=now, end=now + length, speaker=speaker, text=said))
        now += length
    return cues


def _speaker(words: str, before: str) -> tuple[str, str]:
    found = SPEAKER.match(words)
    return (found[1], words[found.end() :]) if found else (before, words)
