"""Types of Python, as far as they matter for saying in a chart what Python says."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel


def plain(kind: Any) -> Any:
    """Return a type without `Annotated` and without None."""
    if get_origin(kind) is Annotated:
        return plain(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        others = [other for other in get_args(kind) if other is not NoneType]
        return plain(others[0]) if len(others) == 1 else kind
    return kind


def item_type(kind: Any) -> Any:
    """Return the type of the items of a list, or of the values of a mapping; None if it is not declared."""
    arguments = get_args(plain(kind))
    if not arguments:
        return None
    origin = get_origin(plain(kind))
    return plain(arguments[1] if isinstance(origin, type) and issubclass(origin, Mapping) else arguments[0])


def fields_of(kind: Any) -> dict[str, Any]:
    """Return the types of a record's fields."""
    record = plain(kind)
    if isinstance(record, type) and issubclass(record, BaseModel):
        return {name: plain(field.annotation) for name, field in record.model_fields.items()}
    return {}
