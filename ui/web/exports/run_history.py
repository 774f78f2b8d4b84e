"""The data of the offline page: a run, read from its first step to its last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import Conductor, EngineError, Transition
from engine.journal import Fold
from engine.records import Note, RunId, RunInfo, Shape, View
from ui.formatting.diagram.rendering import highlight
from ui.formatting.sentences import step_facts, step_sentence
from ui.formatting.steps import (
    EdgeOutcome,
    decisive_guards,
    edge_outcomes,
    guard_text,
    other_outcomes,
    others_title,
    path_text,
)
from ui.formatting.usage import LIMITS, gauge_text, usage_headline
from ui.web.exports.text import CannotExport, note_date
from ui.web.replay.conversation import transcript_entry
from ui.web.replay.index import Index
from ui.web.replay.lane_news import LaneNews, flags_of, legend
from ui.web.replay.marks import Mark

STEPS_PER_READ = 200
"""Steps read at once."""
MAX_STEPS = 20_000
MAX_TEXT = 96 << 20
"""Maximum characters of changes on one page; longer histories need a bundle."""
MAX_FILE, MAX_FILES = 20_000, 200
"""Maximum characters shown of a file, and files shown of an agent."""


@dataclass(slots=True)
class RunHistory:
    """Everything the page needs from a run, as JSON values."""

    info: RunInfo
    shape: Shape
    view: View
    """The run at its last step."""
    steps: list[dict[str, Any]]
    timeline: dict[str, Any]
    """The bar of time: its words, and what `LaneNews` sends."""
    files: list[dict[str, Any]]


async def read_pages(conductor: Conductor, info: RunInfo) -> AsyncIterator[list[Transition]]:
    """Read the run's current steps, a page at a time."""
    for first in range(0, info.seq, STEPS_PER_READ):
        yield await conductor.transitions(info.id, after=first, until=min(first + STEPS_PER_READ, info.seq))


async def read_history(conductor: Conductor, run: RunId) -> RunHistory:
    """Read a run. Raises `UnknownRun`, `CannotExport` if it is too long for one page."""
    info = await conductor.info(run)
    if info.seq > MAX_STEPS:
        raise CannotExport(
            f'it has {info.seq:,} steps, and a page holds {MAX_STEPS:,} at most: save it as a bundle'
        )
    shape = await conductor.shape(run)
    reader = _Reader(info, shape, await conductor.notes(run))
    async for steps in read_pages(conductor, info):
        await asyncio.to_thread(reader.add, steps)
    view = reader.fold.view
    return RunHistory(
        info=info,
        shape=shape,
        view=view,
        steps=reader.steps,
        timeline=reader.timeline(),
        files=await _list_changes(conductor, info, view.files),
    )


class _Reader:
    """Reads the steps once, in order."""

    def __init__(self, info: RunInfo, shape: Shape, notes: Sequence[Note]) -> None:
        self._notes: dict[int, list[Note]] = {}
        for note in notes:
            self._notes.setdefault(note.seq, []).append(note)
        self.fold, self.steps = Fold(info.id, shape), list[dict[str, Any]]()
        self._shape, self._text = shape, 0
        self._index = Index(shape)
        self._state: dict[str, Any] = {}

    def add(self, steps: Sequence[Transition]) -> None:
        for step in steps:
            before = self.steps[-1]['time'] if self.steps else 0.0
            self.fold.apply(step)
            self.steps.append(self._step(step, before))
            if self._text > MAX_TEXT:
                raise CannotExport('it has too much text for one page: save it as a bundle')

    def timeline(self) -> dict[str, Any]:
        notes = (
            Mark(seq=seq, kind='note', text='; '.join(note.text for note in notes))
            for seq, notes in self._notes.items()
        )
        lanes = self._index.lanes
        return {
            **legend(self._shape, lanes),
            'news': LaneNews(self._index).take(),
            'notes': flags_of(notes, lanes),
        }

    def _step(self, step: Transition, before: float) -> dict[str, Any]:
        view = self.fold.view
        self._index.add(step)
        changes = [[change.op, change.path, change.value] for change in step.changes]
        if step.event.name == 'start':
            changes.insert(0, ['replace', '/memory', step.event.data.get('memory', {})])
        block = transcript_entry(step, self._shape)
        outcomes = edge_outcomes(step, self._shape)
        others = other_outcomes(outcomes)
        notes = [[note.text, note_date(note)] for note in self._notes.get(step.seq, ())]
        self._text += sum(len(text) for text, _ in notes)
        self._text += sum(_length(change[2]) for change in changes) + len(block['text'] if block else '')
        return _drop_empty(
            time=step.time,
            title=step_sentence(step, self._shape),
            facts=step_facts(step, step.time - before if before else None),
            error=str(step.event.data.get('error') or ''),
            entered=step.entered,
            lit={
                name: paths
                for name, paths in highlight(self._shape, view, step).items()
                if paths and name not in ('visited', 'traversed')
            },
            guards=[guard_text(guard.name, guard.value, edge) for edge, guard in decisive_guards(outcomes)],
            others=[_outcome(*other) for other in others.items()],
            others_title=others_title(len(others)) if others else '',
            changes=changes,
            block=block,
            notes=notes,
            now=self._now(view),
        )

    def _now(self, view: View) -> dict[str, Any]:
        """Return the values shown for the whole run that differ from the step before."""
        state = {
            'status': view.status.value,
            'where': ', '.join(map(path_text, view.active)),
            'used': usage_headline(view.usage),
            'waiting': view.waiting,
            'error': view.error,
            'budget': [
                [f'{LIMITS[kind]}: {gauge_text(kind, gauge)}', gauge.used, gauge.limit]
                for kind, gauge in view.budget.items()
            ],
            'spending': [
                [path_text(path), usage_headline(spent.total), sorted(spent.models)]
                for path, spent in sorted(view.spending.items())
            ],
        }
        fresh = {name: value for name, value in state.items() if self._state.get(name) != value}
        self._state = state
        return fresh


def _outcome(outcome: EdgeOutcome, target: str) -> dict[str, Any]:
    return {
        'to': target,
        'reason': outcome.reason,
        'guards': [guard_text(guard.name, guard.value, outcome.edge) for guard in outcome.guards],
    }


def _drop_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _length(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(len(key) + _length(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_length, value))
    return len(value) if isinstance(value, str) else 5


async def _list_changes(
    conductor: Conductor, info: RunInfo, snapshots: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return each agent's files at the end, with the beginning of their text."""
    turns = []
    for agent, snapshot in snapshots.items():
        try:
            files = await conductor.workspaces.files(info.id, snapshot)
            rows = [
                [
                    file.path,
                    file.size,
                    await _read_text(conductor, info.id, file.digest) if file.digest else '',
                ]
                for file in files[:MAX_FILES]
            ]
        except EngineError as error:
            rows = [[str(error), 0, '']]
            files = []
        turns.append({'agent': path_text(agent), 'files': rows, 'more': max(0, len(files) - MAX_FILES)})
    return turns


async def _read_text(conductor: Conductor, run: RunId, digest: str) -> str:
    content = await conductor.workspaces.content(run, digest)
    if b'\0' in content[:1_000]:
        return 'Not a text file.'
    text = content[: MAX_FILE * 4].decode(errors='replace')
    return text if len(text) <= MAX_FILE else f'{text[:MAX_FILE]}\n… cut here'
