"""What the steps of a run say in short: times, marks, visits, edges, changes; read once for all pages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from engine import Conductor, RunId, Shape, Transition
from ui.replay.grown import Grown
from ui.replay.history import History
from ui.replay.marks import KINDS, Kind, Mark, marks_of

KEPT = 8
"""Runs whose index is kept for the next page that shows them."""


class Index:
    """An index of the steps of one run read so far; a page that is opened later goes on where it ends."""

    def __init__(self, shape: Shape) -> None:
        self.times: list[float] = []
        """The time of each step; step n is at n - 1."""
        self.marks: list[Mark] = []
        """In the order of the steps; at most one of a kind for a step."""
        self.moments: dict[Kind, list[int]] = {kind: [] for kind in KINDS}
        """Of each kind of marks: the steps."""
        self.visits: dict[str, list[int]] = {}
        """Each state that was entered, and the steps that did it."""
        self.walked: dict[str, list[int]] = {}
        """Each edge that was taken (`source>dest`), and the steps that did it."""
        self.changes: dict[str, list[int]] = {}
        """Each place in the run's data, by its pointer, and the steps that wrote there; a list that was
        appended to is one place."""
        self.grown = Grown.of(shape)
        self.history = History()

    @property
    def seq(self) -> int:
        """The last step that was read."""
        return len(self.times)

    def take(self, step: Transition) -> None:
        """Go on by one step; one that was read already changes nothing."""
        if step.seq != self.seq + 1:
            return
        for mark in marks_of(step, self.visits):
            self.marks.append(mark)
            self.moments[mark.kind].append(step.seq)
        for path in step.entered:
            self.visits.setdefault(path, []).append(step.seq)
        for edge in step.edges:
            self.walked.setdefault(f'{edge.source}>{edge.dest or edge.source}', []).append(step.seq)
        if step.event.name == 'start':
            self.changes['/memory'] = [step.seq]
        for change in step.changes:
            steps = self.changes.setdefault(change.path.removesuffix('/-'), [])
            if not steps or steps[-1] != step.seq:
                steps.append(step.seq)
        self.history.take(step)
        self.grown.take(step)
        self.times.append(step.time)

    def changed(self, pointer: str) -> list[int]:
        """The steps that wrote at a place of the run's data, inside it, or something around it."""
        found: set[int] = set()
        for path, steps in self.changes.items():
            if path == pointer or _inside(path, pointer) or _inside(pointer, path):
                found.update(steps)
        return sorted(found)


def _inside(path: str, outer: str) -> bool:
    return path.startswith(f'{outer}/')


def following(steps: Sequence[int], at: int) -> int | None:
    """The first of these steps after `at`; where there is none, the first of all."""
    if not steps:
        return None
    place = bisect_right(steps, at)
    return steps[place if place < len(steps) else 0]


def preceding(steps: Sequence[int], at: int) -> int | None:
    """The last of these steps before `at`; where there is none, the last of all."""
    return steps[bisect_left(steps, at) - 1] if steps else None


_known: WeakKeyDictionary[Conductor, OrderedDict[RunId, Index]] = WeakKeyDictionary()


def index_of(conductor: Conductor, run: RunId, shape: Shape) -> Index:
    """The index of a run that all pages share. A history only grows, so what was read of it stays true."""
    runs = _known.setdefault(conductor, OrderedDict())
    index = runs.pop(run, None) or Index(shape)
    runs[run] = index
    while len(runs) > KEPT:
        runs.popitem(last=False)
    return index
