"""Records as JSON: models derived from the engine's dataclasses, with moments in RFC 3339."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    StrictBool,
    TypeAdapter,
    WithJsonSchema,
    create_model,
)
from pydantic import Field as ModelField
from pydantic.fields import FieldInfo

from engine import InvalidInput
from engine.records import Instant
from ui.formatting.fields.record_fields import record_fields

R = TypeVar('R')
CONTAINERS: Mapping[Any, Any] = {Mapping: dict, Sequence: list}
"""Concrete types for abstract ones."""
NEVER = frozenset({'deleted', 'edited', 'end', 'paused_since', 'snoozed_until', 'start'})
"""Timestamps that are null if there is no such moment."""
YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800
"""The moments that text can name, in seconds since 1970."""


def to_rfc3339(moment: float) -> str:
    """Return a moment as text, without loss: `from_rfc3339` returns the same number."""
    seconds = math.floor(moment)
    digits = f'{Decimal(repr(moment)) - seconds:f}'.partition('.')[2].rstrip('0')
    text = datetime.fromtimestamp(seconds, UTC).strftime('%Y-%m-%dT%H:%M:%S')
    return f'{text}{"." * bool(digits)}{digits}Z'


def from_rfc3339(text: Any) -> Any:
    """Return the moment in seconds since 1970; numbers and null (never) are accepted too."""
    if text is None:
        return 0.0
    if isinstance(text, bool):
        raise ValueError('a timestamp is text, as in 2026-01-31T12:00:00Z')
    if not isinstance(text, str):
        return _dated(text) if isinstance(text, (int, float)) else text
    head, dot, rest = text.partition('.')
    digits = rest[: len(rest) - len(rest.lstrip('0123456789'))]
    moment = datetime.fromisoformat(f'{head}{rest[len(digits) :]}' if dot else text)
    if moment.tzinfo is None:
        raise ValueError('a timestamp needs an offset, as in 2026-01-31T12:00:00Z')
    return _dated(float(int(moment.timestamp()) + Decimal(f'0.{digits or 0}')))


def _dated(moment: float) -> float:
    """Return a moment that `to_rfc3339` can write. Raises `ValueError` for any other."""
    if not YEAR_1 <= moment < YEAR_10000:
        raise ValueError('it must be in the years 1 to 9999')
    return moment


MODELS: dict[tuple[Any, bool], type[BaseModel]] = {}
"""The models derived so far, by record and by whether they are for requests."""
ADAPTERS: dict[Any, TypeAdapter[Any]] = {}

MOMENT = Annotated[
    float,
    BeforeValidator(from_rfc3339),
    PlainSerializer(to_rfc3339, return_type=str, when_used='json'),
    WithJsonSchema({'type': 'string', 'format': 'date-time', 'examples': ['2026-01-31T12:00:00.25Z']}),
]
OptionalTimestamp = Annotated[
    float,
    BeforeValidator(from_rfc3339),
    PlainSerializer(lambda moment: to_rfc3339(moment) if moment else None, when_used='json'),
    WithJsonSchema({'anyOf': [{'type': 'string', 'format': 'date-time'}, {'type': 'null'}]}),
]


def wire(record: Any) -> type[BaseModel]:
    """Return the model of a record in responses: exactly its fields."""
    return _derive(record, record.__name__, is_input=False)


def input_model(record: Any) -> type[BaseModel]:
    """Return the model of a record in requests: fields with defaults are optional, unknown ones refused.

    Computed fields are left out.
    """
    return _derive(record, f'{record.__name__}Input', is_input=True)


@functools.cache
def changes_model(record: Any) -> type[BaseModel]:
    """Return the model of changes to a record: as in requests, but every field is optional."""
    fields = input_model(record).model_fields
    optional: dict[str, Any] = {
        name: (field.annotation, field if not field.is_required() else _optional(field))
        for name, field in fields.items()
    }
    return create_model(f'{record.__name__}Changes', __config__=ConfigDict(extra='forbid'), **optional)


def given_fields(record: Any, model: BaseModel) -> dict[str, Any]:
    """Return the fields of a record that a model of it, or of changes to it, was given."""
    values = model.model_dump(exclude_unset=True)
    return {
        field.name: _adapter(field.annotation).validate_python(values[field.name])
        for field in record_fields(record)
        if field.name in values
    }


def to_record(record: type[R], model: BaseModel) -> R:
    """Return the record that a model from a request or a response holds. Raises `InvalidInput`."""
    try:
        value: R = _adapter(record).validate_python(model.model_dump(exclude_unset=True))
    except ValueError as error:
        raise InvalidInput({record.__name__: str(error)}) from None
    return value


def encode(record: Any) -> Any:
    """Return a record as JSON values."""
    return wire(type(record)).model_validate(record).model_dump(mode='json')


def encode_text(record: Any) -> str:
    """Validate a record against its type, and return it as JSON text."""
    return wire(type(record)).model_validate(record).model_dump_json()


def dump(record: Any) -> Any:
    """Return a record as JSON values for a request."""
    return input_model(type(record)).model_validate(record).model_dump(mode='json')


def dump_fields(record: Any, values: Mapping[str, Any]) -> Any:
    """Return changes to a record as JSON values for a request."""
    return (
        changes_model(record)
        .model_validate(values, from_attributes=True)
        .model_dump(mode='json', exclude_unset=True)
    )


def decode(record: type[R], values: Any) -> R:
    """Return the record of JSON values that `encode` wrote."""
    return to_record(record, wire(record).model_validate(values))


def wire_type(kind: Any) -> Any:
    """Return a type with its records replaced by their models in responses."""
    return _map_type(kind, is_input=False)


def input_type(kind: Any) -> Any:
    """Return a type with its records replaced by their models in requests."""
    return _map_type(kind, is_input=True)


def dump_as(kind: Any, value: Any) -> Any:
    """Return a value of this type as JSON values for a request."""
    adapter = _adapter(input_type(kind))
    return adapter.dump_python(adapter.validate_python(value), mode='json')


def decode_as(kind: Any, values: Any) -> Any:
    """Return the value of this type that JSON values of a response hold."""
    adapter = _adapter(wire_type(kind))
    return validate(kind, adapter.dump_python(adapter.validate_python(values), exclude_unset=True))


def validate(kind: Any, values: Any) -> Any:
    """Return the value of this type that plain values hold. Raises `ValueError`."""
    return _adapter(kind).validate_python(values)


def _adapter(record: Any) -> TypeAdapter[Any]:
    if record not in ADAPTERS:
        ADAPTERS[record] = TypeAdapter(record)
    return ADAPTERS[record]


def _derive(record: Any, name: str, *, is_input: bool) -> type[BaseModel]:
    if derived := MODELS.get((record, is_input)):
        return derived
    model_fields: dict[str, Any] = {}
    for field in record_fields(record):
        if is_input and field.computed:
            continue
        kind = _map_type(field.annotation, is_input=is_input)
        default = field.default if is_input else ...
        if _is_instant(field.annotation) and (field.name in NEVER or default == 0.0):
            kind, default = OptionalTimestamp, (None if is_input else ...)
        model_fields[field.name] = (kind, ModelField(default, description=field.help or None))
    config = ConfigDict(from_attributes=True, extra='forbid' if is_input else 'ignore')
    model: type[BaseModel] = create_model(
        name, __config__=config, __doc__=inspect.getdoc(record), **model_fields
    )
    return MODELS.setdefault((record, is_input), model)


def _optional(field: FieldInfo) -> FieldInfo:
    optional = copy(field)
    optional.default = None
    return optional


def _is_instant(kind: Any) -> bool:
    return get_args(kind)[:2] == get_args(Instant)


def _map_type(kind: Any, *, is_input: bool) -> Any:
    """A type with records replaced by their models and moments by RFC 3339."""
    if _is_instant(kind):
        return MOMENT
    if isinstance(kind, type) and is_dataclass(kind):
        return input_model(kind) if is_input else wire(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (None, Literal) or not inner:
        return StrictBool if kind is bool and is_input else kind
    if origin is Annotated:
        return Annotated[(_map_type(inner[0], is_input=is_input), *inner[1:])]
    arguments = tuple(
        argument if argument is ... else _map_type(argument, is_input=is_input) for argument in inner
    )
    if origin in (Union, UnionType):
        return Union[arguments]  # noqa: UP007  (of a tuple)
    return CONTAINERS.get(origin, origin)[arguments]
