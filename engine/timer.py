"""The time-out of one state of a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(slots=True)
class Timer:
    """The time-out of one state: running while it has a task, frozen while it has none."""

    remaining: float
    whole: float
    """What it was set to."""
    started: float = 0.0
    task: asyncio.Task[None] | None = None
