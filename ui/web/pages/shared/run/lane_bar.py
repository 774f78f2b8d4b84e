"""The bar of time of a run: lanes to scale, fed with what is new since the last call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nicegui.element import Element

from engine.records import Shape
from ui.web.components.assets import ASSETS
from ui.web.replay.index import Index
from ui.web.replay.lane_news import LaneNews, flags_of, legend
from ui.web.replay.marks import Mark


class LaneBar(Element, component=ASSETS / 'controls' / 'slider.js'):
    """The bar, a slider over all steps. Flags that are too close are drawn as one, with their count.

    Args:
        index: the run's steps.
        shape: its chart.
        on_slide: gets the step that the bar is dragged to.
        on_pick: gets the step of a flag.
        on_open: gets the agent of a block ('' for the workflow), and the step that was clicked.
        on_grab: called when a person begins to drag.
        line: whether it is folded to one line.
        label: its name, where there are several.
    """

    def __init__(  # noqa: PLR0913  (what a person does with it, each with its own handler)
        self,
        index: Index,
        shape: Shape,
        *,
        on_slide: Callable[[int], Any],
        on_pick: Callable[[int], Any],
        on_open: Callable[[str, int], Any],
        on_grab: Callable[[], None] = lambda: None,
        line: bool = False,
        label: str = 'Step',
    ) -> None:
        super().__init__()
        self._index, self._news = index, LaneNews(index)
        self._props |= {
            **legend(shape, index.lanes),
            'whole': self._news.whole,
            'notes': [],
            'line': line,
            'label': label,
        }
        self._keep({'at': 0, 'head': 1, 'time': '', 'said': '', 'link': '', 'running': None})
        self.on('slide', lambda event: on_slide(int(event.args)))
        self.on('pick', lambda event: on_pick(int(event.args)))
        self.on('open', lambda event: on_open(index.agent_at(*map(int, event.args)), int(event.args[1])))
        self.on('grab', on_grab)

    def move_to(  # noqa: PLR0913  (what is shown of a moment)
        self, at: int, head: int, *, ran: str, text: str, link: str, going: bool
    ) -> None:
        """Move the head to step `at` of `head`, and send what is new.

        This also acknowledges a request: only then does the browser ask for the next position.

        Args:
            at: the step.
            head: the newest one.
            ran: the running time after the step.
            text: the step for screen readers.
            link: its address.
            going: whether time goes on after the newest step.
        """
        times = self._index.times
        running = round(time.time() - times[0], 3) if going and times else None
        moment = {'at': at, 'head': head, 'time': ran, 'said': text, 'link': link, 'running': running}
        self._keep(moment)
        self.run_method('update', *moment.values(), self._news.take())

    def set_scale(self, seconds: float, cuts: Sequence[int]) -> None:
        """Let the bar end after so many seconds, as that of another run does; `cuts` are steps to mark."""
        self.run_method('setScale', seconds, list(cuts))

    def set_notes(self, marks: Iterable[Mark]) -> None:
        """Replace the flags of notes; sent to the page only if they changed."""
        fresh = flags_of(marks, self._index.lanes)
        if fresh != self._props['notes']:
            with self._props.suspend_updates():
                self._props['notes'] = fresh
            self.run_method('setNotes', fresh)

    def toggle(self, option: str) -> None:
        """Fold or unfold the lanes (`folded`), or draw steps equally far apart or to scale (`equal`)."""
        self.run_method('toggle', option)

    def _keep(self, props: dict[str, Any]) -> None:
        """Keep what was sent, for a page that reconnects."""
        with self._props.suspend_updates():
            self._props |= props
