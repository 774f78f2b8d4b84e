"""Transcripts: who said what and when, read from SRT, WebVTT, JSON or plain text in any encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape

from engine.host.text_encoding import find_encoding, require_text
from engine.tools.builtin.podcast.cue import Cue
from engine.tools.builtin.podcast.json_transcript import parse_json

TIME = r'(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?'
TIMING = re.compile(rf'^\s*({TIME})\s*-->\s*({TIME})', re.M)
"""The timing line of an SRT or WebVTT cue."""
CLOCK = re.compile(rf'^\s*[\[(]?({TIME})[\])]?(?![\d:])\s*[-\u2013\u2014]?\s*')
LABEL = re.compile(
    rf'^\s*(?P<name>[^\W_][\w.\'’-]*(?: [^\W_][\w.\'’-]*){{0,4}}(?: \([^()\d]{{1,20}}\))?)'
    rf'(?:\s*[\[(](?P<time>{TIME})[\])]\s*(?:[:\uff1a]|$)|\s*[:\uff1a](?=\s|$)|\s{{2,}}(?P<clock>{TIME})\s*$)'
)
"""A speaker label before speech, with an optional time: `Anna:`, `Speaker 1:`, `von der Leyen (00:10):`, or
`Anna Smith  00:10` on a line of its own, as Otter writes it."""
LABEL_LINE = re.compile(rf'^\S.*\s{{2,}}{TIME}[ \t]*$', re.M)
OTTER = re.compile(r'\s*Transcribed by https://otter\.ai\s*$')
DASH = re.compile(r'^\s*(?:[-\u2010\u2013\u2014]|>>)\s*(?=[^\s>-])')
"""Marks of a change of speaker in subtitles."""
PARTICLES = frozenset({
    'af', 'al', 'ap', 'av', 'da', 'de', 'del', 'den', 'der', 'di', 'do', 'dos', 'du', 'e', 'el', 'la', 'las',
    'le', 'los', 'of', 'ten', 'ter', 'the', 'und', 'van', 'von', 'y', 'zu', 'zum', 'zur',
})  # fmt: skip
"""Words in a name that may begin with a lowercase letter."""
MAX_LABEL = 50
WORDS_A_SECOND = 2.5
"""Typical speaking rate, for plain text without times."""


def decode(data: bytes) -> tuple[str, str]:
    """Decode a file; return its text and encoding. Raises `ValueError` if it is not text."""
    encoding = find_encoding(data)
    return require_text(data.decode(encoding, 'replace')), encoding.removesuffix('-sig')


def parse(text: str) -> tuple[str, list[Cue]]:
    """Return the format (`srt`, `vtt`, `json` or `text`) and the cues.

    Raises:
        ValueError: there are none.
    """
    text = text.lstrip('\ufeff').replace('\r\n', '\n').replace('\r', '\n')
    if is_json(text):
        kind, cues = 'json', parse_json(text)
    elif text.lstrip().startswith('WEBVTT'):
        kind, cues = 'vtt', _subtitles(text, 'vtt')
    elif TIMING.search(text):
        kind, cues = 'srt', _subtitles(text, 'srt')
    else:
        kind, cues = 'text', _parse_plain_text(_without_notes(text))
    if not cues:
        raise ValueError('it contains nothing that is said')
    return kind, cues


def is_json(text: str) -> bool:
    """Return whether a text is a JSON object or list of objects, rather than speech in brackets."""
    return bool(re.match(r'\s*(?:\{\s*["}]|\[\s*\{)', text))


def format_time(seconds: float, *, estimated: bool = False) -> str:
    """Format seconds for people: 1:02:03 or 02:03; `≈ 02:03` for an estimate."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    text = f'{hours}:{minutes:02}:{rest:02}' if hours else f'{minutes:02}:{rest:02}'
    return f'≈ {text}' if estimated else text


def parse_time(text: str) -> float:
    """Parse a time as people write it, or an estimate, to seconds. Raises `ValueError`."""
    plain = text.strip().removeprefix('≈').strip()
    if not re.fullmatch(r'(\d{1,3}:){0,2}\d{1,6}([.,]\d+)?', plain):
        raise ValueError(f'{text!r} is not a time')
    parts = [float(part) for part in plain.replace(',', '.').split(':')]
    if any(part >= 60 for part in parts[1:]):
        raise ValueError(f'{text!r} is not a time')
    return sum(part * float(60**power) for power, part in enumerate(reversed(parts)))


