"""The line over a run's panes that says what is wrong with it, if anything is."""

from __future__ import annotations

from nicegui import ui

from engine import Conductor, RunId
from ui.stepping.words import ELSEWHERE
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

    async def owned(self, conductor: Conductor, run: RunId) -> bool:
        """Say so where this process cannot steer the run; gives whether another one runs it."""
        if stranded := conductor.stranded.get(run):
            self.say('link_off', f'This run cannot go on: {stranded}. What it did can be looked at.')
            return False
        elsewhere = not conductor.runs_here(run) and not (await conductor.info(run)).status.ended
        if elsewhere:
            self.say('visibility', ELSEWHERE)
        return elsewhere
