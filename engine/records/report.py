"""Report: what a run reports to people, as its pattern states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedReport:
    """The report of a run at one of its steps."""

    text: str = ''
    """As Markdown; '' if there is none."""
    data: Mapping[str, Any] | None = None
    """As JSON values, if the pattern builds it from data."""
    final: bool = True
    """Whether the work has ended; otherwise it only says how far it has come."""
