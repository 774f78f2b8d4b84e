"""The bar of time of a run: lanes to scale, fed with what is new since the last call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui.element import Element

from engine.records import Shape
from ui.web.components.assets import ASSETS
from ui.web.replay.index import Index
from ui.web.replay.lane_news import LaneNews, flags_of, legend
from ui.web.replay.marks import Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneHandlers:
    """What is called when a person does something with the bar; by default nothing."""

    slide: Callable[[int], Any] = lambda step: None
    """Gets the step that the bar is dragged to."""
    pick: Callable[[int], Any] = lambda step: None
    """Gets the step of a flag."""
    open: Callable[[str, int], Any] = lambda agent, step: None
    """Gets the agent of a block ('' for the workflow), and the step that was clicked."""
    grab: Callable[[], None] = lambda: None
    """Called when a person begins to drag."""


NO_HANDLERS = LaneHandlers()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMoment:
    """What the bar shows of a moment."""

    at: int
    """The step."""
    head: int
    """The newest one."""
    ran: str
    """The running time after the step."""
    text: str
    """The step for screen readers."""
    link: str = ''
    """Its address."""
    going: bool = False
    """Whether time goes on after the newest step."""


class LaneBar(Element, component=ASSETS / 'controls' / 'slider.js'):
    """The bar, a slider over all steps. Flags that are too close are drawn as one, with their count.

    Args:
        index: the run's steps.
        shape: its chart.
        handlers: what is called when a person uses it.
        line: whether it is folded to one line.
        label: its name, where there are several.
    """

    def __init__(
        self,
        index: Index,
        shape: Shape,
        handlers: LaneHandlers = NO_HANDLERS,
        *,
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
        self.on('slide', lambda event: handlers.slide(int(event.args)))
        self.on('pick', lambda event: handlers.pick(int(event.args)))
        self.on(
            'open', lambda event: handlers.open(index.agent_at(*map(int, event.args)), int(event.args[1]))
        )
        self.on('grab', handlers.grab)

    def move_to(self, moment: LaneMoment) -> None:
        """Move the head to a step, and send what is new.

        This also acknowledges a request: only then does the browser ask for the next position.
        """
        times = self._index.times
        shown = {
            'at': moment.at,
            'head': moment.head,
            'time': moment.ran,
            'said': moment.text,
            'link': moment.link,
            'running': round(time.time() - times[0], 3) if moment.going and times else None,
        }
        self._keep(shown)
        self.run_method('update', *shown.values(), self._news.take())

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
