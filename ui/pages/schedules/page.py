"""The page of schedules and triggers: next due times and recent outcomes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

from nicegui import ui
from typing_extensions import override

from engine import EngineError, InvalidInput
from ui.components.dialogs import (
    await_answer,
    confirm,
    dialog_frame,
    draw_dialog_actions,
    notify_errors,
    show_secret,
)
from ui.components.forms.form import Form
from ui.components.theme import button, empty_state, frame, page_head, section_head
from ui.components.widgets import Box, CachedElement, Text, set_attributes, text_link
from ui.formatting.values import ago, as_sentence, exact
from ui.pages.schedules import fields
from ui.services.operations import ScheduleOperations, TriggerOperations
from ui.services.schedules import Schedule, Tick, Trigger
from ui.web.backend import Backend
from ui.web.permission import is_permitted, refusal
from ui.web.routing import serve_page

POLL_SECONDS = 2.0
Action = Callable[[], Awaitable[object]]
SHOWN_TICKS = 5
DAY = 86_400.0
T = TypeVar('T', Schedule, Trigger)
TICKS = {
    'claimed': ('Starting', 'running'),
    'started': ('Started', 'done'),
    'skipped': ('Skipped', 'cancelled'),
    'missed': ('Missed', 'cancelled'),
    'buffered': ('Waiting', 'waiting'),
    'failed': ('Failed', 'failed'),
}


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/schedules')
    async def schedules() -> None:
        with frame('Schedules', here='/runs'):
            summary = 'Start runs automatically: on a schedule, by webhook, or when a file arrives.'
            page_head('Schedules', summary, back=('/runs', 'Runs'))
            lists: tuple[StarterList[Any], ...] = (ScheduleList(backend), TriggerList(backend))
        for list_ in lists:
            await list_.refresh()
            ui.timer(POLL_SECONDS, list_.refresh, immediate=False)


class StarterList(ABC, Generic[T]):
    """A list of schedules or triggers, with the dialog to add or edit one."""

    PART: str
    """Its service's name in permissions."""
    TITLE: str
    NEW: str
    EMPTY: str
    ICON: str
    FIELDS: type[fields.StarterFields]
    """The fields of its form, without the available patterns."""

    def __init__(self, backend: Backend) -> None:
        """Draw it, empty."""
        self._backend = backend
        key = self.TITLE.lower()
        with Box('section', 'section', aria_labelledby=key):
            with section_head(self.TITLE, key):
                add = button(self.NEW, icon='add', kind='small', requires=f'{self.PART}.add')
                add.on('click', lambda: self._edit(None))
            self._place = CachedElement('ghost', data_redrawn=True)

    @property
    @abstractmethod
    def service(self) -> Any:
        """The service that stores the entries."""

    @abstractmethod
    def form_values(self, item: T) -> dict[str, Any]:
        """Return the form's values for an entry."""

    @abstractmethod
    async def store(self, item: T | None, form_values: Mapping[str, Any]) -> str:
        """Add or change an entry; return a secret to show once, or ''. Raises `EngineError`."""

    @abstractmethod
    def draw(self, item: T) -> None:
        """Draw an entry's details."""

    @abstractmethod
    def actions(self, item: T) -> Mapping[str, Action]:
        """Return an entry's actions besides Edit and Remove, by button label."""

    async def refresh(self) -> None:
        """Bring the list up to date."""
        if why := refusal(f'{self.PART}.list'):
            if self._place.clear_if_changed(why):
                with self._place:
                    empty_state('lock', f'{why}.')
            return
        try:
            logs = [
                (item, await self.service.log(item.id, SHOWN_TICKS)) for item in await self.service.list()
            ]
        except EngineError as error:
            ui.notify(str(error), type='negative', close_button='Close')
            return
        if not self._place.clear_if_changed(logs):
            return
        with self._place:
            if not logs:
                empty_state(self.ICON, self.EMPTY)
                return
            with Box('card rows', 'ul'):
                for item, ticks in logs:
                    with Box(tag='li'):
                        self._draw(item, ticks)

    def _draw(self, item: T, ticks: Sequence[Tick]) -> None:
        with Box('row-summary'):
            with Box('chips', 'span'):
                Text('b', item.name)
                Text('span', item.action.pattern, 'chip')
                if item.paused:
                    Text('span', 'Paused', 'pill paused')
            self.draw(item)
            now = self._backend().clock.now()
            with Box('chips', 'span'):
                for tick in ticks:
                    word, kind = TICKS[tick.state]
                    when = f'{word} {ago(tick.due, now)}'
                    title = ' '.join(filter(None, [exact(tick.due), tick.reason]))
                    if tick.state == 'started':
                        text_link(f'/runs/{tick.run}', when, f'pill {kind}', title=title)
                    else:
                        Text('span', when, f'pill {kind}', title=title)
            if ticks and ticks[0].reason:
                Text('span', as_sentence(ticks[0].reason), 'muted small')
        if not is_permitted(f'{self.PART}.change'):
            return
        with Box('row-actions'):
            self._draw_button('Edit', item, lambda: self._edit(item))
            for text, act in self.actions(item).items():
                self._draw_button(text, item, act)
            self._draw_button('Remove', item, lambda: self._remove(item))

    def _draw_button(self, text: str, item: T, act: Action) -> None:
        action_button = button(text, kind='small').on('click', lambda: self._perform(act))
        set_attributes(action_button, aria_label=f'{text}: {item.name}')

    async def _perform(self, act: Action) -> None:
        await notify_errors(act())
        await self.refresh()

    async def _remove(self, item: T) -> None:
        if await confirm(f'Remove {item.name}?', 'Its runs are kept.', yes='Remove', no='Cancel'):
            await self.service.remove(item.id)

    async def _edit(self, item: T | None) -> None:
        with dialog_frame(f'Edit {item.name}' if item else self.NEW) as dialog:
            model = fields.with_patterns(self.FIELDS, self._backend().catalog)
            form = Form(model, on_change=lambda: None)
            if item:
                form.set_values(self.form_values(item))
            problem = Text('p', '', 'problem', role='alert')

            async def save() -> None:
                if (submitted := form.submit()) is None:
                    return
                try:
                    dialog.submit((await self.store(item, submitted.model_dump()),))
                except InvalidInput as error:
                    form.show_problems({fields.field_at(name): text for name, text in error.problems.items()})
                    form.focus_problem()
                except EngineError as error:
                    problem.show(str(error))

            draw_dialog_actions(dialog, 'Save', save)
        answer = await await_answer(dialog)
        await self.refresh()
        if isinstance(answer, tuple) and answer[0]:
            explanation = 'The sender signs its webhooks with it (Standard Webhooks).'
            await show_secret('Signing secret of the trigger', explanation, answer[0])


