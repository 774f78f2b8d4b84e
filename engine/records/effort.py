"""Reasoning effort: how much a model thinks before it answers, as a level or a number of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

EFFORT_LEVELS = ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')
"""Providers' names for levels; each model accepts some of them."""
MIN_TOKENS = 1_024
"""Minimum thinking budget; no provider accepts a smaller one."""
EFFORT_SYNTAX = (
    f'must be one of {", ".join(EFFORT_LEVELS)}, or a number of thinking tokens from {MIN_TOKENS:,}'
)


def thinking_tokens(effort: str) -> int | None:
    """Return the number of tokens if the effort is one; None if it is a level."""
    return int(effort) if effort.isdecimal() else None


def is_effort(text: str) -> bool:
    """Return whether a string is a level or a number of tokens."""
    tokens = thinking_tokens(text)
    return text in EFFORT_LEVELS if tokens is None else tokens >= MIN_TOKENS


def role_effort(efforts: Mapping[str, str], role: str) -> str:
    """Return a role's effort; the key '' is for all other roles, and the result '' leaves it to the model."""
    return efforts.get(role) or efforts.get('', '')


def _valid_effort(value: str) -> str:
    if not is_effort(value):
        raise PydanticCustomError('effort', EFFORT_SYNTAX)
    return value


Effort = Annotated[str, AfterValidator(_valid_effort)]
