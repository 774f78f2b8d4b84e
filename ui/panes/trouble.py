"""The line over a run's panes that says what is wrong with it, if anything is."""

from __future__ import annotations

from nicegui import ui

from ui.theme import notice


class Trouble:
    """Empty while all is well."""

    def __init__(self) -> None:
        self._root = ui.element('div').classes('trouble')

    def say(self, icon: str = '', text: str = '') -> None:
        """Say it, or with no text that it is over."""
        self._root.clear()
        if text:
            with self._root, notice('wait', icon):
                ui.label(text)
