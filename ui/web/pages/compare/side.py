"""One of the two compared runs: its steps and data, read on demand."""

from __future__ import annotations

from collections import OrderedDict

from engine import Conductor, Transition
from engine.history import Comparison, RunStats
from engine.records import View
from ui.web.pages.shared.run.transition_reasons import GuardReasons
from ui.web.replay.index import shared_index
from ui.web.replay.reader import SEGMENT_STEPS, HistoryReader

MAX_CACHED = 256
"""Maximum number of cached steps."""


class Side:
    """Run A or run B."""

    def __init__(self, conductor: Conductor, name: str, tally: RunStats) -> None:
        self.conductor, self.name, self.stats = conductor, name, tally
        self.run = tally.info.id
        self._steps: OrderedDict[int, Transition] = OrderedDict()
        self._view: View | None = None
        self.reasons = GuardReasons(conductor, self.run)
        """Explanations of the guards at the step that is shown."""
        self._reader: HistoryReader | None = None
        self.index = shared_index(conductor, self.run, tally.shape)
        """The index of its steps, once `read` has read them."""

    async def read(self) -> None:
        """Index the compared steps. Raises `EngineError`."""
        while (seq := self.index.seq) < (head := self.stats.view.seq):
            until = min(seq + SEGMENT_STEPS, head)
            for step in await self.conductor.transitions(self.run, after=seq, until=until):
                self.index.add(step)

    async def explain(self, seq: int | None) -> None:
        """Load the explanations of a step's guards. Raises `EngineError`."""
        if not seq:
            return
        if self._reader is None:
            self._reader = HistoryReader(self.conductor, self.run, self.stats.shape)
            await self.reasons.load()
        moment = await self._reader.at(seq)
        self.reasons.show(moment.step, moment.before)

    async def step(self, seq: int | None) -> Transition | None:
        """Return a step, or None if `seq` is None or 0. Raises `EngineError`."""
        if not seq:
            return None
        if seq not in self._steps:
            (self._steps[seq],) = await self.conductor.transitions(self.run, after=seq - 1, until=seq)
            while len(self._steps) > MAX_CACHED:
                self._steps.popitem(last=False)
        return self._steps[seq]

    async def view(self, seq: int) -> View:
        """Return the run's view after a step. Raises `EngineError`."""
        if self._view is None or self._view.seq != seq:
            self._view = await self.conductor.view(self.run, seq)
        return self._view


class RowPositions:
    """The step each run has reached at each row: the row's own, or the last one before it."""

    def __init__(self, comparison: Comparison) -> None:
        self.rows = comparison.rows
        self._at: list[tuple[int, int]] = []
        a = b = 0
        for row in comparison.rows:
            a, b = row.a or a, row.b or b
            self._at.append((a, b))

    def at(self, place: int) -> tuple[int, int]:
        """Return both steps at a row; 0 before a run's first step."""
        return self._at[place] if self._at else (0, 0)
