"""A run as a Markdown transcript: its facts, its steps, who said what, and how it ended."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from engine import Conductor, Event, Transition
from engine.history import Redaction
from engine.journal import Fold
from engine.records import (
    Note,
    ReplyData,
    ResultData,
    RunId,
    RunInfo,
    Shape,
    View,
    message_of,
    parent_of,
    reply_of,
    results_of,
)
from ui.formatting.files import given_files_text
from ui.formatting.sentences import step_sentence
from ui.formatting.steps import duration, path_text, role_title
from ui.formatting.usage import usage_headline
from ui.formatting.values import count, moment_text, origin_note, status_text
from ui.web.exports.run_history import read_pages
from ui.web.exports.text import export_note, note_date
from ui.web.replay.conversation import json_to_markdown
from ui.web.replay.marks import JUMPS, is_by_person, mark_of

T = TypeVar('T', RunInfo, View, Event, Note)
TEXT_FIELDS = frozenset(
    {'title', 'note', 'text', 'error', 'waiting', 'parameters', 'models', 'memory', 'data'}
)
"""Fields of records that contain written text."""


async def write_transcript(
    conductor: Conductor, run: RunId, redaction: Redaction | None = None
) -> AsyncIterator[str]:
    """Write the transcript of a run, a page of steps at a time. Raises `UnknownRun`."""
    info = await conductor.info(run)
    shape, view = await conductor.shape(run), await conductor.view(run, info.seq)
    redaction = redaction or Redaction.for_catalog(conductor.catalog)
    # Redact before writing: secrets cannot be found once text is escaped or joined into a line.
    info, view = _redact(info, redaction), _redact(view, redaction)
    yield '\n'.join(_format_header(info, shape, view))
    writer = _Writer(info, shape, [_redact(note, redaction) for note in await conductor.notes(run)])

    def page(steps: Iterable[Transition]) -> str:
        return ''.join(writer.step(replace(step, event=_redact(step.event, redaction))) for step in steps)

    async for steps in read_pages(conductor, info):
        yield await asyncio.to_thread(page, steps)
    yield '\n'.join(_end(shape, view))
    yield f'\n---\n\n{export_note(conductor.clock.now(), redaction.found)}\n'


def _redact(record: T, redaction: Redaction) -> T:
    """Return a record with all secrets removed from its texts, including those in its mappings."""
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    texts = {
        name: value
        for name, value in values.items()
        if isinstance(value, str | Mapping) and name in TEXT_FIELDS
    }
    hidden = {name: redaction.redact_value(value) for name, value in texts.items()}
    if 'tags' in values:
        hidden['tags'] = tuple(map(redaction.redact_text, values['tags']))
    return replace(record, **hidden)


def fence(text: str, language: str = '') -> str:
    """Return text unchanged, in a fence that it cannot close."""
    longest = max(map(len, re.findall(r'`{3,}', text)), default=2)
    marks = '`' * (longest + 1)
    return f'{marks}{language}\n{text}\n{marks}'


def quote(text: str) -> str:
    """Return someone's text as a block quote, which contains its headings and fences."""
    return '\n'.join(f'> {line}'.rstrip() for line in text.splitlines()) or '>'


def escape_markdown(text: str) -> str:
    """Return text on one line, escaping every character that Markdown or HTML would interpret."""
    return re.sub(r'([\\`*_\[\]<>#|~!&])', r'\\\1', ' '.join(text.split()))


