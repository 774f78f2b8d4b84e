"""The page of schedules and triggers: next due times and recent outcomes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from nicegui import ui
from pydantic import BaseModel
from typing_extensions import override

from ui.app.backend import Backend
from ui.app.services.operations import ScheduleOperations, TriggerOperations
from ui.app.services.schedules import Schedule, Tick, Trigger
from ui.formatting.values import ago, as_sentence, exact
from ui.web.components.dialogs import confirm
from ui.web.components.theme import frame, page_head
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.schedules import form
from ui.web.pages.shared.resource_list import Action, RecordForm, ResourceList
from ui.web.routing import serve_page

POLL_SECONDS = 2.0
SHOWN_TICKS = 5
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
    """Serve the page."""

    @serve_page('/schedules', 'Schedules')
    async def schedules() -> None:
        with frame(here='/runs'):
            summary = 'Start runs automatically: on a schedule, by webhook, or when a file arrives.'
            page_head('Schedules', summary, back=('/runs', 'Runs'))
            lists: tuple[StarterList[Any], ...] = (ScheduleList(backend), TriggerList(backend))
        for list_ in lists:
            await list_.refresh()
            ui.timer(POLL_SECONDS, list_.refresh, immediate=False)


class StarterList(ResourceList[T]):
    """A list of schedules or triggers, each with its latest runs."""

    REMOVED = 'Its runs are kept.'

    @abstractmethod
    def describe(self, item: T) -> None:
        """Draw when it starts runs."""

    @override
    def model(self) -> type[BaseModel]:
        return form.with_patterns(self.FORM.model, self.backend().catalog)

    @override
    async def details(self, item: T) -> Sequence[Tick]:
        ticks: Sequence[Tick] = await self.service.log(item.id, SHOWN_TICKS)
        return ticks

    @override
    def summarize(self, item: T, details: Sequence[Tick]) -> None:
        with Box('chips', 'span'):
            Text('b', item.name)
            Text('span', item.action.pattern, 'chip')
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
                    text_link(f'/runs/{tick.run}', when, f'pill {kind}', title=title)
                else:
                    Text('span', when, f'pill {kind}', title=title)
        if details and details[0].reason:
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
    FORM = RecordForm(
        model=form.ScheduleFields,
        show=form.fields_of_schedule,
        parse=form.schedule_of,
        make=Schedule,
        field_at=form.field_at,
    )
    TITLE, NEW, EMPTY, ICON = 'Schedules', 'New schedule', 'No schedules yet.', 'schedule'

    @property
    @override
    def service(self) -> ScheduleOperations:
        return self.backend.services.schedules

    @override
    def describe(self, item: Schedule) -> None:
        Text('span', f'{item.spec.explain()}.', 'muted small')
        if item.note:
            Text('span', item.note, 'muted small')
        if item.next_times:
            zone = ZoneInfo(item.spec.time_zone)
            times = [datetime.fromtimestamp(moment, zone) for moment in item.next_times[:3]]
            next_times = ', '.join(f'{moment:%a} {moment.day} {moment:%b %H:%M:%S}' for moment in times)
            Text('span', f'Next: {next_times} {times[0]:%Z}', 'small num')

    @override
    async def pause(self, item: Schedule) -> None:
        await self.service.change(item.id, paused=not item.paused, note='')

    @override
    def starting(self, item: Schedule) -> Mapping[str, Action]:
        async def backfill() -> None:
            now = time.time()
            text = 'Starts a run for each scheduled time of the last 24 hours that has none.'
            if await confirm(f'Backfill {item.name}?', text, yes='Start runs', no='Cancel'):
                await self.service.backfill(item.id, now - DAY, now)

        return {
            'Run now': lambda: self.service.run_now(item.id),
            **super().starting(item),
            'Backfill…': backfill,
        }


class TriggerList(StarterList[Trigger]):
    """Triggers, each with its address or files and its latest runs."""

    PART = 'triggers'
    FORM = RecordForm(
        model=form.TriggerFields,
        show=form.fields_of_trigger,
        parse=form.trigger_of,
        make=Trigger,
        field_at=form.field_at,
    )
    TITLE, NEW, EMPTY, ICON = 'Triggers', 'New trigger', 'No triggers yet.', 'bolt'
    SECRET = ('Signing secret of the trigger', 'The sender signs its webhooks with it (Standard Webhooks).')

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
