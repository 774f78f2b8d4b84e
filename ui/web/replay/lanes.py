"""Lanes of a run: who did what from which step to which, folded one step at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple, get_args

from engine import Transition
from engine.journal import PauseState
from engine.records import Shape, StateShape, calls_of, parent_of, reply_of
from ui.formatting.steps import path_text

Work = Literal['model', 'tools', 'person', 'pause', 'engine']
WORKS: Mapping[Work, str] = {
    'model': 'model call',
    'tools': 'tool call',
    'person': 'waiting for a person',
    'pause': 'paused',
    'engine': 'work of the workflow',
}
"""What a block stands for, in words; its number in a block is its place here."""
_NUMBERS = {work: number for number, work in enumerate(get_args(Work))}
ENDS = ('cancel', 'abort')
"""Events that end whatever goes on, though no state is left."""


class Block(NamedTuple):
    """Something that took time, in a form that JSON keeps small. Its times are those of its steps."""

    lane: int
    work: int
    """Its place in `WORKS`."""
    first: int
    """The step it began with."""
    last: int
    """The step it ended with; 0 while it goes on."""
    word: int
    """The place in `Lanes.words` of what it was: a model, tools, an activity."""


class Lanes:
    """One lane per agent in chart order, and a last one for the workflow itself: tests, merges, pauses.

    States of one role that never work at the same time are one agent in several phases, and share a lane.
    Each step costs the same however long the history is.
    """

    def __init__(self, shape: Shape | None = None) -> None:
        states = shape.states if shape else ()
        self.agents = _group_agents(states)
        """By lane, except the last: the states of its agent."""
        self._lanes = {path: lane for lane, paths in enumerate(self.agents) for path in paths}
        self.blocks: list[Block] = []
        """What has ended, in the order in which it ended."""
        self.words: list[str] = []
        """Every distinct text of a block."""
        self._word_ids: dict[str, int] = {}
        self._open: dict[str, Block] = {}
        """What goes on, by state."""
        self._pausing: dict[int, Block] = {}
        """Pauses that go on, by lane."""
        self._calls: dict[str, str] = {}
        """By agent: the tools it called last."""
        self._kinds = {state.path: (work, state) for state in states if (work := self._work_of(state))}
        self._ends = {state.path for state in states if state.kind == 'final'}
        self._pauses = PauseState(self._ends)

    @property
    def ongoing(self) -> list[Block]:
        """What has not ended yet."""
        return [*self._open.values(), *self._pausing.values()]

    def lane_of(self, path: str) -> int:
        """Return the lane of the agent whose state is `path` or contains it; else that of the workflow."""
        while path and path not in self._lanes:
            path = parent_of(path)
        return self._lanes.get(path, len(self.agents))

    def add(self, step: Transition) -> None:
        """Add one step; steps must come in order."""
        home = parent_of(step.event.at)
        if called := ', '.join(dict.fromkeys(str(call.get('name', '')) for call in calls_of(step.event))):
            self._calls[home] = called
        reply = None if step.raised else reply_of(step.event)
        model = str(reply.get('model', '')) if reply else ''
        for path in list(self._open) if step.event.name in ENDS else step.left:
            if block := self._open.pop(path, None):
                word = self._word(model) if model and path == step.event.at else block.word
                self.blocks.append(block._replace(last=step.seq, word=word))
        for path in step.entered:
            if path in self._kinds:
                work, state = self._kinds[path]
                self._open[path] = self._begin(
                    self.lane_of(path), work, step.seq, self._describe(work, state)
                )
        self._add_pauses(step)

    def _work_of(self, state: StateShape) -> Work | None:
        if state.waits:
            return 'person'
        if not state.invokes:
            return None
        if self.lane_of(state.path) == len(self.agents):
            return 'engine'
        return 'tools' if state.name == 'using_tools' else 'model'

    def _describe(self, work: Work, state: StateShape) -> str:
        match work:
            case 'person':
                return state.waits
            case 'tools':
                return self._calls.get(parent_of(state.path), '')
            case 'engine':
                return state.caption or path_text(state.path)
        return ''

    def _add_pauses(self, step: Transition) -> None:
        self._pauses.apply_step(step.entered, step.left, step.active)
        if not step.raised:
            self._pauses.apply(step.event.name, step.event.at, step.event.data, step.active)
        paused = set(self._paused_lanes(step)) if self._pauses.overrides else set()
        for lane in self._pausing.keys() - paused:
            self.blocks.append(self._pausing.pop(lane)._replace(last=step.seq))
        for lane in paused - self._pausing.keys():
            self._pausing[lane] = self._begin(lane, 'pause', step.seq, self._pauses.stopped)

    def _paused_lanes(self, step: Transition) -> Iterator[int]:
        going = [leaf for leaf in step.active if leaf not in self._ends]
        if not going or step.event.name in ENDS:
            return
        if self._pauses.hold_all(step.active):
            yield len(self.agents)
        else:
            yield from (self.lane_of(leaf) for leaf in going if self._pauses.holds(leaf))

    def _begin(self, lane: int, work: Work, seq: int, text: str) -> Block:
        return Block(lane, _NUMBERS[work], seq, 0, self._word(text))

    def _word(self, text: str) -> int:
        if text not in self._word_ids:
            self._word_ids[text] = len(self.words)
            self.words.append(text)
        return self._word_ids[text]


def _group_agents(states: Sequence[StateShape]) -> list[list[str]]:
    """Return the states of each agent, in chart order."""
    parallel = {state.path for state in states if state.kind == 'parallel'}
    groups: dict[str, list[str]] = {}
    for state in states:
        if state.role:
            alike = [other.path for other in states if other.role == state.role]
            together = any(_meeting(state.path, other) in parallel for other in alike if other != state.path)
            groups.setdefault(state.path if together or state.roles else f'role {state.role}', []).append(
                state.path
            )
    return list(groups.values())


def _meeting(path: str, other: str) -> str:
    """Return the innermost state around both."""
    names = zip(path.split('.'), other.split('.'), strict=False)
    return '.'.join(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], names))
