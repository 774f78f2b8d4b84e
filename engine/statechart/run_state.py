"""RunState: the live data of one run: memory, the agents' conversations, and the log of changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

from pydantic import Field
from pydantic_core import to_jsonable_python

from engine.records.document import LONG
from engine.records.events import Event
from engine.records.message import Message
from engine.records.products import Artifact, Criterion, PlanEntry
from engine.records.question import OpenBatch
from engine.records.shape import is_within
from engine.statechart.memory import ChangeLog, Memory
from engine.statechart.memory_copy import lazy_copy

if TYPE_CHECKING:
    from engine.statechart.pattern import Pattern


def _is_empty(value: object) -> bool:
    """Return whether a field is empty, and so omitted from the journal, as before the field existed."""
    return not value


History = Mapping[str, tuple[str, ...]]


class AgentState(Memory):
    """One agent's conversation, stored in the run's data under `/agents/<path>`."""

    role: str
    model: str = ''
    instructions: str = ''
    messages: list[Message] = Field(default_factory=list)
    turns: int = 0
    """Model replies so far."""
    visits: int = 1
    """How often the agent's state has been entered in this run."""
    repairs: int = 0
    """How often an answer that does not fit the schema was sent back during this visit."""
    input_tokens: int = 0
    output_tokens: int = 0
    store: dict[str, str] = Field(default_factory=dict)
    """Data that its tools store for it (its notes)."""
    allowed: tuple[str, ...] = ()
    """Tools that a person has allowed for the rest of the run."""
    problem: str = ''
    """Why it failed, if it did."""
    artifacts: dict[str, Artifact] = Field(default_factory=dict, exclude_if=_is_empty)
    """What its tools have produced, by name."""
    criteria: tuple[Criterion, ...] = Field((), exclude_if=_is_empty)
    """Which completion criteria are met, as of its latest reply or batch of tool calls."""
    batch: OpenBatch | None = Field(None, exclude_if=_is_empty)
    """The current batch of tool calls, once a server has asked a person something."""
    reminders: int = Field(0, exclude_if=_is_empty)
    """How often it was reminded of unmet completion criteria during this visit."""
    seconds: float = Field(0.0, exclude_if=_is_empty)
    """Seconds its model and tools took."""
    cost: float = Field(0.0, exclude_if=_is_empty)
    """Dollars, as far as known."""
    unpriced: int = Field(0, exclude_if=_is_empty)
    """Model calls of unknown cost."""
    session: dict[str, Any] = Field(default_factory=dict, exclude_if=_is_empty)
    """The session of the external agent that plays it: its run and id, and whether it can be resumed."""
    plan: tuple[PlanEntry, ...] = Field((), exclude_if=_is_empty)
    """The plan of the external agent that plays it."""


class RunState:
    """A run's memory and agents, attached to one log, and the pattern with the run's parameters."""

    def __init__(
        self,
        pattern: Pattern,
        memory: Memory,
        agents: Mapping[str, AgentState] | None = None,
        notices_seen: Mapping[str, int] | None = None,
        history: History | None = None,
    ) -> None:
        self.pattern = pattern
        self.log = ChangeLog()
        self.notices: tuple[str, ...] = ()
        """Notices that each agent is to get once, before its next model call."""
        self.unchanged: Mapping[str, int] = {}
        """By memory field: how many leading items of a long list are as in the snapshot last loaded."""
        self.memory = memory
        self.data = _Agents(
            agents=dict(agents or {}), told=dict(notices_seen or {}), history=dict(history or {})
        )
        self.memory.attach(self.log, '/memory')
        self.data.attach(self.log, '')

    @property
    def agents(self) -> dict[str, AgentState]:
        """The agents' conversations by path."""
        return self.data.agents

    @property
    def history(self) -> History:
        """The leaves in which composites were left, as far as edges lead back to them."""
        return self.data.history

    def remember(self, left: History) -> None:
        """Note in which leaves composites were left. Writes, like an action."""
        with self.writing():
            for path, leaves in left.items():
                if self.data.history.get(path) != leaves:
                    self.data.history[path] = leaves

    def answer_problems(self, event: Event) -> dict[str, str]:
        """Return the problems with a person's answer to the servers' questions it addresses, by field."""
        problems: dict[str, str] = {}
        for path, agent in self.agents.items():
            question = agent.batch.question if agent.batch else None
            if question and is_within(event.at or path, path):
                problems |= question.problems(event.data)
        return problems

    def deliver_notices(self, path: str, *, restarted: bool = False) -> None:
        """Add the notices that an agent has not seen to its conversation. Writes, like an action.

        Args:
            path: the agent.
            restarted: whether its conversation has just restarted.
        """
        agent, heard = self.agents.get(path), 0 if restarted else self.data.told.get(path, 0)
        if agent is not None and heard < len(self.notices):
            fresh = '\n'.join(filter(None, self.notices[heard:]))
            with self.writing():
                self.data.told[path] = len(self.notices)
                if fresh:
                    agent.messages.append(Message.of('user', fresh))

    @classmethod
    def load(cls, pattern: Pattern, document: Mapping[str, Any]) -> RunState:
        """Rebuild it from a fold's document. Raises pydantic's `ValidationError` if that is invalid."""
        agents = {path: AgentState.model_validate(data) for path, data in document['agents'].items()}
        memory = pattern.Memory.model_validate(dict(document['memory']))
        return cls(pattern, memory, agents, document.get('told'), document.get('history'))

    def copy_memory(self) -> Memory:
        """Return a copy of memory for an activity: writes to it affect nothing else."""
        return lazy_copy(self.memory)

    def writing(self) -> AbstractContextManager[None]:
        """Allow writing memory, as in an action."""
        return self._access(write=True)

    def reading(self) -> AbstractContextManager[None]:
        """Let code read memory but not write it, even within an action."""
        return self._access(write=False)

    @contextmanager
    def _access(self, *, write: bool) -> Iterator[None]:
        was, self.log.open = self.log.open, write
        try:
            yield
        finally:
            self.log.open = was

    def dump(self) -> dict[str, Any]:
        """Return the whole document as JSON values."""
        return self._dump(to_jsonable_python(self.memory))

    def dump_tails(
        self, unchanged: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, tuple[int, list[Any]]]]:
        """Return the document without the items of long lists, and the tails of these lists.

        Args:
            unchanged: by memory field, how many leading items of a long list to leave out.
        """
        starts = {
            name: unchanged.get(name, 0)
            for name, value in self.memory.__dict__.items()
            if isinstance(value, list) and len(value) >= LONG
        }
        if not starts:
            return self.dump(), {}
        ends = copy(self.memory)
        for name, start in starts.items():
            ends.__dict__[name] = ends.__dict__[name][start:]
        memory = to_jsonable_python(ends)
        tails = {name: (start, memory[name]) for name, start in starts.items() if name in memory}
        return self._dump(memory | dict.fromkeys(tails, ())), tails

    def _dump(self, memory: Any) -> dict[str, Any]:
        return {
            'memory': memory,
            'agents': to_jsonable_python(self.agents),
            **({'told': dict(self.data.told)} if self.data.told else {}),
            **({'history': to_jsonable_python(self.data.history)} if self.data.history else {}),
        }


class _Agents(Memory):
    agents: dict[str, AgentState] = Field(default_factory=dict)
    told: dict[str, int] = Field(default_factory=dict)
    """By agent: how many of the run's notices it has seen."""
    history: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By composite to which edges with `history` lead: the leaves that were active when it was last left."""
