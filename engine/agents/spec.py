"""AgentSpec: who an agent is, what it may use and what it is asked, as its states see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel

from engine.agents.criteria import Criteria


class RoleAssignment(NamedTuple):
    """The role an agent plays during one visit, when that is decided on entering its state."""

    role: str
    visit: int = 1
    """The agent's ordinal among those of its role in the run; scripted models select by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Who an agent is: its name, its standing instructions and its tools."""

    name: str
    title: str
    instructions: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """What the states of one agent know about it."""

    role: str
    instructions: str
    tools: tuple[str, ...]
    output: type[BaseModel] | None
    prompt: str | Callable[..., str]
    """Returns the agent's task from memory, and from the event that led here: a method, or a function."""
    turns: int
    folder: str
    """The name of its folder; '' means its path."""
    roles: tuple[Role, ...] = ()
    """The roles it may play if `cast` picks one on entry; `role` is then named after the state."""
    cast: str | Callable[..., RoleAssignment] = ''
    until: Criteria | None = None
    """When its work is complete; None means when it stops calling tools."""

    @property
    def cast_list(self) -> tuple[Role, ...]:
        """Every role it may play."""
        alone = Role(name=self.role, title=self.role, instructions=self.instructions, tools=self.tools)
        return self.roles or (alone,)

    def role_named(self, name: str) -> Role | None:
        """The role of that name among those it may play."""
        return next((role for role in self.roles if role.name == name), None)
