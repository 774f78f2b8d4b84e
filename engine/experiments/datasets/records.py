"""Records of datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of a dataset."""

    id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    expectation: Any = None
    tags: tuple[str, ...] = ()
    split: str = ''
