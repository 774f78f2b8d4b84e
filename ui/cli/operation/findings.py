"""Finding: what one check of `hemicycle doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal['ok', 'warning', 'broken']


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    level: Level
    about: str
    text: str
    remedy: str = ''
