"""The destinations of notifications: a list, and the dialog to add or edit one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nicegui import ui
from pydantic import BaseModel, Field, ValidationInfo, create_model, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import override

from ui.app.services.notifications import CHANNELS, EVENT_TYPES, EVENTS, Destination, address_problem, parse
from ui.app.services.operations import DestinationOperations
from ui.formatting.values import as_sentence
from ui.web.components.forms.form import Form
from ui.web.components.forms.record_form import form_model
from ui.web.components.widgets import Box, Text
from ui.web.pages.shared.resource_list import Action, ResourceList

EVENT_NAMES = EVENTS.choices
FIELDS: dict[str, str] = {event: event.replace('.', '_') for event in EVENT_TYPES}
"""The form field of each event."""
SWITCHES: dict[str, Any] = {
    field: (bool, Field(True, title=EVENT_NAMES[event])) for event, field in FIELDS.items()
}


def _usable(value: str, info: ValidationInfo) -> str:
    if problem := address_problem(str(info.data.get('channel')), value):
        raise PydanticCustomError('address', problem)
    return value


FORM: type[BaseModel] = create_model(
    'DestinationForm',
    __base__=form_model(Destination, without=('events',)),
    __validators__={'usable': field_validator('address')(_usable)},
    **SWITCHES,
)


def _form_values(destination: Destination) -> dict[str, Any]:
    chosen = {FIELDS[event]: event in destination.events for event in EVENT_TYPES}
    return {**asdict(destination), **chosen}


def _parse_values(raw: dict[str, Any]) -> dict[str, Any]:
    chosen = {event: raw.pop(FIELDS[event]) for event in EVENT_TYPES}
    return {**raw, 'events': tuple(event for event, is_chosen in chosen.items() if is_chosen)}


class DestinationEditor:
    """The form of a destination."""

    def __init__(self, destination: Destination | None) -> None:
        """Draw it."""
        self._form = Form(FORM, on_change=lambda: None)
        if destination:
            self._form.set_values(_form_values(destination))

    def submit(self) -> dict[str, Any] | None:
        """Return the destination's values; if a field is invalid, focus the first and return None."""
        submitted = self._form.submit()
        return _parse_values(submitted.model_dump()) if submitted else None

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems, by the paths of the record's fields, and focus the first."""
        first = FIELDS['run.waiting']
        self._form.show_problems(
            {first if path == 'events' else path: text for path, text in problems.items()}
        )
        self._form.focus_problem()


class DestinationList(ResourceList[Destination]):
    """All destinations with their actions."""

    PART = 'destinations'
    TITLE, NEW, EMPTY, ICON = 'Destinations', 'Add destination', 'No destinations yet.', 'send'
    REMOVED = 'Messages not yet sent to it are dropped.'
    SECRET = ('Signing secret of {name}', 'The receiver checks signatures with it (Standard Webhooks).')

    @property
    @override
    def service(self) -> DestinationOperations:
        return self.backend.services.notifications.destinations

    @override
    def draw_editor(self, item: Destination | None) -> DestinationEditor:
        return DestinationEditor(item)

    @override
    def make(self, values: dict[str, Any]) -> Destination:
        return parse(values)

    @override
    def summarize(self, item: Destination, details: None) -> None:
        Text('b', item.name)
        Text('span', f'{CHANNELS.choices[item.channel]}: {item.address}', 'muted small')
        with Box('chips', 'span'):
            if item.paused:
                Text('span', 'Paused', 'pill paused')
            for event in item.events if len(item.events) < len(EVENT_TYPES) else ():
                Text('span', EVENT_NAMES[event], 'chip')
            for name in ('pattern', 'tag', 'person'):
                if value := getattr(item, name):
                    Text('span', f'{name} {value}', 'chip')
        if item.problem:
            Text('span', as_sentence(item.problem), 'problem')

    @override
    def actions(self, item: Destination) -> Mapping[str, Action]:
        async def test() -> None:
            await self.backend.services.notifications.test(item.id)
            ui.notify('Test queued: see the delivery log.', type='positive')

        return {
            'Send test': test,
            'Edit': lambda: self.edit(item),
            'Resume' if item.paused else 'Pause': lambda: self.pause(item),
            'Remove': lambda: self.remove(item),
        }
