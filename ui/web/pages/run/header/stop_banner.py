"""The banner of a run that stopped before its end: the reason, and what a person can do."""

from __future__ import annotations

from typing_extensions import override

from engine import EngineError, Status
from engine.records import Shape, View
from ui.formatting.steps import role_title
from ui.web.components.theme import notice
from ui.web.components.widgets import CachedElement, Text
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.shared.run.context import accepts_event

RETRY = 'Retry starts a new run from the last good step. To change something first, fork an earlier step.'
FORK = 'Its pattern is not available here: the run can be read, but not retried.'


class StopBanner(Pane):
    """Empty while the run continues, and once it is done."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        conductor, info = page.context.conductor, page.context.info
        self._shape = page.context.shape
        self._root = CachedElement('trouble')
        try:
            pattern = conductor.catalog.pattern(info.pattern)
        except EngineError:
            self._known, self._inputs = False, []
        else:
            self._known, self._inputs = True, list(pattern.inputs)

    @override
    def show_newest(self, moment: Moment) -> None:
        view, may_control = moment.newest, moment.may_control
        reason, remedy = stop_reason(self._shape, view), self._remedy(view, may_control=may_control)
        if self._root.clear_if_changed((reason, remedy)) and reason:
            failed = view.status is Status.FAILED
            with self._root, notice('fail' if failed else 'wait', 'error' if failed else 'pause_circle'):
                Text('p', reason, 'stop-reason')
                if remedy:
                    Text('p', remedy, 'small')

    def _remedy(self, view: View, *, may_control: bool) -> str:
        if view.status.ended:
            return RETRY if self._known else FORK
        offered = [role_title(name) for name in self._inputs if accepts_event(self._shape, view, name)]
        return f'Nothing is lost. You can: {" or ".join(offered).lower()}.' if may_control and offered else ''


def stop_reason(shape: Shape, view: View) -> str:
    """Return why a run stopped, as a sentence; '' if it continues, waits for an answer, or is done."""
    if view.status is Status.CANCELLED:
        return f'The run was cancelled: {view.error}' if view.error else 'The run was cancelled.'
    if view.status is Status.FAILED:
        return f'The run failed: {view.error}' if view.error else 'The run failed.'
    caveat = str(view.memory.get(shape.caveat) or '') if shape.caveat else ''
    return f'The run has stopped: {caveat}' if view.status is Status.WAITING and caveat else ''
