"""NestedFields: a field for each value inside a list or an object."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from textwrap import shorten
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from ui.formatting.values import count, part_title
from ui.web.components.forms.groups import Group
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, text_area, text_input

MAX_NESTED = 60
"""Maximum number of values that get fields of their own; more are edited as one text."""
SHORT_TEXT = 80
"""Maximum length of a text in a single-line field."""
ADD = 'Add entry'
TOGGLED = '(event) => emit(event.target.open)'
"""Handler of `toggle` in the browser: says whether a fold is open."""
Path = tuple[str | int, ...]


class NestedFields(Group[Any]):
    """A JSON value as fields: texts, numbers, and yes or no stay what they are; lists grow and shrink."""

    def __init__(self, title: str, value: Any, new: Any = None, *, long: bool = False) -> None:
        """Show the value of a field.

        Args:
            title: the field's.
            value: what it holds.
            new: an entry without content, for a list that has none.
            long: whether also short texts get several lines.
        """
        super().__init__('values', deepcopy(value))
        self._title, self._new, self._long = title, new, long
        self._shown: Any = None
        self._open: set[Path] = set()
        """The folds that are open."""
        self._draw()
        self.on_value_change(lambda _: self._draw())

    def _draw(self) -> None:
        """Draw the fields, unless they show the value already: they are being typed into."""
        if self._shown == self.value:
            return
        self._shown = self.value
        self.clear()
        with self:
            self._draw_value(self.value, ())

    def _draw_value(self, value: Any, path: Path) -> None:
        match value:
            case dict():
                for name, part in value.items():
                    self._draw_part(part_title(name), part, (*path, name))
            case list():
                for place, part in enumerate(value):
                    self._draw_part(part_title(place), part, (*path, place))
                with Box():
                    add = button(ADD, icon='add', kind='small', aria_label=f'{ADD}: {self._name(path)}')
                    add.on('click', lambda: self._add(path))
            case _:
                self._draw_leaf(value, path)

    def _draw_part(self, title: str, value: Any, path: Path) -> None:
        if not isinstance(value, dict | list):
            with Box():
                with Box('values-head'):
                    Text('span', title, 'muted small')
                    self._draw_drop(path)
                self._draw_leaf(value, path)
            return
        with Box('fold', 'details', open=path in self._open) as fold:
            with Box(tag='summary'):
                Text('span', title)
                Text('span', _excerpt(value), 'muted brief')
            with Box('values'):
                self._draw_value(value, path)
                with Box():
                    self._draw_drop(path, 'Remove entry')
        fold.on('toggle', lambda event: self._remember(path, event.args), js_handler=TOGGLED)

    def _draw_drop(self, path: Path, text: str = '') -> None:
        """Draw the button that removes an entry of a list."""
        if isinstance(path[-1], int):
            drop = button(
                text, icon='close', kind='quiet small', aria_label=f'Remove entry: {self._name(path)}'
            )
            drop.on('click', lambda: self._drop(path))

    def _remember(self, path: Path, is_open: bool) -> None:
        (self._open.add if is_open else self._open.discard)(path)

    def _name(self, path: Path) -> str:
        """Return the accessible name of a value: Drafts, Entry 1, Text."""
        return ', '.join([self._title, *map(part_title, path)])

    def _draw_leaf(self, value: Any, path: Path) -> None:
        leaf, read = _draw_control(value, long=self._long)
        set_attributes(leaf, aria_label=self._name(path))
        leaf.on_value_change(lambda change: self._set(path, read(change.value), typed=True))

    def _set(self, path: Path, value: Any, *, typed: bool = False) -> None:
        """Put a value at a path; what is typed is shown already."""
        changed = {'': deepcopy(self.value)}
        place: Any = changed
        names = ('', *path)
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
        if typed:
            self._shown = changed['']
        self.set_value(changed[''])

    def _entries(self, path: Path) -> list[Any]:
        """Return the list at a path, as it is now."""
        value = self.value
        for name in path:
            value = value[name]
        return list(value)

    def _add(self, path: Path) -> None:
        """Add an entry like the last one, without content, and open it."""
        entries = self._entries(path)
        self._open.add((*path, len(entries)))
        new = _blank(entries[-1]) if entries else '' if path else deepcopy(self._new)
        self._set(path, [*entries, new])

    def _drop(self, path: Path) -> None:
        *above, place = path
        list_path = tuple(above)
        self._open = {fold for fold in self._open if fold[: len(list_path)] != list_path}  # they move up
        self._set(list_path, [part for n, part in enumerate(self._entries(list_path)) if n != place])


def _draw_control(value: Any, *, long: bool) -> tuple[ValueElement[Any], Callable[[Any], Any]]:
    """Draw the control of a single value; return it, and what reads its content."""
    match value:
        case bool():
            return ui.checkbox(value=value), bool
        case int() | float():
            return text_input(str(value), inputmode='decimal'), _read_number
        case None:
            return text_input('', placeholder='None'), lambda text: text or None
    has_lines = long or len(value) > SHORT_TEXT or '\n' in value
    return text_area(value) if has_lines else text_input(value), lambda text: text or ''


def _read_number(text: str) -> Any:
    """Return a number; any other text as it is, for the form's model to refuse."""
    try:
        number = json.loads(text)
    except (ValueError, TypeError):
        return text
    return number if isinstance(number, int | float) and not isinstance(number, bool) else text


def _blank(value: Any) -> Any:
    """Return a value of the same shape without content."""
    match value:
        case dict():
            return {name: _blank(part) for name, part in value.items()}
        case list():
            return []
        case None | bool():
            return None if value is None else False
        case int() | float():
            return 0
    return ''


def _excerpt(value: Any) -> str:
    """Return the first words of an object or list."""
    parts = value.values() if isinstance(value, dict) else value
    text = ' · '.join(str(part) for part in parts if isinstance(part, str | int | float) and part != '')
    return shorten(text, SHORT_TEXT, placeholder='…') or count(len(value), 'value')


def count_values(value: Any) -> int:
    """Return the number of values inside a JSON value that are neither lists nor objects."""
    match value:
        case dict():
            return sum(map(count_values, value.values()))
        case list():
            return sum(map(count_values, value)) + 1
    return 1
