"""Follows one run for one page: keeps a fold at the head, and gathers what came between two looks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine import Conductor, Delta, EngineError, Fold, RunInfo, Shape, Transition, Trouble, parent_of
from ui.replay.index import index_of
from ui.replay.past import Moment

BREATH = 50
"""Steps of a history that are looked through at once."""
LOOKS_A_SECOND = 15
"""How often a page is told of what came: streamed text is gathered between two looks."""


@dataclass(slots=True)
class News:
    """What came since the last look."""

    steps: list[Transition] = field(default_factory=list)
    read: bool = False
    """Whether more of the history is known: visits, edges and marks."""
    text: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Per agent's path: kinds and pieces in order, neighbours of a kind joined; `reset` takes back."""
    trouble: str | None = None


class Follower:
    """Reads a run from its first step to its end."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape) -> None:
        self._conductor, self._run, self._known = conductor, info.id, info.seq
        self.fold = Fold(info.id, shape)
        """The run at its newest step. It begins at the head: the history is only looked through."""
        self.index = index_of(conductor, info.id, shape)
        """What the steps say, as far as they have been read by this page or another one."""
        self.last: Transition | None = None
        self._before: Mapping[str, Any] = {}
        """The fold's document without the newest step."""
        self.problem = ''
        """Why following stopped before the end, if it did."""
        self._news = News()

    @property
    def head(self) -> int:
        """The newest step."""
        return max(self._known, self.fold.ledger.seq)

    @property
    def newest(self) -> Moment:
        """The run at its newest step."""
        return Moment(self.fold, self.last, self._before)

    @property
    def caught_up(self) -> bool:
        """Whether the whole history has been looked through."""
        return self.index.seq >= self.head

    async def follow(self) -> None:
        """Go on until the run has ended."""
        try:
            self.fold = await self._conductor.fold(self._run)
            self._news.read = True  # by other pages, perhaps
            begin = min(self.index.seq, self.fold.ledger.seq)
            async for item in self._conductor.watch(self._run, after=begin):
                if isinstance(item, Transition):
                    self.index.take(item)
                    self._news.read = True
                    if item.seq > self.fold.ledger.seq:
                        self._take(item)
                    elif item.seq % BREATH == 0:
                        await asyncio.sleep(0)  # A long history must not hold up the other pages.
                elif isinstance(item, Delta):
                    self._gather(item)
                elif isinstance(item, Trouble):
                    self._news.trouble = item.problem
        except EngineError as error:
            self.problem = str(error)

    def look(self) -> News | None:
        """What came since the last look, if anything did."""
        news = self._news
        if not (news.steps or news.text or news.read or news.trouble is not None):
            return None
        self._news = News()
        return news

    def _take(self, step: Transition) -> None:
        self.last, self._before = step, self.fold.document
        self.fold.take(step)
        self._news.steps.append(step)
        for left in step.left:  # what was streamed there is in the step, whole: it is not to come after it
            self._news.text.pop(left, None)
            self._news.text.pop(parent_of(left), None)

    def _gather(self, delta: Delta) -> None:
        if delta.kind == 'reset':
            self._news.text[delta.path] = [('reset', '')]
            return
        pieces = self._news.text.setdefault(delta.path, [])
        if pieces and pieces[-1][0] == delta.kind:
            pieces[-1] = (delta.kind, pieces[-1][1] + delta.text)
        else:
            pieces.append((delta.kind, delta.text))
