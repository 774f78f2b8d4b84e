"""A collapsible form of overrides: fields show the current values, and only changed ones are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ui.formatting.values import count
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text

SHORT = 80
"""Maximum length of a text in a single-line field."""


class OverrideForm:
    """A form drawn only when opened: a run's memory may be large, and most of it stays unchanged."""

    def __init__(
        self, title: str, fields: Sequence[Field], *, hint: str, on_change: Callable[[], None]
    ) -> None:
        """Draw the header; each field's `default` is the current value."""
        self._fields = {field.name: field for field in fields}
        self._controls: dict[str, Control] = {}
        self._content: dict[str, Any] = {}
        self._on_change = on_change
        with Box('fold', 'details') as self.root:
            with Box(tag='summary'):
                Text('span', title)
                self._brief = Text('span', '', 'muted brief')
            if hint:
                Text('p', hint, 'muted small')
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

    def read(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values of the changed fields and the problems by field, which are also shown."""
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for name, raw in self.raw.items():
            try:
                values[name] = self._fields[name].parse(raw)
            except ValueError as error:
                wrong[name] = str(error)
        self.show_problems(wrong)
        return values, wrong

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show a problem at its field, or clear it."""
        if problems and not self._controls:
            self._draw()
        for name, control in self._controls.items():
            control.show_problem(problems.get(name, ''), lenient=False)

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
                control = Control(field, on_change=self._notify, on_blur=lambda: None)
                control.set_content(self._content.get(name, self._current(name)))
                self._controls[name] = control
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


def json_fields(values: Mapping[str, Any]) -> list[Field]:
    """Return fields for a JSON document: strings as text, everything else as JSON."""
    return [_make_field(name, value) for name, value in values.items()]


def _make_field(name: str, value: Any) -> Field:
    title = name.replace('_', ' ').capitalize()
    if isinstance(value, bool):
        return Field(name=name, kind='boolean', title=title, default=value)
    if isinstance(value, str):
        long = len(value) > SHORT or '\n' in value
        return Field(name=name, kind='multiline' if long else 'text', title=title, default=value)
    number = isinstance(value, (int, float))
    words = 'A number' if number else 'JSON'
    return Field(name=name, kind='json', inline=number, title=title, default=value, help=words)
