"""Validates the scripted model's answers against the requested JSON schema."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.records.document import split_pointer

if TYPE_CHECKING:
    from jsonschema import ValidationError

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
"""Enough to distinguish a string of the format from others."""


def resolve(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with its reference resolved and `allOf` merged; `True` and `{}` allow anything."""
    resolved = dict(schema) if isinstance(schema, Mapping) else {}
    while '$ref' in resolved:
        target: Any = root
        for step in split_pointer(resolved.pop('$ref')):
            target = target[step]
        resolved = {**target, **resolved}
    for part in resolved.pop('allOf', ()):
        resolved = {**resolve(part, root), **resolved}
    return resolved


def fits(value: Any, schema: Any, root: Mapping[str, Any]) -> bool:
    """Return whether `value` fits `schema`, whose references are relative to `root`."""
    return bool(_validator()(root, format_checker=_formats()).evolve(schema=schema).is_valid(value))


@cache
def _validator() -> Any:
    """Return the validator class, created on demand: importing `jsonschema` would slow down every start."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # As in pydantic: 1.0 is not an integer, and a tuple becomes an array.
    types = Draft202012Validator.TYPE_CHECKER.redefine(
        'integer', lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ).redefine('array', lambda _, value: isinstance(value, list | tuple))
    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {'pattern': _pattern, 'multipleOf': _multiple}, type_checker=types
    )


@cache
def _formats() -> Any:
    from jsonschema import FormatChecker

    formats = FormatChecker(())
    for name, pattern in FORMATS.items():
        formats.checks(name)(_matches_pattern(pattern))
    return formats


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    try:
        if isinstance(value, str) and not re.search(pattern, value):
            yield ValidationError(f'{value!r} does not match {pattern!r}')
    except re.error:
        return  # From another dialect of regular expressions; the author of the schema has to check it.


def _multiple(validator: Any, step: float, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not math.isclose(value / step, round(value / step), rel_tol=1e-12):
        yield ValidationError(f'{value!r} is not a multiple of {step!r}')


def _matches_pattern(pattern: str) -> Any:
    return lambda value: not isinstance(value, str) or re.match(pattern, value) is not None
