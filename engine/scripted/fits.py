"""Whether a value fits a JSON schema: the part of the vocabulary that pydantic writes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from engine.pointer import parts_of

KINDS: dict[str, type | tuple[type, ...]] = {
    'object': Mapping,
    'array': (list, tuple),
    'string': str,
    'integer': int,
    'number': (int, float),
    'boolean': bool,
    'null': type(None),
}
FORMATS = {
    'date': r'\d{4}-\d\d-\d\d$',
    'date-time': r'\d{4}-\d\d-\d\d[T ]\d',
    'time': r'\d\d:\d\d',
    'duration': r'-?P[\dT]',
    'email': r'[^@\s]+@[^@\s]+$',
    'uuid': r'[0-9a-fA-F-]{32,36}$',
    'uri': r'[a-z][a-z0-9+.-]*:\S+$',
    'ipv4': r'[\d.]+$',
    'ipv6': r'[0-9a-fA-F:.]+$',
    'json-string': r'[\d\[{"tfn-]\S*$',
}
"""Enough to tell a text of that format from any other."""


def resolve(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its reference followed and its `allOf` put together; `True` and `{}` allow all."""
    made = dict(schema) if isinstance(schema, Mapping) else {}
    while '$ref' in made:
        target: Any = root
        for step in parts_of(made.pop('$ref')):
            target = target[step]
        made = {**target, **made}
    for part in made.pop('allOf', ()):
        made = {**resolve(part, root), **made}
    return made


def fits(value: Any, schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether `value` fits `schema`, whose references point into `root`."""
    schema = resolve(schema, root)
    kinds = schema.get('type', ())
    allowed = (
        ('const' not in schema or value == schema['const'])
        and ('enum' not in schema or value in schema['enum'])
        and (not kinds or any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)))
        and all(
            any(fits(value, item, root) for item in schema[key])
            for key in ('anyOf', 'oneOf')
            if key in schema
        )
    )
    return allowed and _is_within(value, schema, root)


def _is_within(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    match value:
        case bool() | None:
            return True
        case str():
            return _fits_text(value, schema)
        case int() | float():
            return _fits_number(value, schema)
        case Mapping():
            return _fits_object(value, schema, root)
    return _fits_array(value, schema, root)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == 'boolean'
    return isinstance(value, KINDS.get(kind, object))


def _fits_text(value: str, schema: Mapping[str, Any]) -> bool:
    if not schema.get('minLength', 0) <= len(value) <= schema.get('maxLength', math.inf):
        return False
    known = FORMATS.get(schema.get('format', ''))
    if known and not re.match(known, value):
        return False
    try:
        return 'pattern' not in schema or re.search(schema['pattern'], value) is not None
    except re.error:
        return True  # Written for another dialect: who wrote it has to judge.


def _fits_number(value: float, schema: Mapping[str, Any]) -> bool:
    step = schema.get('multipleOf')
    return (
        schema.get('minimum', -math.inf) <= value <= schema.get('maximum', math.inf)
        and schema.get('exclusiveMinimum', -math.inf) < value < schema.get('exclusiveMaximum', math.inf)
        and (not step or math.isclose(value / step, round(value / step), rel_tol=1e-12))
    )


def _fits_object(value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    properties = schema.get('properties', {})
    others = schema.get('additionalProperties', True)
    return (
        all(name in value for name in schema.get('required', ()))
        and schema.get('minProperties', 0) <= len(value) <= schema.get('maxProperties', math.inf)
        and all(
            fits(item, properties[name], root)
            if name in properties
            else others is not False and fits(item, others, root)
            for name, item in value.items()
        )
    )


def _fits_array(
    value: list[Any] | tuple[Any, ...], schema: Mapping[str, Any], root: Mapping[str, Any]
) -> bool:
    fixed = schema.get('prefixItems', ())
    items = schema.get('items', True)
    rest = value[len(fixed) :]
    return (
        schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', math.inf)
        and not (schema.get('uniqueItems') and any(item in value[:at] for at, item in enumerate(value)))
        and all(fits(item, part, root) for item, part in zip(value, fixed, strict=False))
        and not (items is False and rest)
        and all(fits(item, items, root) for item in rest)
    )
