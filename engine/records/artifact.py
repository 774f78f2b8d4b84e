"""Artifact, Criterion: an agent's products and the state of its completion criteria, as journaled."""

from __future__ import annotations

from typing import Any

from engine.records.frozen import FrozenModel


class Artifact(FrozenModel):
    """One artifact, as journaled."""

    value: Any
    """A text or a JSON value; if it is too long, the beginning of its text."""
    by: str = ''
    """The tool that made it; '' for the agent's own words."""
    size: int = 0
    """Length in characters, of the text or of the JSON text."""
    kept: str = ''
    """If it is too long to journal: the id of the full value among the run's contents."""


class Criterion(FrozenModel):
    """Whether a completion criterion is met, as journaled."""

    name: str
    holds: bool
    missing: str = ''
    """What is missing, in words; '' if it is met."""
