"""FrozenModel: the immutable base class of records kept in memory or returned by models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Immutable; rejects unknown fields."""

    model_config = ConfigDict(frozen=True, extra='forbid')
