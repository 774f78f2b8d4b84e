"""The list of messages in the browser, as rows or as a sequence diagram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from nicegui.element import Element

from ui.components.assets import ASSETS
from ui.components.elements import count_equal_prefix

MessageLayout = Literal['list', 'sequence']


class MessageList(Element, component=ASSETS / 'panels' / 'message_list.js'):
    """Rows of messages, of which only new ones are sent."""

    def __init__(
        self, layout: MessageLayout, *, label: str, on_pick: Callable[[int], Any], on_go: Callable[[int], Any]
    ) -> None:
        """Start empty.

        `on_pick` gets the number of a message to read, `on_go` that of a message whose step to show.
        """
        super().__init__()
        self._rows: list[Sequence[Any]] = []
        self._parties: list[str] = []
        self._props |= {'rows': [], 'parties': [], 'form': layout, 'label': label, 'at': 0, 'picked': 0}
        self.on('pick', lambda event: on_pick(int(event.args)))
        self.on('go', lambda event: on_go(int(event.args)))

    def show(self, rows: Sequence[Sequence[Any]], parties: Sequence[str]) -> None:
        """Show these rows (`Message.row`) between these parties."""
        keep = count_equal_prefix(self._rows, rows)
        if keep == len(self._rows) == len(rows) and self._parties == list(parties):
            return
        self._rows, self._parties = list(rows), list(parties)
        with self._props.suspend_updates():  # the browser gets the difference, below
            self._props |= {'rows': self._rows, 'parties': self._parties}
        self.run_method('splice', keep, self._rows[keep:], self._parties)

    def show_step(self, at: int) -> None:
        """Position it at a step: later messages are dimmed."""
        if self._props['at'] != at:
            with self._props.suspend_updates():
                self._props['at'] = at
            self.run_method('setStep', at)

    def set_layout(self, layout: MessageLayout) -> None:
        """Switch between a list and a sequence diagram."""
        with self._props.suspend_updates():
            self._props['form'] = layout
        self.run_method('setForm', layout)
