"""A debate's configuration: participants, rounds and time limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.agents.spec import Role
from engine.patterns.debate.records import Phase
from engine.statechart.retry import Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateConfig:
    """The rules and the participants of a debate."""

    phase: Phase
    reviewers: tuple[Role, ...]
    rounds: int
    recent: int
    """How many of the latest messages each reviewer sees."""
    seconds: float
    """Time limit of an agent's turn, in seconds; a person may take longer."""
    words_only: bool
    """Whether the models write text with keywords in place of records."""
    brief: Callable[[Any, bool], str]
    """What the debate is about, from memory and whether the reviewer is hearing it for the first time."""
    turns: int = 12
    """The most model replies of a reviewer's turn."""
    retry: Retry | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The reviewers' names."""
        return tuple(role.name for role in self.reviewers)
