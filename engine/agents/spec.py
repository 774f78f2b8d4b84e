"""AgentSpec: an agent's role, instructions, tools and task, as its states use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel

from engine.agents.criteria import Criteria


class RoleAssignment(NamedTuple):
    """The role an agent plays during one visit, if that is decided on entry to its state."""

    role: str
    visit: int = 1
    """The agent's number among those with its role in the run; scripted models select by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """An agent's role: its name, its standing instructions and its tools."""

    name: str
    title: str
    instructions: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """The definition of one agent, shared by its states."""

    role: str
    instructions: str
    tools: tuple[str, ...]
    output: type[BaseModel] | None
    prompt: str | Callable[..., str]
    """A method's name or a function: returns the agent's task from memory and the event that led here."""
    turns: int
    folder: str
    """The name of its folder; '' means its path."""
    roles: tuple[Role, ...] = ()
    """The roles it may play if `cast` picks one on entry; `role` is then named after the state."""
    cast: str | Callable[..., RoleAssignment] = ''
    until: Criteria | None = None
    """When its work is complete; None means when it stops calling tools."""
    may_be_silent: bool = False
    """Whether its answer may be empty once it has used tools: its work is in its files."""

    @property
    def possible_roles(self) -> tuple[Role, ...]:
        """Every role it may play."""
        alone = Role(name=self.role, title=self.role, instructions=self.instructions, tools=self.tools)
        return self.roles or (alone,)

    def find_role(self, name: str) -> Role | None:
        """Return the role with that name among those it may play."""
        return next((role for role in self.roles if role.name == name), None)
