"""Record: the base of what does not change once it is made, as what runs remember and models answer."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Holds its fields and nothing else."""

    model_config = ConfigDict(frozen=True, extra='forbid')
