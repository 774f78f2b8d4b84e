"""LibraryDesk: what runs that write charts need of a library and of recorded runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.charts.export import export_chart
from engine.charts.library import ChartLibrary
from engine.errors import InvalidInput, NotAllowed, UnknownPattern
from engine.journal.fold_reader import read_fold
from engine.journal.protocol import Journal
from engine.records import RunId, Transition, View
from engine.records.jsonable import shorten
from engine.runtime.activity import BaseChart

LAST_STEPS = 30
"""How many of a run's last steps an author is told."""


@dataclass(frozen=True, slots=True)
class LibraryDesk:
    """The charts of a library, for runs that write charts; see `ChartDesk`."""

    library: ChartLibrary
    journal: Journal

    async def base(self, name: str) -> BaseChart:
        """Return a chart, or a pattern in Python as far as a chart can say it. Raises `UnknownPattern`."""
        await self.library.refresh()
        return await asyncio.to_thread(self._base, name)

    async def trouble(self, run: RunId, reader: str) -> str:
        """Tell how a run went. Raises `UnknownRun`, `NotAllowed`: it is private to somebody else."""
        info = await self.journal.info(run)
        if info.private and info.author != reader:
            raise NotAllowed(f'run {run} is private')
        fold = await read_fold(self.journal, run)
        last = await self.journal.transitions(run, after=max(0, info.seq - LAST_STEPS))
        lines = [
            f'Pattern: {info.pattern}',
            f'Started with: {shorten(info.parameters)}',
            f'Ended as: {info.status}' + (f', {info.error}' if info.error else ''),
            *_agents(fold.view),
            *(['Last steps:'] if last else []),
            *map(_step, last),
        ]
        return '\n'.join(lines)

    async def objection(self, name: str, base: str) -> str:
        """Return why a chart cannot be saved under a name; '' if it can."""
        if self.library.folder is None or base:
            return ''
        await self.library.refresh()
        try:
            self.library.files.path(name)
        except InvalidInput as error:
            return str(error)
        return f'{name!r} is there already: choose another name' if self.library.catalog.find(name) else ''

    async def save(self, name: str, text: str, *, base: str, author: str, note: str) -> str:
        """Save a chart; returns '' if no charts are kept here. Raises `InvalidInput`, `EntryChanged`."""
        if self.library.folder is None:
            return ''
        version = await asyncio.to_thread(self._save, name, text, base, author, note)
        await self.library.refresh()
        return version

    def _base(self, name: str) -> BaseChart:
        pattern = self.library.catalog.pattern(name)
        try:
            read = self.library.read(pattern.name)
        except UnknownPattern:
            text, missing = export_chart(pattern, name=f'my-{pattern.name}')
            notes = (
                [f'It was written in Python; the chart does not say: {"; ".join(missing)}'] if missing else []
            )
            return BaseChart(text=text, notes=tuple(notes))
        return BaseChart(text=read.text, version=read.version if self.library.is_own(pattern.name) else '')

    def _save(self, name: str, text: str, base: str, author: str, note: str) -> str:
        if self.library.files.read(name) == text:  # It was saved just before a crash.
            return self.library.read(name).version
        return self.library.save(name, text, base=base, author=author, note=note).version


def _agents(view: View) -> list[str]:
    return [
        f'Agent {path}: {problem}' for path, agent in view.agents.items() if (problem := agent.get('problem'))
    ]


def _step(step: Transition) -> str:
    event, reason = step.event, step.event.data.get('error') or step.event.data.get('unfit') or ''
    where = f' in {event.at}' if event.at else ''
    problem = f': {shorten(reason)}' if reason else ''
    return f'{step.seq}. {event.name}{where}{problem} → {", ".join(step.active)}'
