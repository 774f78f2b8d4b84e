"""Lenient reading: records from JSON whose pattern has changed since, with missing or unknown fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain, islice, repeat
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

T = TypeVar('T')
Reader = Callable[[object], Any]


def read_leniently(kind: type[T], value: object) -> T:
    """Read a value of memory, whatever its form; never fails.

    What is valid is read as usual. Otherwise unknown fields are dropped, missing ones get their default or an
    empty value, malformed values become empty, and a text stays as it is even if it names no known choice.

    Args:
        kind: a pydantic model, or a list, tuple or dict of models or of plain values.
        value: the JSON.
    """
    hint: Any = kind
    record: T = _reader(hint)(value)
    return record


@cache
def _reader(kind: Any) -> Reader:
    """Return a function that reads this type: strictly at first, then part by part."""
    adapter, lenient = TypeAdapter(kind), _lenient_reader(kind)

    def read(value: object) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError:
            return lenient(value)

    return read


def _lenient_reader(kind: Any) -> Reader:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _lenient_reader(inner[0])
    if origin in (Union, UnionType):
        return _optional_reader(inner)
    if origin in (list, tuple, Sequence):
        return _sequence_reader(origin, inner)
    if origin in (dict, Mapping):
        return lambda value: {
            str(key): _reader(inner[1])(item)
            for key, item in (value.items() if isinstance(value, Mapping) else ())
        }
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return lambda value: _construct(kind, value if isinstance(value, Mapping) else {})
    is_text = origin is Literal or (isinstance(kind, type) and issubclass(kind, str))
    return BLANKS.get(str if is_text else kind, lambda value: value)


def _sequence_reader(origin: Any, inner: Sequence[Any]) -> Reader:
    make = tuple if origin is tuple else list
    fixed = origin is tuple and Ellipsis not in inner

    def read(value: object) -> Any:
        items = value if isinstance(value, list | tuple) else ()
        if fixed:
            items = tuple(islice(chain(items, repeat(None)), len(inner)))
        kinds = inner if fixed else repeat(inner[0])
        return make(_reader(kind)(item) for kind, item in zip(kinds, items, strict=False))

    return read


def _optional_reader(kinds: Sequence[Any]) -> Reader:
    """Return a reader of the first alternative that is a type; a value that it cannot take is None."""
    kind = next((part for part in kinds if part is not type(None)), Any)
    model = isinstance(kind, type) and issubclass(kind, BaseModel)

    def read(value: object) -> Any:
        return None if value is None or (model and not isinstance(value, Mapping)) else _reader(kind)(value)

    return read


def _construct(model: type[BaseModel], values: Mapping[Any, Any]) -> BaseModel:
    fields = {}
    for name, field in model.model_fields.items():
        if values.get(name) is not None or field.is_required():
            hint: Any = field.annotation
            fields[name] = _reader(hint)(values.get(name))
        else:
            fields[name] = field.get_default(call_default_factory=True)
    return model.model_construct(**fields)


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


BLANKS: Mapping[Any, Reader] = {
    str: lambda value: '' if value is None else str(value),
    int: lambda value: int(_number(value)),
    float: _number,
    bool: bool,
}
"""How to read plain values that are malformed, by type."""
