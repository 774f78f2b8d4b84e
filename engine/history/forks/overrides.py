"""Records: what a fork overrides, what it may cost, and how runs are related."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.records import Change, RunId, RunInfo, Status, Usage

StepSource = Literal['recorded', 'live', 'simulated']
"""Where results come from: the parent's record, real calls, or a simulated model."""
Beyond = Literal['live', 'simulated', 'stop']
"""What to do for replayed work without a recorded result; `stop` pauses the run."""
Kind = Literal['root', 'fork', 'rerun', 'retry']
"""How a run originated."""
WINNER = 'winner'
"""The tag of the variant chosen as the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOverrides:
    """What a fork changes. By default everything is as in the parent, and models are called."""

    changes: Sequence[Change] = ()
    """Edits of memory and agents, as `edit` takes them: paths begin with `/memory` or `/agents`."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """By role: its new instructions, also for agents that begin later."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By agent path: a text that replaces its latest task."""
    models: Mapping[str, str] = field(default_factory=dict)
    """By role, '' for all others, as in `start`; only those that change."""
    tools: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By role: its new tools."""
    effort: Mapping[str, str] = field(default_factory=dict)
    """By role, '' for all others, as in `start`; only what changes. '' leaves it to the model again."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Only those that change. In the middle of a run they may not change its chart."""
    before: StepSource = 'recorded'
    """The steps before the fork: copied, or repeated from the first step in a separate run."""
    after: StepSource = 'live'
    """The source of the steps after it."""
    plays: Mapping[str, StepSource] = field(default_factory=dict)
    """Exceptions to `after`: by role, by state path (an agent's, or a leaf of it; the innermost wins), or by
    the parent's step that ended the work (`@17`)."""
    beyond: Beyond = 'live'
    """What to do where no result is recorded for replayed work."""

    @property
    def played(self) -> bool:
        """Whether anything is replayed from the parent's journal."""
        return 'recorded' in (self.after, *self.plays.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What a fork may use, estimated from earlier runs. None means unknown."""

    calls: int | None = None
    """Calls of models that are not simulated."""
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    roles: Mapping[str, Usage] = field(default_factory=dict)
    """By role: what its calls used in the parent, for those that would be repeated."""
    basis: Literal['parent', 'runs', 'none'] = 'none'
    """The basis: what the parent used after the step, what other runs of the pattern used from first step to
    last, or nothing."""
    free: bool = False
    """Whether nothing can cost money: everything is recorded or simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """A run in its fork tree."""

    info: RunInfo
    kind: Kind
    group: str = ''
    """The tag shared by the variants it was forked with, or ''."""
    children: tuple[LineageNode, ...] = ()
    """Oldest first."""

    @property
    def run(self) -> RunId:
        """The run's id."""
        return self.info.id

    @property
    def status(self) -> Status:
        """The run's status."""
        return self.info.status

    @property
    def at(self) -> int:
        """The step of its parent at which it begins; 0 if it started over."""
        return self.info.parent_at

    @property
    def winner(self) -> bool:
        """Whether it was chosen as the best of its group."""
        return WINNER in self.info.tags

    def members(self) -> Iterator[tuple[int, LineageNode]]:
        """The run and its descendants, each with its depth: parents before forks, oldest first.

        Iterative, since a chain of forks may be long.
        """
        todo = [(0, self)]
        while todo:
            depth, kin = todo.pop()
            yield depth, kin
            todo.extend((depth + 1, child) for child in reversed(kin.children))