def _format_header(info: RunInfo, shape: Shape, view: View) -> Iterator[str]:
    yield f'# {escape_markdown(info.title or info.pattern)}\n'
    facts: list[tuple[str, str]] = [
        ('Run', f'`{info.id}`'),
        ('Pattern', f'{escape_markdown(shape.title)} (`{info.pattern}`)'),
        ('Version', info.version and f'`{info.version}`'),
        ('Status', _format_status(view)),
        ('Started', moment_text(view.started or info.created, 'UTC', seconds=False)),
        ('Took', f'{duration(max(0.0, view.time - view.started))}, {count(info.seq, "step")}'),
        ('Used', usage_headline(view.usage) + (', simulated' if info.simulated else '')),
        (
            'Models',
            escape_markdown(', '.join(f'{role or "all"}: {name}' for role, name in info.models.items())),
        ),
        ('Forked from', f'`{info.parent}` at step {info.parent_at}' if info.parent else ''),
        ('Files at the start', escape_markdown(given_files_text(info))),
        ('Tags', escape_markdown(', '.join(info.tags))),
        ('Waits for', escape_markdown(view.waiting)),
    ]
    yield from (f'- **{name}:** {fact}' for name, fact in facts if fact)
    if info.note:
        yield f'\n{quote(info.note)}'
    if info.parameters:
        yield '\n## Parameters\n'
        for name, value in info.parameters.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            yield f'**{escape_markdown(name)}**\n\n{fence(text)}\n'
    yield '\n## Steps\n'


def _format_status(view: View) -> str:
    text = status_text(view.status, view.error)
    return f'{text}: {escape_markdown(view.error)}' if view.error else text


def _end(shape: Shape, view: View) -> Iterator[str]:
    yield '\n## Outcome\n'
    yield f'{_format_status(view)}\n' if view.error else f'{_format_status(view)}.\n'
    answer = view.memory.get(shape.answer) if shape.answer else None
    if answer and (note := origin_note(view)):
        yield f'*{note}*\n'
    if isinstance(answer, str) and answer:
        yield f'{quote(answer)}\n'
    elif answer:
        yield f'{fence(json.dumps(answer, indent=2, ensure_ascii=False, default=str), "json")}\n'


class _Writer:
    """Writes the steps, with a heading for each workflow state that is entered."""

    def __init__(self, info: RunInfo, shape: Shape, notes: Iterable[Note]) -> None:
        self._notes = list(notes)
        self._shape, self._fold = shape, Fold(info.id, shape)
        self._visits: dict[str, list[int]] = {}

    def step(self, step: Transition) -> str:
        started = self._fold.projection.started or step.time
        self._fold.projection.apply(step)
        lines = list(self._format_step(step, duration(step.time - started)))
        for path in step.entered:
            self._visits.setdefault(path, []).append(step.seq)
        return ''.join(f'{line}\n' for line in lines)

    def _format_step(self, step: Transition, when: str) -> Iterator[str]:
        at = f'step {step.seq}, {when}'
        if reply := reply_of(step.event):
            yield from self._reply(step, reply, at)
        yield from _results(results_of(step.event), at)
        mark = mark_of(step, self._shape.marks, self._visits)
        if mark:
            title = 'verdict' if mark.kind in JUMPS['v'] else mark.kind
            who = 'A person' if is_by_person(step, mark) else title.capitalize()
            yield f'**{who}** ({at}): {escape_markdown(mark.text)}\n'
        for path in step.entered:
            if '.' not in path:
                sentence = escape_markdown(step_sentence(step, self._shape))
                yield f'\n### {escape_markdown(path_text(path))}\n\n_{sentence} ({at})_\n'
        for note in self._notes:
            if note.seq == step.seq:
                yield f'**Note** ({at}; {note_date(note)})\n\n{quote(note.text)}\n'

    def _reply(self, step: Transition, data: ReplyData, at: str) -> Iterator[str]:
        home = parent_of(step.event.at)
        state = self._shape.state(home)
        who = role_title(str(data.get('role') or (state.role if state else home)))
        model = f', `{data["model"]}`' if data.get('model') else ''
        yield f'**{escape_markdown(who)}** ({at}{model})\n'
        for part in message_of(data['message']).parts:
            match part.kind:
                case 'text':
                    yield f'{quote(json_to_markdown(part.text))}\n'
                case 'reasoning':
                    yield f'_Thinking:_\n\n{quote(part.text)}\n'
                case 'call':
                    yield f'Asks for `{part.name}`:\n\n{fence(part.arguments, "json")}\n'


def _results(results: Sequence[ResultData], at: str) -> Iterator[str]:
    for result in results:
        how = 'answers' if result['ok'] else 'fails'
        yield f'Tool `{result["name"]}` {how} ({at}):\n\n{fence(result["text"])}\n'
