"""The scorers of a new experiment; the forms of their settings derive from their records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_jsonable_python

from engine import InvalidInput
from engine.operations.experiments import KINDS, MAX_SCORERS, Scorer, ScorerSpec, read_scorers
from ui.formatting.experiments.words import settings_words
from ui.formatting.fields.record_fields import record_fields
from ui.formatting.values import first_sentence
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions
from ui.web.components.forms.form import Form
from ui.web.components.forms.record_form import form_model
from ui.web.components.menus import PickerItem, picker
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text

TITLES: Mapping[str, str] = {
    'contains': 'Contains',
    'equal': 'Equal',
    'model': 'Judged by a model',
    'people': 'Judged by people',
    'path': 'Path and use',
    'status': 'Status',
    'number': 'Number',
    'regex': 'Regular expression',
    'schema': 'JSON Schema',
    'file': 'File',
    'command': 'Command',
    'tests': 'Tests pass',
    'python': 'Python function',
}
"""The titles of the kinds, the most used first."""
SHOWN_FIRST = (
    *('value', 'visited', 'not_visited', 'when', 'within', 'found', 'status', 'compare', 'at_least', 'model'),
)
"""Settings that are not folded away though they have a default."""
MORE = 'More settings'
ANY = {'': 'Does not matter', 'yes': 'Yes', 'no': 'No'}


def settings_model(kind: str) -> type[BaseModel]:
    """Return the form's model of a scorer's settings, with its docstrings as help."""
    scorer = KINDS[kind]
    shown: dict[str, Any] = {}
    bases = [base for base in reversed(scorer.__mro__) if issubclass(base, Scorer)]
    docs = {item.name: item.help for base in bases for item in record_fields(base) if item.help}
    for name, info in scorer.model_fields.items():
        annotation: Any = info.annotation
        extra: dict[str, Any] = {} if info.is_required() or name in SHOWN_FIRST else {'group': MORE}
        default = ... if info.is_required() else info.get_default(call_default_factory=True)
        if annotation is Any:
            annotation, default = str, ''
            extra['multiline'] = True
        elif set(get_args(annotation)) == {bool, type(None)}:
            annotation, default = Literal['', 'yes', 'no'], ''
            extra['labels'] = ANY
        title = (info.alias or name).replace('_', ' ').capitalize()
        field = Field(default, title=title, description=docs.get(name, ''), json_schema_extra=extra)
        field.metadata = info.metadata
        shown[name] = (annotation, field)
    return create_model(scorer.__name__, __config__=ConfigDict(str_strip_whitespace=True), **shown)


def read_settings(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scorer's settings from the values of its form; those at their defaults are left out."""
    settings = {}
    for name, info in KINDS[kind].model_fields.items():
        value = values[name]
        if info.annotation is Any:
            value = _read_json(value)
        elif set(get_args(info.annotation)) == {bool, type(None)}:
            value = {'': None, 'yes': True, 'no': False}[value]
        if info.is_required() or value != to_jsonable_python(info.get_default(call_default_factory=True)):
            settings[info.alias or name] = value
    return settings


