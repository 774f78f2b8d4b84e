"""Terms: how a debate is held, by whom, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.activity import Retry
from engine.agent import Role
from engine.debate.records import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a debate is held."""

    phase: Phase
    reviewers: tuple[Role, ...]
    rounds: int
    recent: int
    """How many of the latest messages each reviewer sees."""
    seconds: float
    """For a turn of an agent; a person may take longer."""
    words_only: bool
    """Whether the models write text, with keywords, and no records."""
    brief: Callable[[Any, bool], str]
    """What the debate is about: from memory, and whether the reviewer hears it for the first time."""
    retry: Retry | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the reviewers."""
        return tuple(role.name for role in self.reviewers)
