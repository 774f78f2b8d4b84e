"""A run as a transcript in Markdown: its facts, its steps, who said what, and how it ended."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from engine import (
    Conductor,
    Event,
    Fold,
    Note,
    Redaction,
    RunId,
    RunInfo,
    Shape,
    Transition,
    View,
    message_of,
    parent_of,
    program,
)
from ui.exports.past import pages
from ui.exports.words import hidden, moment, written
from ui.presenters.blocks import readable
from ui.presenters.reading import place, span, speaker
from ui.presenters.spending import headline_of
from ui.presenters.words import WORDS
from ui.replay.marks import by_person, mark_of

T = TypeVar('T', RunInfo, View, Event, Note)
SAID = frozenset({'title', 'note', 'text', 'error', 'waiting', 'parameters', 'models', 'memory', 'data'})
"""Fields of records that somebody wrote."""


async def transcript_of(
    conductor: Conductor, run: RunId, redaction: Redaction | None = None
) -> AsyncIterator[str]:
    """The transcript of a run, a page of steps at a time. Raises `UnknownRun`."""
    info = await conductor.info(run)
    shape, view = await conductor.shape(run), await conductor.view(run, info.seq)
    hide = redaction or Redaction.of(conductor.catalog)
    # Before it is written: what is escaped or folded into a line would not be found any more.
    info, view = _without(info, hide), _without(view, hide)
    yield '\n'.join(_head(info, shape, view))
    told = _Told(info, shape, [_without(note, hide) for note in await conductor.notes(run)])

    def page(steps: Iterable[Transition]) -> str:
        return ''.join(told.step(replace(step, event=_without(step.event, hide))) for step in steps)

    async for steps in pages(conductor, info):
        yield await asyncio.to_thread(page, steps)
    yield '\n'.join(_end(shape, view))
    said = f'Exported {moment(conductor.clock.now())} by Hemicycle {program()}; {hidden(hide.found)}.'
    yield f'\n---\n\n{said} This is a recording: no model is called.\n'


def _without(record: T, hide: Redaction) -> T:
    """A record whose texts, and those in its mappings, hold no secret."""
    held = {item.name: getattr(record, item.name) for item in fields(record)}
    told = {name: value for name, value in held.items() if isinstance(value, str | Mapping) and name in SAID}
    hidden = {name: hide.value(value) for name, value in told.items()}
    if 'tags' in held:
        hidden['tags'] = tuple(map(hide.text, held['tags']))
    return replace(record, **hidden)


def fenced(text: str, language: str = '') -> str:
    """A text as it is, in a fence that it cannot close."""
    longest = max(map(len, re.findall(r'`{3,}', text)), default=2)
    fence = '`' * (longest + 1)
    return f'{fence}{language}\n{text}\n{fence}'


def quoted(text: str) -> str:
    """What somebody wrote as a quotation: its headings and fences stay inside."""
    return '\n'.join(f'> {line}'.rstrip() for line in text.splitlines()) or '>'


def plain(text: str) -> str:
    """A text in a line, of which no sign acts as Markdown or HTML."""
    return re.sub(r'([\\`*_\[\]<>#|~!&])', r'\\\1', ' '.join(text.split()))


def _head(info: RunInfo, shape: Shape, view: View) -> Iterator[str]:
    yield f'# {plain(info.title or info.pattern)}\n'
    facts: list[tuple[str, str]] = [
        ('Run', f'`{info.id}`'),
        ('Pattern', f'{plain(shape.title)} (`{info.pattern}`)'),
        ('Status', f'{WORDS[view.status]}{f": {plain(view.error)}" if view.error else ""}'),
        ('Started', moment(view.started or info.created)),
        ('Took', f'{span(max(0.0, view.time - view.started))}, {info.seq} steps'),
        ('Used', headline_of(view.usage) + (', simulated' if info.simulated else '')),
        ('Models', plain(', '.join(f'{role or "all"}: {name}' for role, name in info.models.items()))),
        ('Forked from', f'`{info.parent}` at step {info.parent_at}' if info.parent else ''),
        ('Tags', plain(', '.join(info.tags))),
        ('Waits for', plain(view.waiting)),
    ]
    yield from (f'- **{name}:** {said}' for name, said in facts if said)
    if info.note:
        yield f'\n{quoted(info.note)}'
    if info.parameters:
        yield '\n## Parameters\n'
        for name, value in info.parameters.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            yield f'**{plain(name)}**\n\n{fenced(text)}\n'
    yield '\n## Steps\n'


def _end(shape: Shape, view: View) -> Iterator[str]:
    yield '\n## Outcome\n'
    yield f'{WORDS[view.status]}{f": {plain(view.error)}" if view.error else "."}\n'
    answer = view.memory.get(shape.answer) if shape.answer else None
    if isinstance(answer, str) and answer:
        yield f'{quoted(answer)}\n'
    elif answer:
        yield f'{fenced(json.dumps(answer, indent=2, ensure_ascii=False, default=str), "json")}\n'


class _Told:
    """Tells step after step; a heading for each state of the workflow that is entered."""

    def __init__(self, info: RunInfo, shape: Shape, notes: Iterable[Note]) -> None:
        self._notes = list(notes)
        self._shape, self._fold = shape, Fold(info.id, shape)
        self._visits: dict[str, list[int]] = {}

    def step(self, step: Transition) -> str:
        started = self._fold.ledger.started or step.time
        self._fold.ledger.take(step)
        lines = list(self._lines(step, span(step.time - started)))
        for path in step.entered:
            self._visits.setdefault(path, []).append(step.seq)
        return ''.join(f'{line}\n' for line in lines)

    def _lines(self, step: Transition, when: str) -> Iterator[str]:
        event, data = step.event, step.event.data
        at = f'step {step.seq}, {when}'
        if event.name == 'done' and isinstance(data.get('message'), Mapping):
            yield from self._reply(step, at)
        elif event.name == 'done' and isinstance(data.get('results'), (list, tuple)):
            yield from _results(data['results'], at)
        mark = mark_of(step, self._visits)
        if mark:
            who = 'A person' if by_person(step, mark) else mark.kind.capitalize()
            yield f'**{who}** ({at}): {plain(mark.text)}\n'
        for path in step.entered:
            if '.' not in path:
                yield f'\n### {plain(place(path))}\n\n_{at}_\n'
        for note in self._notes:
            if note.seq == step.seq:
                yield f'**Note** ({at}; {written(note)})\n\n{quoted(note.text)}\n'

    def _reply(self, step: Transition, at: str) -> Iterator[str]:
        data = step.event.data
        home = parent_of(step.event.at)
        state = self._shape.state(home)
        who = speaker(str(data.get('role') or (state.role if state else home)))
        model = f', `{data["model"]}`' if data.get('model') else ''
        yield f'**{plain(who)}** ({at}{model})\n'
        for part in message_of(data['message']).parts:
            match part.kind:
                case 'text':
                    yield f'{quoted(readable(part.text))}\n'
                case 'reasoning':
                    yield f'_Thinking:_\n\n{quoted(part.text)}\n'
                case 'call':
                    yield f'Asks for `{part.name}`:\n\n{fenced(part.arguments, "json")}\n'


def _results(results: Any, at: str) -> Iterator[str]:
    for result in results:
        if isinstance(result, Mapping) and 'text' in result:
            how = 'answers' if result.get('ok', True) else 'fails'
            yield f'Tool `{result.get("name", "")}` {how} ({at}):\n\n{fenced(str(result["text"]))}\n'
