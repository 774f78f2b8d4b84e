"""Fault: a file that could not be loaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file that could not be loaded."""

    path: str
    line: int
    problem: str
