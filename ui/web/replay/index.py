"""An index of a run's steps: times, marks, visits, edges, changes; read once for all pages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile
from weakref import WeakKeyDictionary

from engine import Conductor, Transition
from engine.records import RunId, Shape
from ui.formatting.steps import edge_name
from ui.web.replay.history import History
from ui.web.replay.lanes import Lanes
from ui.web.replay.marks import KINDS, Kind, Mark, marks_of

MAX_CACHED = 8
"""Runs whose index is cached for the next page that shows them."""


class Index:
    """An index of one run's steps read so far; a page opened later continues where it ends."""

    def __init__(self, shape: Shape | None = None) -> None:
        self._marked = shape.marks if shape else ()
        self.lanes = Lanes(shape)
        """Who did what, and when."""
        self.times: list[float] = []
        """The time of each step; step n is at n - 1."""
        self.marks: list[Mark] = []
        """In step order; at most one of each kind per step."""
        self.mark_steps: dict[Kind, list[int]] = {kind: [] for kind in KINDS}
        """By kind of mark: the steps."""
        self.visits: dict[str, list[int]] = {}
        """By state: the steps that entered it."""
        self.edge_steps: dict[str, list[int]] = {}
        """By edge (`source>dest`): the steps that took it."""
        self.changes: dict[str, list[int]] = {}
        """By pointer into the run's data: the steps that wrote there; an append counts for the list."""
        self.active: list[Sequence[str]] = []
        """By step: the active states after it; step n is at n - 1."""
        self.edges: list[Sequence[str]] = []
        """By step: the edges (`source>dest`) that it took."""
        self.history = History()

    @property
    def seq(self) -> int:
        """The last step that was read."""
        return len(self.times)

    def add(self, step: Transition) -> None:
        """Add one step; a step that was already read changes nothing."""
        if step.seq != self.seq + 1:
            return
        for mark in marks_of(step, self._marked, self.visits):
            self.marks.append(mark)
            self.mark_steps[mark.kind].append(step.seq)
        for path in step.entered:
            self.visits.setdefault(path, []).append(step.seq)
        taken = [edge_name(edge) for edge in step.edges]
        for edge in taken:
            self.edge_steps.setdefault(edge, []).append(step.seq)
        self.active.append(step.active)
        self.edges.append(taken)
        if step.event.name == 'start':
            self.changes['/memory'] = [step.seq]
        for change in step.changes:
            steps = self.changes.setdefault(change.path.removesuffix('/-'), [])
            if not steps or steps[-1] != step.seq:
                steps.append(step.seq)
        self.history.add(step)
        self.lanes.add(step)
        self.times.append(step.time)

    def judge_at(self, seq: int) -> str:
        """Return the state of the agent who gave a verdict in a step, if any."""
        first = bisect_left(self.marks, seq, key=lambda mark: mark.seq)
        here = takewhile(lambda mark: mark.seq == seq, self.marks[first:])
        return next((mark.by for mark in here if mark.by), '')

    def agent_at(self, lane: int, seq: int) -> str:
        """Return the state of a lane's agent that was entered last at step `seq`; '' for the workflow."""
        paths = self.lanes.agents[lane] if lane < len(self.lanes.agents) else []
        visits = {
            path: steps[: bisect_right(steps, seq)] for path in paths if (steps := self.visits.get(path))
        }
        return max(paths, key=lambda path: max(visits.get(path, ()), default=0), default='')

    def changes_of(self, pointer: str) -> list[int]:
        """Return the steps that wrote to a place in the run's data, inside it, or around it."""
        seqs: set[int] = set()
        for path, steps in self.changes.items():
            if path == pointer or _is_inside(path, pointer) or _is_inside(pointer, path):
                seqs.update(steps)
        return sorted(seqs)


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith(f'{outer}/')


def next_step(steps: Sequence[int], at: int) -> int | None:
    """Return the first of these steps after `at`, wrapping to the first of all."""
    if not steps:
        return None
    place = bisect_right(steps, at)
    return steps[place if place < len(steps) else 0]


def previous_step(steps: Sequence[int], at: int) -> int | None:
    """Return the last of these steps before `at`, wrapping to the last of all."""
    return steps[bisect_left(steps, at) - 1] if steps else None


_indexes: WeakKeyDictionary[Conductor, OrderedDict[RunId, Index]] = WeakKeyDictionary()


def shared_index(conductor: Conductor, run: RunId, shape: Shape) -> Index:
    """Return the index of a run, shared by all pages. Histories only grow, so it stays valid."""
    runs = _indexes.setdefault(conductor, OrderedDict())
    index = runs.pop(run, None) or Index(shape)
    runs[run] = index
    while len(runs) > MAX_CACHED:
        runs.popitem(last=False)
    return index
