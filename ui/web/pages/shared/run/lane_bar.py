"""The bar of time of a run: lanes to scale, fed with what is new since the last call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from nicegui.element import Element

from engine.records import Shape
from ui.formatting.steps import role_title, short_json
from ui.web.components.assets import ASSETS
from ui.web.pages.shared.run.context import agent_name
from ui.web.replay.index import Index
from ui.web.replay.lanes import WORKS, Lanes
from ui.web.replay.marks import KINDS, UNDRAWN, Mark

WORKFLOW = 'Workflow'
"""The name of the lane that belongs to no agent."""


class LaneNews:
    """What a browser has not been sent yet of an index, as short arrays.

    A step's time is in milliseconds after the first one; a block is a `Block`; a flag is step, lane, kind,
    text.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self.whole: dict[str, list[Any]] = {name: [] for name in ('times', 'blocks', 'words', 'flags')}
        """All that was sent, for a page that reconnects."""
        self._marks = 0

    def take(self) -> dict[str, list[Any]]:
        """Return what is new, and what is going on now; empty if nothing has changed."""
        index, whole = self._index, self.whole
        if len(index.times) == len(whole['times']):
            return {}
        lanes, marks = index.lanes, index.marks[self._marks :]
        self._marks = len(index.marks)
        fresh = {
            'times': [round(1000 * (at - index.times[0])) for at in index.times[len(whole['times']) :]],
            'blocks': [list(block) for block in lanes.blocks[len(whole['blocks']) :]],
            'words': lanes.words[len(whole['words']) :],
            'flags': flags_of((mark for mark in marks if mark.kind not in UNDRAWN), lanes),
        }
        for name, items in fresh.items():
            whole[name] += items
        ongoing = whole['open'] = [list(block) for block in lanes.ongoing]
        return fresh | {'open': ongoing}


def flags_of(marks: Iterable[Mark], lanes: Lanes) -> list[list[Any]]:
    """Return marks as flags: step, lane, kind, text."""
    return [[mark.seq, lanes.lane_of(mark.at), mark.kind, short_json(mark.text)] for mark in marks]


def lane_names(shape: Shape, lanes: Lanes) -> list[str]:
    """Return the names of the lanes."""
    alone = {paths[0]: agent_name(shape, paths[0]) for paths in lanes.agents if len(paths) == 1}
    names = (alone.get(paths[0]) or role_title(_role(shape, paths[0])) for paths in lanes.agents)
    return [*names, WORKFLOW]


def _role(shape: Shape, path: str) -> str:
    state = shape.state(path)
    return state.role if state else path


def kinds_of_flags() -> list[list[str]]:
    """Return the kinds of flags, most severe first: name, glyph, title."""
    return [[kind, sort.glyph, sort.title] for kind, sort in KINDS.items()]


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
    ) -> None:
        super().__init__()
        self._index, self._news = index, LaneNews(index)
        self._props |= {
            'lanes': lane_names(shape, index.lanes),
            'words': list(WORKS.values()),
            'kinds': kinds_of_flags(),
            'whole': self._news.whole,
            'notes': [],
            'line': line,
        }
        self._keep({'at': 0, 'head': 1, 'time': '', 'said': '', 'link': '', 'running': None})
        self.on('slide', lambda event: on_slide(int(event.args)))
        self.on('pick', lambda event: on_pick(int(event.args)))
        self.on('open', lambda event: on_open(index.agent_at(*map(int, event.args)), int(event.args[1])))
        self.on('grab', on_grab)

    def move_to(  # noqa: PLR0913  (what is shown of a moment)
        self, at: int, head: int, *, ran: str, said: str, link: str, going: bool
    ) -> None:
        """Move the head to step `at` of `head`, and send what is new.

        This also acknowledges a request: only then does the browser ask for the next position.

        Args:
            at: the step.
            head: the newest one.
            ran: the running time after the step.
            said: the step for screen readers.
            link: its address.
            going: whether time goes on after the newest step.
        """
        times = self._index.times
        running = round(time.time() - times[0], 3) if going and times else None
        moment = {'at': at, 'head': head, 'time': ran, 'said': said, 'link': link, 'running': running}
        self._keep(moment)
        self.run_method('update', *moment.values(), self._news.take())

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
