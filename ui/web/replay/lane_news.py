"""The lanes of a run as short arrays, for a browser that has some of them already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.records import Shape
from ui.formatting.diagram.agents import agent_name
from ui.formatting.steps import role_title, short_json
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
        fresh: dict[str, list[Any]] = {
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


def legend(shape: Shape, lanes: Lanes) -> dict[str, Any]:
    """Return the words of the bar: the lanes, the kinds of work, those of flags with their signs."""
    return {
        'lanes': lane_names(shape, lanes),
        'words': list(WORKS.values()),
        'kinds': [[kind, sort.glyph, sort.title] for kind, sort in KINDS.items()],
    }
