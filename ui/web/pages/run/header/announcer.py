"""What screen readers announce of a step."""

from __future__ import annotations

from typing_extensions import override

from ui.formatting.sentences import step_sentence
from ui.web.components.elements import live_region
from ui.web.pages.run.pane import Moment, Pane, RunPage


class Announcer(Pane):
    """A hidden line that says which step is shown."""

    place = 'foot'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._line = live_region()

    @override
    def show_step(self, moment: Moment) -> None:
        if moment.step is not None:
            sentence = step_sentence(moment.step, self.page.context.shape)
            self._line.set_text(f'Step {moment.view.seq}: {sentence}')
