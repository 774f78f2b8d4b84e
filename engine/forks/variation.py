"""What a fork changes, what it may cost, and how runs are related: the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.records import Change, RunId, RunInfo, Status, Usage

Play = Literal['recorded', 'live', 'simulated']
"""How work ends: as it was recorded in the parent, by really doing it, or by a model that only plays."""
Beyond = Literal['live', 'simulated', 'stop']
"""What becomes of work that is to be played and of which nothing is recorded; `stop` pauses the run."""
Kind = Literal['root', 'fork', 'rerun', 'retry']
"""How a run came about."""
WINNER = 'winner'
"""The tag of a variant that somebody found the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What is otherwise in a fork. All is as in the parent by default, and models are called."""

    changes: Sequence[Change] = ()
    """Of memory and agents, as `edit` takes them: paths begin with `/memory` or `/agents`."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """By role: its standing instructions from now on, also of agents that begin later."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By agent's path: a text in the place of what it was told last."""
    models: Mapping[str, str] = field(default_factory=dict)
    """By role, '' for all others, as in `start`; only those that change."""
    tools: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By role: the tools that it has from now on."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Those that change. In the middle of a run they may not change its chart."""
    before: Play = 'recorded'
    """The steps before the fork: taken over; or done anew from the first on, as a run of its own."""
    after: Play = 'live'
    """The steps after it."""
    plays: Mapping[str, Play] = field(default_factory=dict)
    """Exceptions to `after`: by role, by the path of a state (an agent's, or a leaf of it: the innermost
    counts), or by a step of the parent's that ended work (`@17`)."""
    beyond: Beyond = 'live'
    """Where nothing is recorded for what is to be played."""

    @property
    def played(self) -> bool:
        """Whether anything is played from the parent's journal."""
        return 'recorded' in (self.after, *self.plays.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a fork may use, worked out from what runs before it used. None is not known."""

    calls: int | None = None
    """Of models that are not simulated."""
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    roles: Mapping[str, Usage] = field(default_factory=dict)
    """By role: what its calls used in the parent, of those that would be made anew."""
    basis: Literal['parent', 'runs', 'none'] = 'none'
    """Where it is from: what the parent used after the step, what other runs of the pattern used from their
    first step to their last, or nothing."""
    free: bool = False
    """Whether nothing can cost money: all is recorded or simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """A run in its family."""

    info: RunInfo
    kind: Kind
    group: str = ''
    """The tag of the variants that it was forked with, or ''."""
    children: tuple[Kin, ...] = ()
    """Oldest first."""

    @property
    def run(self) -> RunId:
        """Its id."""
        return self.info.id

    @property
    def status(self) -> Status:
        """What it is doing."""
        return self.info.status

    @property
    def at(self) -> int:
        """The step of its parent's at which it begins; 0 where it began anew."""
        return self.info.parent_at

    @property
    def winner(self) -> bool:
        """Whether somebody found it the best of its group."""
        return WINNER in self.info.tags

    def members(self) -> Iterator[tuple[int, Kin]]:
        """The run and all beneath it, each with how far down it is: a parent before its forks, oldest first.

        No recursion, for a row of forks of forks may be long.
        """
        todo = [(0, self)]
        while todo:
            depth, kin = todo.pop()
            yield depth, kin
            todo.extend((depth + 1, child) for child in reversed(kin.children))