class ScheduleList(StarterList[Schedule]):
    """Schedules, each with its next time and its latest runs."""

    PART = 'schedules'
    FIELDS = fields.ScheduleFields
    TITLE, NEW, EMPTY, ICON = 'Schedules', 'New schedule', 'No schedules yet.', 'schedule'

    @property
    @override
    def service(self) -> ScheduleOperations:
        return self._backend.services.schedules

    @override
    def form_values(self, item: Schedule) -> dict[str, Any]:
        return fields.fields_of_schedule(item)

    @override
    async def store(self, item: Schedule | None, form_values: Mapping[str, Any]) -> str:
        values = fields.schedule_of(form_values)
        await (self.service.change(item.id, **values) if item else self.service.add(Schedule(**values)))
        return ''

    @override
    def draw(self, item: Schedule) -> None:
        Text('span', f'{item.spec.explain()}.', 'muted small')
        if item.note:
            Text('span', item.note, 'muted small')
        if item.next_times:
            zone = ZoneInfo(item.spec.time_zone)
            times = [datetime.fromtimestamp(moment, zone) for moment in item.next_times[:3]]
            next_times = ', '.join(f'{moment:%a} {moment.day} {moment:%b %H:%M:%S}' for moment in times)
            Text('span', f'Next: {next_times} {times[0]:%Z}', 'small num')

    @override
    def actions(self, item: Schedule) -> Mapping[str, Action]:
        async def backfill() -> None:
            now = time.time()
            text = 'Starts a run for each scheduled time of the last 24 hours that has none.'
            if await confirm(f'Backfill {item.name}?', text, yes='Start runs', no='Cancel', kind='primary'):
                await self.service.backfill(item.id, now - DAY, now)

        pause = 'Resume' if item.paused else 'Pause'
        return {
            'Run now': lambda: self.service.run_now(item.id),
            pause: lambda: self.service.change(item.id, paused=not item.paused, note=''),
            'Backfill…': backfill,
        }


class TriggerList(StarterList[Trigger]):
    """Triggers, each with its address or files and its latest runs."""

    PART = 'triggers'
    FIELDS = fields.TriggerFields
    TITLE, NEW, EMPTY, ICON = 'Triggers', 'New trigger', 'No triggers yet.', 'bolt'

    @property
    @override
    def service(self) -> TriggerOperations:
        return self._backend.services.triggers

    @override
    def form_values(self, item: Trigger) -> dict[str, Any]:
        return fields.fields_of_trigger(item)

    async def store(self, item: Trigger | None, form_values: Mapping[str, Any]) -> str:
        """Add or change a trigger; return the secret of a new one."""
        values = fields.trigger_of(form_values)
        if item:
            await self.service.change(item.id, **values)
            return ''
        return (await self.service.add(Trigger(**values))).secret

    def draw(self, item: Trigger) -> None:
        """Draw the webhook's address or the files."""
        if item.kind == 'webhook':
            Text('code', f'POST /api/v1/triggers/{item.id}/webhook', 'small')
        else:
            Text('code', item.files, 'small')

    @override
    def actions(self, item: Trigger) -> Mapping[str, Action]:
        pause = 'Resume' if item.paused else 'Pause'
        return {pause: lambda: self.service.change(item.id, paused=not item.paused)}
