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

    def warn(self, problem: str, *, mine: bool) -> None:
        """Say that a run cannot be journaled, or with '' that it can; `mine` is one of this server."""
        # A run that this process lost goes on where it was claimed; one that only waits goes on here.
        hope = ' Nothing is lost: the run goes on by itself when it can.' if mine else ''
        self.say('save', f'{problem}{hope}' if problem else '')
