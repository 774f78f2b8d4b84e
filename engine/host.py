"""Host: what a live run needs of the process it lives in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.activity import Services
from engine.feed import Feed
from engine.journal import Journal

if TYPE_CHECKING:
    from engine.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Shared by all live runs of a conductor."""

    journal: Journal
    feed: Feed
    services: Services
    ended: Callable[[Run], None]
    """Told of each run that is not run here any more."""