def form_values(kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a form for a scorer's settings."""
    values: dict[str, Any] = {}
    for name, info in KINDS[kind].model_fields.items():
        if (info.alias or name) in settings:
            value = settings[info.alias or name]
            if info.annotation is Any and not isinstance(value, str):
                value = json.dumps(value, ensure_ascii=False)
            elif isinstance(value, bool) and info.annotation is not bool:
                value = 'yes' if value else 'no'
            values[name] = value
    return values


def _read_json(text: str) -> Any:
    """Return a JSON value; a text that is none stands for itself, and nothing for None."""
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return text


class ScorerList:
    """The scorers, the first of which decides."""

    def __init__(self, *, on_change: Callable[[], None]) -> None:
        """Draw none; `on_change` is called after every change."""
        self._on_change = on_change
        self.scorers: tuple[ScorerSpec, ...] = ()
        self._place = CachedElement('variant-list', data_redrawn=True)
        with Box() as self._add:
            kinds = [name for name in TITLES if name in KINDS] + [
                name for name in KINDS if name not in TITLES
            ]
            items = [
                PickerItem(
                    title=TITLES.get(kind, kind),
                    note=first_sentence(KINDS[kind].__doc__ or ''),
                    on_choose=partial(self._add_one, kind),
                )
                for kind in kinds
            ]
            picker('Add scorer', 'add', items, kind='small')
        self._show()

    def set_scorers(self, scorers: Sequence[ScorerSpec]) -> None:
        """Show these scorers."""
        self.scorers = tuple(scorers)
        self._show()

    def _show(self) -> None:
        if not self._place.clear_if_changed(self.scorers):
            return
        with self._place:
            if not self.scorers:
                Text('p', 'At least one scorer decides which variant is better.', 'muted small')
            for place, spec in enumerate(self.scorers):
                self._draw(place, spec)
        self._add.set_visibility(len(self.scorers) < MAX_SCORERS)

    def _draw(self, place: int, spec: ScorerSpec) -> None:
        with Box('variant-row'):
            with Box('variant-words'):
                with Box('chips'):
                    Text('b', spec.name, dir='auto')
                    Text('span', TITLES.get(spec.kind, spec.kind), 'chip')
                    if not place:
                        Text('span', 'decides', 'chip strong')
                Text('span', settings_words(spec), 'muted small', dir='auto')
            with Box('row-actions'):
                name = spec.name
                button('Edit', kind='small', aria_label=f'Edit: {name}').on(
                    'click', lambda: self._edit(place)
                )
                if place:
                    first = button('Decides', kind='small', aria_label=f'Have {name} decide')
                    others = [item for item in self.scorers if item is not spec]
                    first.on('click', lambda: self._set([spec, *others]))
                drop = button('Remove', kind='small', aria_label=f'Remove: {name}')
                drop.on('click', lambda: self._set([item for item in self.scorers if item is not spec]))

    def _set(self, scorers: Sequence[ScorerSpec]) -> None:
        self.set_scorers(scorers)
        self._on_change()

    async def _add_one(self, kind: str) -> None:
        taken = {spec.name for spec in self.scorers}
        names = (f'{kind} {number}' if number > 1 else kind for number in range(1, MAX_SCORERS + 2))
        name = next(name for name in names if name not in taken)
        if spec := await self._ask(ScorerSpec(name=name, kind=kind)):
            self._set([*self.scorers, spec])

    async def _edit(self, place: int) -> None:
        if spec := await self._ask(self.scorers[place]):
            self._set([*self.scorers[:place], spec, *self.scorers[place + 1 :]])

    async def _ask(self, spec: ScorerSpec) -> ScorerSpec | None:
        """Ask for the name and the settings of a scorer."""
        with dialog_frame(TITLES.get(spec.kind, spec.kind), 'wide') as dialog:
            Text('p', first_sentence(KINDS[spec.kind].__doc__ or ''), 'muted')
            settings = Form(settings_model(spec.kind), on_change=lambda: None)
            settings.set_values(form_values(spec.kind, spec.settings))
            common = Form(form_model(ScorerSpec), on_change=lambda: None)
            common.set_values({'name': spec.name, 'better': spec.better, 'worth': spec.worth})

            def save() -> None:
                shared, values = common.submit(), settings.submit()
                if values is None or shared is None:
                    return
                given = shared.model_dump()
                if given['name'] != spec.name and given['name'] in {item.name for item in self.scorers}:
                    common.show_problems({'name': 'must be another name: there is such a scorer already'})
                    return
                read = read_settings(spec.kind, values.model_dump(mode='json'))
                scorer = ScorerSpec(settings=read, kind=spec.kind, **given)
                try:
                    read_scorers([scorer])
                except InvalidInput as error:
                    start = 'scorers.0.settings.'
                    settings.show_problems(
                        {name.removeprefix(start): text for name, text in error.problems.items()}
                    )
                    settings.focus_problem()
                    return
                dialog.submit(scorer)

            draw_dialog_actions(dialog, 'Save', save)
        return cast(ScorerSpec | None, await await_answer(dialog))
