"""The page of schedules and triggers: next due times and recent outcomes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from nicegui import ui
from typing_extensions import override

from engine.operations.experiments import Experiment
from ui.app.backend import Backend
from ui.app.services.operations import ScheduleOperations, TriggerOperations
from ui.app.services.schedules import Schedule, Tick, Trigger
from ui.formatting.values import ago, as_sentence, exact
from ui.web.components.dialogs import confirm, notify_errors
from ui.web.components.theme import frame, page_head
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.schedules.form import ScheduleEditor
from ui.web.pages.schedules.timing import due_words, timing_words
from ui.web.pages.schedules.trigger_form import TriggerEditor
from ui.web.pages.shared.resource_list import Action, ResourceList
from ui.web.permission import is_permitted
from ui.web.routing import serve_page, show_address

POLL_SECONDS = 2.0
SHOWN_TICKS = 5
BROWSER_SECONDS = 2.0
"""Seconds to wait for a browser to say its time zone."""
TIME_ZONE = 'Intl.DateTimeFormat().resolvedOptions().timeZone'
DAY = 86_400.0
T = TypeVar('T', Schedule, Trigger)
TICKS = {
    'claimed': ('Starting', 'running'),
    'started': ('Started', 'done'),
    'skipped': ('Skipped', 'cancelled'),
    'missed': ('Missed', 'cancelled'),
    'buffered': ('Waiting', 'paused'),
    'failed': ('Failed', 'failed'),
}


def register(backend: Backend) -> None:
    """Serve the page; `?experiment=` opens the form of a schedule of that experiment."""

    @serve_page('/schedules', 'Schedules')
    async def show(experiment: str = '') -> None:
        with frame(here='/runs'):
            summary = (
                'Start runs and experiments automatically: on a schedule, by webhook, or when a file arrives.'
            )
            page_head('Schedules', summary, back=('/runs', 'Runs'))
            schedules = ScheduleList(backend)
            lists: tuple[StarterList[Any], ...] = (schedules, TriggerList(backend))
        for list_ in lists:
            await list_.refresh()
            ui.timer(POLL_SECONDS, list_.refresh, immediate=False)
        begin = partial(schedules.add_for, experiment) if experiment else schedules.find_reader
        ui.timer(0.0, begin, once=True)


class StarterList(ResourceList[T]):
    """A list of schedules or triggers, each with its latest runs."""

    REMOVED, DIALOG = 'Its runs are kept.', 'wide'

    @abstractmethod
    def describe(self, item: T) -> None:
        """Draw when it starts runs."""

    def problem(self, item: T) -> str:
        """Return why it could start nothing now, which is shown already; '' if it could."""
        return ''

    def starts(self, item: T) -> str:
        """Return what it starts, in words."""
        pattern = self.backend().catalog.patterns.get(item.pattern)
        return pattern.title if pattern else item.pattern

    @override
    async def details(self, item: T) -> Sequence[Tick]:
        ticks: Sequence[Tick] = await self.service.log(item.id, SHOWN_TICKS)
        return ticks

    @override
    def summarize(self, item: T, details: Sequence[Tick]) -> None:
        with Box('chips', 'span'):
            Text('b', item.name)
            Text('span', self.starts(item), 'chip')
            if item.paused:
                Text('span', 'Paused', 'pill paused')
        self.describe(item)
        now = self.backend().clock.now()
        with Box('chips', 'span'):
            for tick in details:
                word, kind = TICKS[tick.state]
                when = f'{word} {ago(tick.due, now)}'
                title = ' '.join(filter(None, [exact(tick.due), tick.reason]))
                if tick.state == 'started':
                    text_link(
                        f'/{"experiments" if tick.experiment else "runs"}/{tick.run}',
                        when,
                        f'pill {kind}',
                        title=title,
                    )
                else:
                    Text('span', when, f'pill {kind}', title=title)
        if details and details[0].reason and details[0].reason != self.problem(item):
            Text('span', as_sentence(details[0].reason), 'muted small')

    @override
    def actions(self, item: T) -> Mapping[str, Action]:
        return {'Edit': lambda: self.edit(item), **self.starting(item), 'Remove': lambda: self.remove(item)}

    def starting(self, item: T) -> Mapping[str, Action]:
        """Return what can be done about the runs that it starts."""
        return {'Resume' if item.paused else 'Pause': lambda: self.pause(item)}


class ScheduleList(StarterList[Schedule]):
    """Schedules, each with its next time and its latest runs."""

    PART = 'schedules'
    TITLE, NEW, EMPTY, ICON = 'Schedules', 'New schedule', 'No schedules yet.', 'schedule'

    _experiments: Sequence[Experiment] = ()
    """What can be scheduled in place of a run, when the dialog was last opened."""
    _chosen: Experiment | None = None
    """The experiment that a new schedule starts."""
    _reader = ''
    """The reader's time zone; '' until their browser has said it."""

    async def find_reader(self) -> None:
        """Ask the browser for its time zone, unless it is known, and show times in it."""
        if self._reader:
            return
        with suppress(TimeoutError):
            self._reader = str(await ui.run_javascript(TIME_ZONE, timeout=BROWSER_SECONDS) or '')
            self._place.clear_if_changed(self._reader)
            await self.refresh()

    async def add_for(self, experiment: str) -> None:
        """Open the form of a new schedule that starts an experiment again."""
        show_address('/schedules')  # Loaded again, it is not opened again.
        self._chosen = await notify_errors(self.backend().experiments.get(experiment))
        if self._chosen and is_permitted('schedules.add'):
            await self.edit(None)
        self._chosen = None

    @override
    async def edit(self, item: Schedule | None) -> None:
        await self.find_reader()
        self._experiments = await self.backend().experiments.list()
        with self._place:  # the row that was clicked may have been redrawn
            await super().edit(item)

    @override
    def draw_editor(self, item: Schedule | None) -> ScheduleEditor:
        chosen = None if item else self._chosen
        return ScheduleEditor(self.backend, item, self._reader, self._experiments, chosen)

    @override
    def starts(self, item: Schedule) -> str:
        return f'Experiment: {item.experiment.name}' if item.experiment else super().starts(item)

    @override
    def problem(self, item: Schedule) -> str:
        return item.problem

    @override
    def make(self, values: dict[str, Any]) -> Schedule:
        return Schedule(**values)

    @property
    @override
    def service(self) -> ScheduleOperations:
        return self.backend.services.schedules

    @override
    def describe(self, item: Schedule) -> None:
        Text('span', timing_words(item.spec), 'muted small')
        if item.note:
            Text('span', item.note, 'muted small')
        if item.problem:
            with Box('chips', 'span'):
                Text('span', 'Cannot start', 'pill failed')
                Text('span', as_sentence(item.problem), 'small')
        now = self.backend().clock.now()
        for here, there in due_words(item.next_times[:1], item.spec.time_zone, self._reader, now):
            Text('span', ' · '.join(filter(None, [f'Next: {here}', there])), 'small num')

    @override
    async def pause(self, item: Schedule) -> None:
        await self.service.change(item.id, paused=not item.paused, note='')

    @override
    def starting(self, item: Schedule) -> Mapping[str, Action]:
        async def backfill() -> None:
            now = time.time()
            text = 'Starts one for each scheduled time of the last 24 hours that has none.'
            if await confirm(f'Backfill {item.name}?', text, yes='Start', no='Cancel'):
                await self.service.backfill(item.id, now - DAY, now)

        return {
            'Run now': lambda: self.service.run_now(item.id),
            **super().starting(item),
            'Backfill…': backfill,
        }


class TriggerList(StarterList[Trigger]):
    """Triggers, each with its address or files and its latest runs."""

    PART = 'triggers'
    TITLE, NEW, EMPTY, ICON = 'Triggers', 'New trigger', 'No triggers yet.', 'bolt'
    SECRET = ('Signing secret of the trigger', 'The sender signs its webhooks with it (Standard Webhooks).')

    @override
    def draw_editor(self, item: Trigger | None) -> TriggerEditor:
        return TriggerEditor(self.backend, item)

    @override
    def make(self, values: dict[str, Any]) -> Trigger:
        return Trigger(**values)

    @property
    @override
    def service(self) -> TriggerOperations:
        return self.backend.services.triggers

    @override
    def describe(self, item: Trigger) -> None:
        if item.kind == 'webhook':
            Text('code', f'POST /api/v1/triggers/{item.id}/webhook', 'small')
        else:
            Text('code', item.files, 'small')
