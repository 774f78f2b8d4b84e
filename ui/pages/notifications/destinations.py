"""The destinations of notifications: a list, and the dialog to add or edit one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nicegui import ui
from pydantic import BaseModel, Field, ValidationInfo, create_model, field_validator
from pydantic_core import PydanticCustomError

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
from ui.components.forms.record_form import form_model
from ui.components.theme import button, empty_state, section_head
from ui.components.widgets import Box, Text, set_attributes
from ui.formatting.values import as_sentence
from ui.services.notifications import CHANNELS, EVENT_TYPES, EVENTS, Destination, address_problem, parse
from ui.web.backend import Backend

EVENT_NAMES = EVENTS.choices
FIELDS: dict[str, str] = {event: event.replace('.', '_') for event in EVENT_TYPES}
"""The form field of each event."""
SWITCHES: dict[str, Any] = {
    field: (bool, Field(True, title=EVENT_NAMES[event])) for event, field in FIELDS.items()
}


def _usable(value: str, info: ValidationInfo) -> str:
    if problem := address_problem(str(info.data.get('channel')), value):
        raise PydanticCustomError('address', problem[:1].upper() + problem[1:])
    return value


FORM: type[BaseModel] = create_model(
    'DestinationForm',
    __base__=form_model(Destination, without=('events',)),
    __validators__={'usable': field_validator('address')(_usable)},
    **SWITCHES,
)


class DestinationList:
    """All destinations with their actions."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        with Box('section', 'section', aria_labelledby='destinations'):
            with section_head('Destinations', 'destinations'):
                button('Add destination', icon='add', kind='small').on('click', lambda: self._edit(None))
            self._place = Box('ghost')

    async def load(self) -> None:
        """Read the destinations, and draw their list anew."""
        destinations = await notify_errors(self._backend.services.notifications.destinations.list())
        self._place.clear()
        with self._place:
            if not destinations:
                empty_state('send', 'No destinations yet.')
                return
            with Box('card rows', 'ul'):
                for destination in destinations:
                    with Box(tag='li'):
                        self._draw(destination)

    def _draw(self, destination: Destination) -> None:
        with Box('row-summary'):
            Text('b', destination.name)
            Text('span', f'{CHANNELS.choices[destination.channel]}: {destination.address}', 'muted small')
            with Box('chips', 'span'):
                if destination.paused:
                    Text('span', 'Paused', 'pill paused')
                for event in destination.events if len(destination.events) < len(EVENT_TYPES) else ():
                    Text('span', EVENT_NAMES[event], 'chip')
                for name in ('pattern', 'tag', 'person'):
                    if value := getattr(destination, name):
                        Text('span', f'{name} {value}', 'chip')
            if destination.problem:
                Text('span', as_sentence(destination.problem), 'problem')
        with Box('row-actions'):
            pause = 'Resume' if destination.paused else 'Pause'
            for text, act in (
                ('Send test', lambda: self._test(destination)),
                ('Edit', lambda: self._edit(destination)),
                (pause, lambda: self._pause(destination)),
                ('Remove', lambda: self._remove(destination)),
            ):
                action_button = button(text, kind='small').on('click', act)
                set_attributes(action_button, aria_label=f'{text}: {destination.name}')

    async def _test(self, destination: Destination) -> None:
        if await notify_errors(self._backend.services.notifications.test(destination.id)):
            ui.notify('Test queued: see the delivery log.', type='positive')

    async def _pause(self, destination: Destination) -> None:
        destinations = self._backend.services.notifications.destinations
        await notify_errors(destinations.change(destination.id, paused=not destination.paused))
        await self.load()

    async def _remove(self, destination: Destination) -> None:
        text = 'Messages not yet sent to it are dropped.'
        if await confirm(f'Remove {destination.name}?', text, yes='Remove', no='Cancel'):
            await notify_errors(self._backend.services.notifications.destinations.remove(destination.id))
            await self.load()

    async def _edit(self, destination: Destination | None) -> None:
        """Open the dialog to add or edit a destination; a new secret is shown once."""
        with dialog_frame(f'Edit {destination.name}' if destination else 'Add destination') as dialog:
            form = Form(FORM, on_change=lambda: None)
            if destination:
                form.set_values(_form_values(destination))

            async def save() -> None:
                if (values := form.submit()) is None:
                    return
                try:
                    dialog.submit(await self._store(destination, _parse_values(values.model_dump())))
                except InvalidInput as error:
                    named = {'events': FIELDS['run.waiting']}
                    form.show_problems({named.get(name, name): text for name, text in error.problems.items()})
                    form.focus_problem()
                except EngineError as error:
                    dialog.submit(error)

            draw_dialog_actions(dialog, 'Save', save)
        answer = await await_answer(dialog)
        if isinstance(answer, EngineError):
            ui.notify(str(answer), type='negative', multi_line=True, close_button='Close')
        await self.load()
        if destination is None and isinstance(answer, Destination) and answer.secret:
            explanation = 'The receiver checks signatures with it (Standard Webhooks).'
            await show_secret(f'Signing secret of {answer.name}', explanation, answer.secret)

    async def _store(self, destination: Destination | None, values: dict[str, Any]) -> Destination:
        destinations = self._backend.services.notifications.destinations
        if destination is None:
            return await destinations.add(parse(values))
        return await destinations.change(destination.id, **values)


def _form_values(destination: Destination) -> dict[str, Any]:
    chosen = {FIELDS[event]: event in destination.events for event in EVENT_TYPES}
    return {**asdict(destination), **chosen}


def _parse_values(raw: dict[str, Any]) -> dict[str, Any]:
    chosen = {event: raw.pop(FIELDS[event]) for event in EVENT_TYPES}
    return {**raw, 'events': tuple(event for event, is_chosen in chosen.items() if is_chosen)}
