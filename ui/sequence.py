"""The list of messages in the browser, or their sequence diagram: only lines in sight are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from nicegui.element import Element

from ui.web import ASSETS

Form = Literal['list', 'sequence']


class MessageList(Element, component=ASSETS / 'messages.js'):
    """Lines of messages, of which only the new ones are sent."""

    def __init__(
        self, form: Form, *, label: str, on_pick: Callable[[int], Any], on_go: Callable[[int], Any]
    ) -> None:
        """Show none yet.

        `on_pick` gets the number of a message to read, `on_go` that of one whose step to show.
        """
        super().__init__()
        self._rows: list[Sequence[Any]] = []
        self._parties: list[str] = []
        self._props |= {'rows': [], 'parties': [], 'form': form, 'label': label, 'at': 0, 'picked': 0}
        self.on('pick', lambda event: on_pick(int(event.args)))
        self.on('go', lambda event: on_go(int(event.args)))

    def show(self, rows: Sequence[Sequence[Any]], parties: Sequence[str]) -> None:
        """Show these lines (`Said.row`) between these parties."""
        keep = 0
        for old, new in zip(self._rows, rows, strict=False):
            if old != new:
                break
            keep += 1
        if keep == len(self._rows) == len(rows) and self._parties == list(parties):
            return
        self._rows, self._parties = list(rows), list(parties)
        with self._props.suspend_updates():  # the browser gets the difference, below
            self._props |= {'rows': self._rows, 'parties': self._parties}
        self.run_method('splice', keep, self._rows[keep:], self._parties)

    def stand(self, at: int) -> None:
        """Stand at a step: what came later is dimmed."""
        if self._props['at'] != at:
            with self._props.suspend_updates():
                self._props['at'] = at
            self.run_method('stand', at)

    def be(self, form: Form) -> None:
        """Be a list, or a sequence diagram."""
        with self._props.suspend_updates():
            self._props['form'] = form
        self.run_method('be', form)
