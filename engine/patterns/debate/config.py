"""A debate's configuration: participants, rounds and time limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.agents.spec import Role
from engine.patterns.debate.records import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateConfig:
    """The rules and the participants of a debate."""

    phase: Phase
    reviewers: tuple[Role, ...]
    rounds: int
    recent: int
    """Number of recent messages shown to each reviewer."""
    seconds: float
    """Time limit of an agent's turn, in seconds; a person may take longer."""
    words_only: bool
    """Whether the models write text with keywords instead of records."""
    subject: Callable[[Any, bool], str]
    """Describes the subject of the debate, given the memory and whether it is the reviewer's first turn."""
    turns: int
    """Maximum number of model replies in a reviewer's turn."""

    @property
    def names(self) -> tuple[str, ...]:
        """The reviewers' names, in their order."""
        return tuple(role.name for role in self.reviewers)
