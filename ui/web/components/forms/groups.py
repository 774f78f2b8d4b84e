"""Controls of several parts: toggles to choose several of a few, and rows of a name and a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from ui.web.components.theme import button
from ui.web.components.widgets import Box, set_attributes, text_input

T = TypeVar('T')


class Group(ValueElement[T]):
    """A control whose parts are drawn here: the browser is never told its value."""

    VALUE_PROP = 'data-value'

    def __init__(self, classes: str, value: T) -> None:
        super().__init__(tag='div', value=value)
        self._props.pop('loopback', None)
        self.classes(classes)
        set_attributes(self, role='group')

    def _value_to_model_value(self, value: Any) -> None:
        return None


class Toggles(Group[list[str]]):
    """A row of buttons, any of which can be on; its value has those in the order of the row."""

    def __init__(self, options: Mapping[str, str], value: Sequence[str]) -> None:
        """Offer `options`, a mapping of values to their labels."""
        super().__init__('toggles', list(value))
        self._buttons: dict[str, ui.element] = {}
        with self:
            for name, text in options.items():
                self._buttons[name] = button(text, kind='small toggle')
                self._buttons[name].on('click', lambda _, name=name: self._toggle(name))
        self._show()
        self.on_value_change(lambda _: self._show())

    def _toggle(self, name: str) -> None:
        on = set(self.value) ^ {name}
        self.set_value([name for name in self._buttons if name in on])

    def _show(self) -> None:
        for name, element in self._buttons.items():
            set_attributes(element, aria_pressed=str(name in self.value).lower())


class PairRows(Group[list[list[str]]]):
    """Rows of a name and a value, with a button to add one; empty rows count as none."""

    def __init__(self, value: Sequence[Sequence[str]]) -> None:
        """Show these pairs."""
        super().__init__('pair-rows', [list(pair) for pair in value])
        self._rows: list[tuple[ui.input, ui.input]] = []
        with self:
            self._place = Box('ghost')
            with Box():
                button('Add', icon='add', kind='small').on('click', self._add)
        self._draw()
        self.on_value_change(lambda _: self._draw())

    def _draw(self) -> None:
        """Draw the rows, unless they show the value already: they are being typed into."""
        if self._entered() == self.value:
            return
        self._place.clear()
        self._rows = []
        with self._place:
            for name, value in self.value:
                self._draw_row(name, value)

    def _draw_row(self, name: str, value: str) -> ui.input:
        with Box('pair-row') as row:
            parts = (
                text_input(
                    name, aria_label='Name', placeholder='Name', spellcheck='false', autocapitalize='off'
                ),
                text_input(value, aria_label='Value', placeholder='Value', spellcheck='false'),
            )
            drop = button('', icon='close', kind='quiet small', label='Remove row')
        self._rows.append(parts)
        for part in parts:
            part.on_value_change(lambda _: self.set_value(self._entered()))

        def remove() -> None:
            self._rows.remove(parts)
            row.delete()
            self.set_value(self._entered())

        drop.on('click', remove)
        return parts[0]

    def _add(self) -> None:
        with self._place:
            self._draw_row('', '').run_method('focus')

    def _entered(self) -> list[list[str]]:
        pairs = [[str(part.value or '').strip() for part in parts] for parts in self._rows]
        return [pair for pair in pairs if any(pair)]
