"""The form of triggers: what sets one off, and which parameters are taken from what comes in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from textwrap import shorten
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from engine.records import split_pointer
from ui.app.backend import Backend
from ui.app.services.schedules import KINDS, Trigger
from ui.formatting.values import json_problem, problem_sentence
from ui.web.components.forms.form import Form
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes
from ui.web.pages.schedules.form import NameField
from ui.web.pages.shared.launching.launch_choice import LaunchChoice
from ui.web.pages.shared.launching.launch_fields import FOR_TRIALS

WHOLE = 'All of it'
FILE_FIELDS = {
    '/text': 'The text of the file',
    '/name': 'Its name',
    '/path': 'Its path',
    '/size': 'Its size in bytes',
}
BY_WEBHOOK: Any = {'when': {'kind': ['webhook']}}
BY_FILE: Any = {'when': {'kind': ['file']}}
MAX_FIELDS = 200
"""Maximum number of fields of an example that are offered."""
SHOWN = 40
"""Maximum length of a value that is shown beside its field."""


class SourceFields(BaseModel):
    """What sets off a trigger."""

    model_config = ConfigDict(str_strip_whitespace=True)

    kind: Literal['webhook', 'file'] = Field(
        'webhook', title='Triggered by', json_schema_extra={'labels': dict(KINDS.choices)}
    )
    files: str = Field(
        '',
        max_length=1_000,
        title='Files',
        description='Each new file here starts a run; the last part may have wildcards: /srv/in/*.csv',
        json_schema_extra={'format': 'path', **BY_FILE},
    )
    example: str = Field(
        '',
        title='Example of what is sent',
        description='Paste the JSON of one webhook to choose from its fields below; it is not kept',
        json_schema_extra={'multiline': True, **BY_WEBHOOK},
    )

    @field_validator('files')
    @classmethod
    def _require_files(cls, text: str, info: ValidationInfo) -> str:
        if info.data.get('kind') == 'file' and not text.startswith('/'):
            raise ValueError('Enter a path that begins with /, such as /srv/in/*.csv.')
        return text

    @field_validator('example')
    @classmethod
    def _read_example(cls, text: str, info: ValidationInfo) -> str:
        if text and info.data.get('kind') == 'webhook':
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                raise ValueError(json_problem(error)) from None
        return text


class ParameterMapping:
    """Rows that say which parameter is taken from which field of what comes in."""

    def __init__(self, mapping: Mapping[str, str], *, on_change: Callable[[], None]) -> None:
        """Hold a mapping of parameters to pointers; `offer` draws it."""
        self.mapping = dict(mapping)
        self._on_change = on_change
        self._parameters: Mapping[str, str] = {}
        self._fields: Mapping[str, str] = {}
        with Box('field', 'section', aria_label='Parameters from what comes in'):
            with Box('field-head'):
                Text('span', 'Taken from what comes in', 'label')
            self._rows = Box('map-rows')
            self._problem = Text('p', '', 'problem', role='alert')

    def offer(self, parameters: Mapping[str, str], fields: Mapping[str, str]) -> None:
        """Offer these parameters and fields, by name and pointer; drop what the pattern does not have."""
        self._parameters, self._fields = parameters, fields
        self.mapping = {name: pointer for name, pointer in self.mapping.items() if name in parameters}
        self._draw()

    def show_problem(self, problem: str) -> None:
        """Show a problem with the mapping; '' for none."""
        self._problem.show(problem_sentence(problem))

    def _draw(self) -> None:
        free = [name for name in self._parameters if name not in self.mapping]
        self._rows.clear()
        with self._rows:
            for name, pointer in self.mapping.items():
                self._draw_row(name, pointer, [name, *free])
            if free:
                with Box():
                    add = button('Add a parameter', icon='add', kind='small')
                    add.on(
                        'click', lambda: self._set({**self.mapping, free[0]: next(iter(self._fields), '')})
                    )

    def _draw_row(self, name: str, pointer: str, names: list[str]) -> None:
        fields = dict(self._fields)
        fields.setdefault(pointer, pointer_words(pointer))
        with Box('map-row'):
            which = NativeSelect({name: self._parameters[name] for name in names}, value=name)
            set_attributes(which, aria_label='Parameter')
            Text('span', 'from', 'muted small')
            where = NativeSelect(fields, value=pointer)
            set_attributes(where, aria_label=f'{self._parameters[name]} is taken from')
            drop = button('', icon='close', kind='quiet small', label=f'Do not take {self._parameters[name]}')

        def change() -> None:
            rows = {which.value if key == name else key: text for key, text in self.mapping.items()}
            self._set({**rows, which.value: where.value})

        which.on_value_change(lambda _: change())
        where.on_value_change(lambda _: change())
        drop.on('click', lambda: self._set({key: text for key, text in self.mapping.items() if key != name}))

    def _set(self, mapping: dict[str, str]) -> None:
        self.mapping = mapping
        self.show_problem('')
        self._draw()
        self._on_change()


class TriggerEditor:
    """The form of a trigger."""

    def __init__(self, backend: Backend, trigger: Trigger | None) -> None:
        """Draw it."""
        self._name = Form(NameField, on_change=lambda: None)
        self._source = Form(SourceFields, on_change=self._offer)
        self._launch = LaunchChoice(
            backend,
            trigger.action if trigger else None,
            on_pattern=self._offer,
            without=lambda: FOR_TRIALS | self._mapping.mapping.keys(),
        )
        with self._launch.head:
            mapping = trigger.mapping if trigger else {}
            self._mapping = ParameterMapping(mapping, on_change=self._launch.show)
        if trigger:
            self._name.set_values({'name': trigger.name})
            self._source.set_values({'kind': trigger.kind, 'files': trigger.files})
        self._offer()
        self._launch.show()

    def submit(self) -> dict[str, Any] | None:
        """Return the trigger's values; if a field is invalid, focus the first and return None."""
        launch = self._launch.submit()
        source, name = self._source.submit(), self._name.submit()  # upwards: the first keeps the focus
        if launch is None or name is None or not isinstance(source, SourceFields):
            return None
        return {
            'name': name.model_dump()['name'],
            'kind': source.kind,
            'files': source.files,
            'action': launch,
            'mapping': dict(self._mapping.mapping),
        }

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems, by the paths of the record's fields, and focus the first."""
        mapped = {path: problems[path] for path in problems if path.startswith('mapping')}
        action = {path: problems[path] for path in problems if path.startswith('action.')}
        source = {path: problems[path] for path in problems if path in SourceFields.model_fields}
        self._mapping.show_problem('; '.join(mapped.values()))
        self._launch.show_problems({path.removeprefix('action.'): text for path, text in action.items()})
        self._source.show_problems(source)
        self._name.show_problems(
            {path: problems[path] for path in problems if path not in mapped | action | source}
        )
        self._source.focus_problem()
        self._name.focus_problem()

    def _offer(self) -> None:
        """Offer the fields of what comes in, for the parameters of the chosen pattern."""
        source, _ = self._source.parse()
        if not isinstance(source, SourceFields):
            raw = self._source.raw
            source = SourceFields.model_construct(kind=raw['kind'], example='', files='')
        self._mapping.offer(
            self._launch.parameters,
            FILE_FIELDS if source.kind == 'file' else example_fields(source.example),
        )


def example_fields(text: str) -> dict[str, str]:
    """Return the fields of an example in JSON, in words, by pointer: first those with one value."""
    described = dict(islice(_walk(json.loads(text), ''), MAX_FIELDS)) if text else {}
    single = {pointer: words for pointer, words in described.items() if ': ' in words}
    return {**single, **described, '': WHOLE}


def _walk(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    inner = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    if pointer:
        text = '' if isinstance(value, list | dict) else f': {shorten(str(value), SHOWN)}'
        yield pointer, f'{pointer_words(pointer)}{text}'
    for name, item in inner:
        yield from _walk(item, f'{pointer}/{str(name).replace("~", "~0").replace("/", "~1")}')


def pointer_words(pointer: str) -> str:
    """Return a JSON Pointer in words: issue.title."""
    return '.'.join(split_pointer(pointer)) if pointer else WHOLE
