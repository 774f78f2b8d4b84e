"""Cursors: opaque strings that mark where the next page of a list begins."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from engine import InvalidInput
from engine.records import MAX_NUMBER

T = TypeVar('T')
MAX_LIMIT = 500
"""Maximum number of items per page."""
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description='The maximum number of items per page.')]
Cursor = Annotated[
    str, Query(max_length=500, description='Where the page starts: `next` from the previous page.')
]
Step = Annotated[int, Query(ge=0, le=MAX_NUMBER, description='A step number; steps are numbered from 1.')]


class Page(BaseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next: str | None = Field(description='The cursor of the next page; null if there is none.')
    total: int | None = Field(None, description='The total number of items, if known.')


def write_cursor(place: Any) -> str:
    """Return the cursor for a position, a JSON value."""
    return base64.urlsafe_b64encode(json.dumps(place, separators=(',', ':')).encode()).decode().rstrip('=')


def read_cursor(kind: Any, cursor: str) -> Any:
    """Return the position of a cursor; None for the first page. Raises `InvalidInput`."""
    if not cursor:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + '=' * (-len(cursor) % 4))
        return TypeAdapter(kind).validate_json(text, strict=False)
    except (ValueError, binascii.Error, ValidationError):
        raise InvalidInput({'cursor': 'this is not a cursor of this list'}) from None