def _subtitles(text: str, kind: str) -> list[Cue]:
    """Parse cues by their timing lines; the numbers above them may be missing."""
    timings = list(TIMING.finditer(text))
    cues: list[Cue] = []
    timed = []
    for timing, after in zip(timings, [*timings[1:], None], strict=False):
        body = text[timing.end() : after.start() if after else len(text)].partition('\n')[2]
        if kind == 'vtt':  # After an empty line comes a comment, a style or the next cue's name.
            body = re.split(r'\n\s*\n', f'\n{body}')[0]
        else:
            body = re.sub(r'(?:^|\n)[ \t]*\n[ \t]*\d+[ \t]*\n?$', '', body) if after else body
        timed.append((_seconds(timing[1]), _seconds(timing[2]), body))
    for start, end, body in sorted(timed, key=lambda cue: cue[0]):
        cues += _split_turns(
            _turns(_spoken_lines(body), cues[-1].speaker if cues else ''), start, max(start, end)
        )
    return cues


def _spoken_lines(body: str) -> Iterator[str]:
    """Yield a cue's lines without markup; a WebVTT voice counts as a speaker."""
    body = re.sub(r'<v(?:\.[\w.-]+)?\s+([^>]+)>', r'\n\1: ', body)
    for line in re.sub(r'<[^>]*>|\{\\[^}]*\}', '', body).split('\n'):
        yield ' '.join(unescape(line).split())


def _split_turns(turns: list[tuple[str, str]], start: float, end: float) -> list[Cue]:
    """Split a cue in which several people speak; all but the first get estimated start times."""
    total = sum(len(text.split()) for _, text in turns)
    cues, before = [], 0
    for speaker, text in turns:
        first, before = before, before + len(text.split())
        cues.append(
            Cue(
                start=round(start + (end - start) * first / total, 3),
                end=round(start + (end - start) * before / total, 3),
                speaker=speaker,
                text=text,
                estimated=first > 0,
            )
        )
    return cues


def _parse_plain_text(text: str) -> list[Cue]:
    """Split plain text into cues: one per paragraph, time or speaker."""
    cues: list[Cue] = []
    now, is_exact = 0.0, True
    for paragraph in re.split(r'\n\s*\n', text):
        for time, lines in _group_by_time(paragraph.split('\n')):
            if time is not None:
                now, is_exact = time, True
            for speaker, words in _turns(lines, cues[-1].speaker if cues else ''):
                length = len(words.split()) / WORDS_A_SECOND
                cue = Cue(start=now, end=now + length, speaker=speaker, text=words, estimated=not is_exact)
                cues.append(cue)
                now, is_exact = cue.end, False
    if cues and all(cue.estimated for cue in cues[1:]) and not cues[0].start:
        cues[0] = replace(cues[0], estimated=True)
    return cues


def _without_notes(text: str) -> str:
    """Return the text without what Otter writes around it: title, date and keywords, and its own name."""
    spoken = OTTER.sub('', text)
    first = next((match for match in LABEL_LINE.finditer(spoken)), None) if spoken != text else None
    return spoken[first.start() :] if first else spoken


def _group_by_time(lines: list[str]) -> Iterator[tuple[float | None, list[str]]]:
    """Group a paragraph's lines by the time at the start of each group. Anything but a time is text."""
    time: float | None = None
    group: list[str] = []
    for line in lines:
        clock, label = CLOCK.match(line), LABEL.match(line)
        named = label['time'] or label['clock'] if label and _is_name(label['name']) else None
        written = clock[1] if clock else named
        try:
            begins = parse_time(written) if written else None
        except ValueError:
            begins = None
        if begins is not None:
            yield time, group
            time, group = begins, []
        group.append(line[clock.end() :] if clock and begins is not None else line)
    yield time, group


def _turns(lines: list[str] | Iterator[str], before: str) -> list[tuple[str, str]]:
    """Return the speakers and their words in some lines; a line without a name continues the previous."""
    turns: list[tuple[str, list[str]]] = [(before, [])]
    for line in lines:
        dash = DASH.match(line)
        rest = line[dash.end() :] if dash else line
        label = LABEL.match(rest)
        if label and _is_name(label['name']):
            turns.append((label['name'], [rest[label.end() :]]))
        elif dash:
            turns.append(('', [rest]))
        else:
            turns[-1][1].append(line)
    joined = ((speaker, ' '.join(' '.join(parts).split())) for speaker, parts in turns)
    return [(speaker, parts) for speaker, parts in joined if parts]


def _is_name(label: str) -> bool:
    """Return whether the words before a colon are a name: all but particles start with a capital or digit."""
    words = label.replace('(', '').replace(')', '').split()
    names = [word for word in words if word.lower() not in PARTICLES]
    return (
        len(label) <= MAX_LABEL
        and any(word[0].isalpha() for word in names)
        and not any(word[0].islower() for word in names)
    )


def _seconds(time: str) -> float:
    """Convert a timing line's time to seconds, without range checks."""
    parts = [float(part) for part in time.replace(',', '.').split(':')]
    return sum(part * float(60**power) for power, part in enumerate(reversed(parts)))
