"""Follows one run for one page: keeps a fold at the head, and collects updates between refreshes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engine import Conductor, EngineError, Transition
from engine.errors import StepDamaged
from engine.journal import Fold
from engine.records import Delta, JournalOutage, RunInfo, Shape, parent_of
from ui.web.replay.index import shared_index
from ui.web.replay.pace import Pace
from ui.web.replay.reader import RunAt

YIELD_EVERY = 50
"""Steps of a history that are scanned before other tasks get a turn."""


@dataclass(slots=True)
class Updates:
    """What is new since the last call."""

    steps: list[Transition] = field(default_factory=list)
    indexed: bool = False
    """Whether more of the history is known: visits, edges and marks."""
    text: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By agent path: kinds and pieces in order, adjacent pieces of a kind joined; `reset` discards."""
    outage: str | None = None


class Follower:
    """Reads a run from its first step to its end.

    Args:
        conductor: knows the run.
        info: the run.
        shape: its chart.
        pace: notified of updates; a page that follows several runs shares one among them.
    """

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape, pace: Pace | None = None) -> None:
        self._conductor, self._run, self._known, self.shape = conductor, info.id, info.seq, shape
        self.fold = Fold(info.id, shape)
        """The run at its newest step. It starts at the head: the history is only scanned."""
        self.index = shared_index(conductor, info.id, shape)
        """An index of the steps, as far as this page or another has read them."""
        self.last: Transition | None = None
        self._before: Mapping[str, Any] = {}
        """The fold's document before the newest step."""
        self.problem = ''
        """Why following stopped before the end, if it did."""
        self._updates = Updates()
        self.pace = pace or Pace()
        """Determines when to collect updates."""

    @property
    def head(self) -> int:
        """The newest step."""
        return max(self._known, self.fold.projection.seq)

    @property
    def newest(self) -> RunAt:
        """The run as of the newest step received."""
        return RunAt(self.fold, self.last, self._before)

    @property
    def has_caught_up(self) -> bool:
        """Whether the whole history has been scanned."""
        return self.index.seq >= self.head

    async def follow(self) -> None:
        """Follow the run until it ends."""
        try:
            self.fold = await self._conductor.fold(self._run)
            self._updates.indexed = True  # by other pages, perhaps
            self.pace.notify(step=True)
            begin = min(self.index.seq, self.fold.projection.seq)
            async for item in self._conductor.watch(self._run, after=begin):
                if isinstance(item, Transition):
                    self.index.add(item)
                    self._updates.indexed = True
                    is_new = item.seq > self.fold.projection.seq
                    self.pace.notify(step=is_new)
                    if is_new:
                        self._apply(item)
                    elif item.seq % YIELD_EVERY == 0:
                        await asyncio.sleep(0)  # A long history must not block other pages.
                elif isinstance(item, Delta):
                    self._add_text(item)
                    self.pace.notify()
                elif isinstance(item, JournalOutage):
                    self._updates.outage = item.problem
                    self.pace.notify()
        except EngineError as error:
            self.problem = str(error)
            if isinstance(error, StepDamaged):
                await self._index_until(error.step)
            self.pace.notify()

    async def _index_until(self, damaged: int) -> None:
        """Index the steps before one that is damaged."""
        with suppress(EngineError):
            steps = await self._conductor.transitions(self._run, after=self.index.seq, until=damaged - 1)
            for step in steps:
                self.index.add(step)
            self._updates.indexed = True

    def collect_updates(self) -> Updates | None:
        """Return what is new since the last call, if anything."""
        updates = self._updates
        has_updates = bool(updates.steps or updates.text or updates.indexed or updates.outage is not None)
        if not has_updates:
            return None
        self._updates = Updates()
        return updates

    def _apply(self, step: Transition) -> None:
        self.last, self._before = step, self.fold.document
        self.fold.apply(step)
        self._updates.steps.append(step)
        for left in step.left:  # the step contains all text streamed there, which must not follow it
            self._updates.text.pop(left, None)
            self._updates.text.pop(parent_of(left), None)

    def _add_text(self, delta: Delta) -> None:
        if delta.kind == 'reset':
            self._updates.text[delta.path] = [('reset', '')]
            return
        pieces = self._updates.text.setdefault(delta.path, [])
        if pieces and pieces[-1][0] == delta.kind != 'waiting':
            pieces[-1] = (delta.kind, pieces[-1][1] + delta.text)
        else:
            pieces.append((delta.kind, delta.text))
