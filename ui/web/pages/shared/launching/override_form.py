"""A collapsible form of overrides: fields show the current values, and only changed ones are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from ui.formatting.values import count, problem_sentence, problems
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field, Kind, fields
from ui.web.components.forms.nested import MAX_NESTED, SHORT_TEXT, count_values
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text

DECLARED: tuple[Kind, ...] = ('integer', 'number', 'choice', 'choices', 'list', 'pairs')
"""Kinds of fields that a value has because its model says so; others follow from the value."""
MakeControl = Callable[..., Control]
"""Makes the control of a field, as `Control` does."""


class OverrideForm:
    """A form drawn only when opened: a run's memory may be large, and most of it stays unchanged."""

    def __init__(
        self,
        head: tuple[str, str],
        fields: Sequence[Field],
        *,
        on_change: Callable[[], None],
        model: type[BaseModel] | None = None,
        make_control: MakeControl = Control,
    ) -> None:
        """Draw the header.

        Args:
            head: the title, and what a change does.
            fields: each with the current value as its `default`.
            on_change: called after every change.
            model: what the changed values have to fit, field by field.
            make_control: makes the control of each field.
        """
        self._model, self._make_control = model, make_control
        self._fields = {field.name: field for field in fields}
        self._controls: dict[str, Control] = {}
        self._content: dict[str, Any] = {}
        self._on_change = on_change
        with Box('fold', 'details', aria_label=head[0]) as self.root:
            with Box(tag='summary'):
                Text('span', head[0])
                self._brief = Text('span', '', 'muted brief')
            Text('p', head[1], 'muted small')
            self._body = Box('form')
        self.root.on('toggle', self._draw, js_handler='(event) => event.target.open && emit()')
        self.root.set_visibility(bool(fields))

    @property
    def raw(self) -> dict[str, Any]:
        """The content of the changed fields, valid or not."""
        written = {name: control.raw for name, control in self._controls.items()} or self._content
        return {name: raw for name, raw in written.items() if raw != self._current(name)}

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Copy the `raw` content of another form with these fields."""
        self._content = {name: text for name, text in raw.items() if name in self._fields}
        for name, control in self._controls.items():
            control.set_content(self._content.get(name, self._current(name)))
        self._update_brief()

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Show these values; other fields get the current ones."""
        self.fill({name: self._fields[name].format(values[name]) for name in values if name in self._fields})

    def read(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values of the changed fields and the problems by field, which are also shown."""
        values, wrong = self.parse()
        self.show_problems(wrong)
        return values, wrong

    def parse(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values of the changed fields and the problems by field, without showing them."""
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for name, raw in self.raw.items():
            try:
                values[name] = self._validate(name, self._fields[name].parse(raw))
            except ValidationError as error:
                wrong[name] = ' '.join(problems(error).values())
            except ValueError as error:
                wrong[name] = str(error)
        return values, wrong

    def _validate(self, name: str, value: Any) -> Any:
        """Return a value as JSON, in the type that its field of the model has. Raises `ValidationError`."""
        declared = self._model.model_fields.get(name) if self._model else None
        if declared is None:
            return value
        single: Any = {name: (declared.annotation, declared)}
        return create_model('Single', **single).model_validate({name: value}).model_dump(mode='json')[name]

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show a problem at its field, or clear it."""
        if problems and not self._controls:
            self._draw()
        for name, control in self._controls.items():
            control.show_problem(problem_sentence(problems.get(name, '')), lenient=False)

    def focus_problem(self) -> bool:
        """Focus the first field with a problem, if there is one."""
        bad = next((control for control in self._controls.values() if control.problem), None)
        if bad:
            bad.focus()
        return bad is not None

    def _current(self, name: str) -> Any:
        return self._fields[name].format(self._fields[name].default)

    def _draw(self) -> None:
        if self._controls or not self._fields:
            return
        with self._body:
            for name, field in self._fields.items():
                control = self._make_control(field, on_change=self._notify, on_blur=lambda: None)
                control.set_content(self._content.get(name, self._current(name)))
                self._controls[name] = control
            with Box():
                undo = button('Restore the original', icon='undo', kind='quiet small')
                undo.on('click', self._restore)

    def _restore(self) -> None:
        self.fill({})
        self._notify()

    def _notify(self) -> None:
        self._update_brief()
        self._on_change()

    def _update_brief(self) -> None:
        number = len(self.raw)
        self._brief.show(f'{count(number, "change")}' if number else '')


def value_fields(values: Mapping[str, Any], model: type[BaseModel]) -> list[Field]:
    """Return fields for the values of a JSON document: those of the model, as far as they can hold them."""
    declared = {field.name: field for field in fields(model)}
    return [_value_field(name, value, declared.get(name)) for name, value in values.items()]


def _value_field(name: str, value: Any, declared: Field | None) -> Field:
    title = name.replace('_', ' ').capitalize()
    if declared and declared.kind in DECLARED:
        field = replace(declared, title=title, default=value)
        if isinstance(value, int | float) or field.parse(field.format(value)) == value:
            return field
    match value:
        case bool():
            kind: Kind = 'boolean'
        case str():
            kind = 'multiline' if len(value) > SHORT_TEXT or '\n' in value else 'text'
        case int() | float():
            kind = 'json'
        case _:
            has_fields = value or (declared and declared.kind == 'nested')
            kind = 'nested' if has_fields and count_values(value) <= MAX_NESTED else 'json'
    inline = kind == 'json' and isinstance(value, int | float)
    new = declared.new if declared else None
    words = 'JSON' if kind == 'json' and not inline else ''
    return Field(name=name, kind=kind, inline=inline, title=title, default=value, help=words, new=new)
