"""A passage of a transcript."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A passage spoken without a pause."""

    start: float
    """Seconds."""
    end: float
    speaker: str
    text: str
    estimated: bool = False
    """Whether its start was estimated from the number of words before it."""
