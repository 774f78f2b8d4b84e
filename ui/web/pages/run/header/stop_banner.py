"""The banner of a run that has stopped and waits: the reason, and what a person can do."""

from __future__ import annotations

from typing_extensions import override

from engine import EngineError, Status
from engine.records import View
from ui.formatting.steps import role_title
from ui.web.components.theme import notice
from ui.web.components.widgets import CachedElement, Text
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.shared.run.context import accepts_event


class StopBanner(Pane):
    """Empty while the run continues, and once it has ended: then the result says why."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        conductor, info = page.context.conductor, page.context.info
        self._shape = page.context.shape
        self._root = CachedElement('trouble')
        try:
            self._inputs = list(conductor.catalog.pattern_of(info).inputs)
        except EngineError:
            self._inputs = []

    @override
    def show_newest(self, moment: Moment) -> None:
        view = moment.newest
        reason, remedy = self._reason(view), self._remedy(view, may_control=moment.may_control)
        if self._root.clear_if_changed((reason, remedy)) and reason:
            with self._root, notice('wait', 'pause_circle'):
                Text('p', reason, 'stop-reason')
                if remedy:
                    Text('p', remedy, 'small')

    def _reason(self, view: View) -> str:
        """Return why it stopped, as a sentence; '' if it continues, waits for an answer, or has ended."""
        caveat = str(view.memory.get(self._shape.caveat) or '') if self._shape.caveat else ''
        return f'The run has stopped: {caveat}' if view.status is Status.WAITING and caveat else ''

    def _remedy(self, view: View, *, may_control: bool) -> str:
        offered = [role_title(name) for name in self._inputs if accepts_event(self._shape, view, name)]
        return f'Nothing is lost. You can: {" or ".join(offered).lower()}.' if may_control and offered else ''
