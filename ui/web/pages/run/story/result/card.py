"""The card that says what came out of a run, and what can be done with it."""

from __future__ import annotations

from contextlib import nullcontext

from typing_extensions import override

from engine import Status
from engine.records import Shape, View
from ui.formatting.results.blocks import Result
from ui.formatting.results.markdown import to_markdown
from ui.formatting.results.result import PANEL, read_result
from ui.formatting.values import as_sentence, origin_note
from ui.web.components.widgets import Box, CachedElement, Text, set_class
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.story.result.actions import draw_actions, draw_repairs
from ui.web.pages.shared.run.result_blocks import draw_block

RETRY = 'Retry starts a new run from the last good step. To change something first, fork an earlier step.'
FORK = 'Its pattern is not available here: the run can be read, but not retried.'


class ResultCard(Pane):
    """Drawn when a run has ended, also in the past at its last step; before, there is nothing.

    Only in Watch: in Debug nothing may move, and its whole height is for what agents and states did.
    """

    place = 'story'
    faces = ('watch',)
    panel = PANEL

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._result = Result()
        self._root = CachedElement('result-card panel', 'section', aria_label='Result')
        self._root.set_visibility(False)

    @classmethod
    @override
    def is_for(cls, shape: Shape) -> bool:
        """Every run has a result; a pattern only chooses its kind."""
        return True

    @override
    def show(self, moment: Moment) -> None:
        view, index = moment.view, self.page.follower.index
        # A class of its own for `:has()`, which would be slow with `:not(.hidden)`.
        set_class(self._root, 'shown', on=view.status.ended)
        self._root.set_visibility(view.status.ended)
        if not view.status.ended:
            return
        self._result = read_result(
            self.context.shape,
            view,
            lambda field: [at.time - view.started for at in index.history.appended_to(field)],
        )
        failures = [seq for seq in index.mark_steps['error'] if seq <= view.seq]
        failed_at = failures[-1] if failures else view.seq
        facts = (view.status, view.error, origin_note(view), failed_at, moment.may_control)
        if self._root.clear_if_changed((self._result, *facts)):
            with self._root:
                self._draw(view, failed_at)

    def _draw(self, view: View, failed_at: int) -> None:
        result, done = self._result, view.status is Status.DONE
        with Box('result-head'):
            Text('h2', 'Result')
            Box('grow', 'span')
            if done:
                draw_actions(self.page, lambda: self._markdown(view))
            else:
                draw_repairs(self.page, failed_at, may_retry=view.status.retriable)
        if note := origin_note(view):
            Text('p', note, 'result-simulated')
        self._draw_words(view)
        if result.main or result.aside:
            with Box(f'result-body {"two-sided" if result.aside else ""}'):
                for part, blocks in (('main', result.main), ('aside', result.aside)):
                    with Box(f'result-{part}') if blocks else nullcontext():
                        for block in blocks:
                            draw_block(block, self.context)

    def _draw_words(self, view: View) -> None:
        """Draw why it ended and how it came out, each once."""
        result, reason = self._result, end_reason(view)
        if reason:
            known = self.context.conductor.catalog.find_of(self.context.info) is not None
            Text('p', reason, 'result-headline', role='alert')
            Text('p', RETRY if known else FORK, 'muted small')
        elif result == Result():
            Text('p', 'It ended without a result.', 'muted')
        if result.headline and result.headline.rstrip('.') not in reason:
            Text('p', result.headline, 'result-headline', dir='auto')
        if not reason and view.error and view.error not in result.headline.lower():
            Text('p', as_sentence(view.error), 'result-caveat')

    def _markdown(self, view: View) -> str:
        """Return the result as a file, which says at its end if it is simulated."""
        simulated = f'\n\n*{note}*' if (note := origin_note(view)) else ''
        return f'{to_markdown(self._result)}{simulated}\n'


def end_reason(view: View) -> str:
    """Return why a run ended without being done, as a sentence; '' if it is done."""
    words = {Status.CANCELLED: 'was cancelled', Status.FAILED: 'failed'}.get(view.status)
    if words is None:
        return ''
    return f'The run {words}: {view.error}' if view.error else f'The run {words}.'
