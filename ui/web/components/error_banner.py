"""The banner over a run's panes for problems of the run."""

from __future__ import annotations

from engine import Conductor
from engine.records import RunId
from ui.formatting.debugger import ELSEWHERE_NOTE
from ui.web.components.theme import text_notice
from ui.web.components.widgets import Box


class ErrorBanner:
    """Empty while there is no problem."""

    def __init__(self) -> None:
        self._root = Box('trouble')
        self._default = ('', '')
        """Icon and text that are shown while there is no other problem."""

    def show(self, icon: str = '', text: str = '') -> None:
        """Show a problem; '' clears it."""
        self._root.clear()
        if text:
            with self._root:
                text_notice('info', icon, text)

    def warn(self, problem: str, *, can_control: bool) -> None:
        """Warn that a run cannot be journaled; '' clears it. `can_control`: this server runs it."""
        # A run lost to another process continues there; one that is only waiting continues here.
        outlook = ' Nothing is lost: the run continues on its own when it can.' if can_control else ''
        self.show(*(('save', f'{problem}{outlook}') if problem else self._default))

    def clear(self) -> None:
        """Clear the banner: the run has ended."""
        self._default = ('', '')
        self.show()

    async def check_owner(self, conductor: Conductor, run: RunId) -> bool:
        """Show a notice if this process cannot control the run; return whether another one runs it."""
        if stranded := conductor.stranded.get(run):
            self.show('link_off', f'This run cannot continue: {stranded}. You can still view its history.')
            return False
        elsewhere = not conductor.can_control(run) and not (await conductor.info(run)).status.ended
        if elsewhere:
            self._default = ('visibility', ELSEWHERE_NOTE)
            self.show(*self._default)
        return elsewhere
