"""`[retention]` of the configuration: how long runs are kept, as a user writes it down."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from engine.keeping.retention import Retention

UNITS = {'': 1, 'b': 1, 'kb': 10**3, 'mb': 10**6, 'gb': 10**9, 'tb': 10**12}


def size_of(value: Any) -> Any:
    """Bytes, of a number or of a text such as `20 GB`; anything else as it is. Raises `ValueError`."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r'\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*', value.lower())
    if found is None or found[2] not in UNITS:
        raise ValueError(f'{value!r} is no size: write bytes, or a number with kB, MB, GB or TB')
    return round(float(found[1]) * UNITS[found[2]])


class RetentionSection(BaseModel):
    """What is not given takes no run."""

    model_config = ConfigDict(extra='forbid')

    days: float | None = Field(None, gt=0)
    runs: int | None = Field(None, ge=1)
    size: Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(size_of)] = None
    trash_days: float = Field(7.0, ge=0)

    def policy(self) -> Retention:
        """The policy."""
        return Retention(days=self.days, runs=self.runs, size=self.size, trash_days=self.trash_days)
