"""The live data of one run: the pattern's memory, the agents' conversations, their changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field
from pydantic_core import to_jsonable_python

from engine.dynamic.artifacts import Artifact
from engine.dynamic.criteria import Criterion
from engine.memory import Log, Memory
from engine.message import Message

if TYPE_CHECKING:
    from engine.pattern import Pattern


def _nothing(value: object) -> bool:
    """Left out of what is journaled: a state without it reads as it did before there was such a field."""
    return not value


class AgentState(Memory):
    """One agent's conversation, as kept in the run's data under `/agents/<path>`."""

    role: str
    model: str = ''
    instructions: str = ''
    messages: list[Message] = Field(default_factory=list)
    turns: int = 0
    """Model replies so far."""
    visits: int = 1
    """How often the agent's state has been entered in this run."""
    repairs: int = 0
    """How often an answer that does not fit the schema has been sent back, this visit."""
    input_tokens: int = 0
    output_tokens: int = 0
    store: dict[str, str] = Field(default_factory=dict)
    """What the agent's tools keep for it (its notes)."""
    allowed: tuple[str, ...] = ()
    """Tools a person has allowed for the rest of the run."""
    problem: str = ''
    """Why it failed, if it did."""
    artifacts: dict[str, Artifact] = Field(default_factory=dict, exclude_if=_nothing)
    """What its tools made, by name."""
    criteria: tuple[Criterion, ...] = Field((), exclude_if=_nothing)
    """Which criteria of its completion hold, after its latest reply or batch of tools."""
    reminders: int = Field(0, exclude_if=_nothing)
    """How often it was told what is missing, this visit."""
    seconds: float = Field(0.0, exclude_if=_nothing)
    """How long its model and its tools took."""
    cost: float = Field(0.0, exclude_if=_nothing)
    """Dollars, as far as they are known."""
    unpriced: int = Field(0, exclude_if=_nothing)
    """Calls of models whose cost is not known."""


class RunState:
    """Memory and agents of one run, attached to one log; and the pattern with the run's parameters."""

    def __init__(
        self,
        pattern: Pattern,
        memory: Memory,
        agents: Mapping[str, AgentState] | None = None,
        told: Mapping[str, int] | None = None,
    ) -> None:
        self.pattern = pattern
        self.log = Log()
        self.notices: tuple[str, ...] = ()
        """What each agent is to be told, once, before its next model call."""
        self.memory = memory
        self.data = _Agents(agents=dict(agents or {}), told=dict(told or {}))
        self.memory.attach(self.log, '/memory')
        self.data.attach(self.log, '')

    @property
    def agents(self) -> dict[str, AgentState]:
        """The conversations, by the path of the agent's state."""
        return self.data.agents

    def tell(self, path: str, *, anew: bool = False) -> None:
        """Add to an agent's conversation what it has not been told yet. Writes, as an action does.

        Args:
            path: the agent.
            anew: whether its conversation has just begun anew.
        """
        agent, heard = self.agents.get(path), 0 if anew else self.data.told.get(path, 0)
        if agent is not None and heard < len(self.notices):
            fresh = '\n'.join(filter(None, self.notices[heard:]))
            was, self.log.open = self.log.open, True
            self.data.told[path] = len(self.notices)
            if fresh:
                agent.messages.append(Message.of('user', fresh))
            self.log.open = was

    @classmethod
    def load(cls, pattern: Pattern, document: Mapping[str, Any]) -> RunState:
        """Rebuild from a fold's document; raises pydantic's `ValidationError` when it does not fit."""
        agents = {path: AgentState.model_validate(data) for path, data in document['agents'].items()}
        memory = pattern.Memory.model_validate(document['memory'])
        return cls(pattern, memory, agents, document.get('told'))

    def detached(self) -> Memory:
        """A copy of memory for an activity: what it writes there is seen by nobody."""
        return self.memory.apart()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While a part of an action runs that may read memory and not write it."""
        was, self.log.open = self.log.open, False
        try:
            yield
        finally:
            self.log.open = was

    def dump(self) -> dict[str, Any]:
        """The whole document as JSON values."""
        return {
            'memory': to_jsonable_python(self.memory),
            'agents': to_jsonable_python(self.agents),
            **({'told': dict(self.data.told)} if self.data.told else {}),
        }


class _Agents(Memory):
    agents: dict[str, AgentState] = Field(default_factory=dict)
    told: dict[str, int] = Field(default_factory=dict)
    """Per agent: how many of the run's notices it has been told."""
