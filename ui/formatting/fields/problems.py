"""Validation problems in plain words, by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

SENTENCES = {
    'missing': 'Fill this in.',
    'string_too_short': 'Enter at least {min_length} characters (now {size}).',
    'string_too_long': 'Use at most {max_length:,} characters (now {size:,}).',
    'greater_than_equal': 'Must be {ge} or more.',
    'less_than_equal': 'Must be {le} or less.',
    'greater_than': 'Must be more than {gt}.',
    'less_than': 'Must be less than {lt}.',
    'int_parsing': 'Must be a whole number.',
    'int_parsing_size': 'Must be a smaller number.',
    'int_from_float': 'Must be a whole number.',
    'float_parsing': 'Must be a number.',
    'finite_number': 'Must be a number.',
    'too_short': 'Enter at least {min_length} entries (now {actual_length}).',
    'too_long': 'Enter at most {max_length} entries (now {actual_length}).',
}
"""By pydantic's error type; other errors keep pydantic's own message."""
CHOICES = ('enum', 'literal_error')


def problems(error: ValidationError) -> dict[str, str]:
    """Return the problems by field; those of the whole model are under ''."""
    by_field: dict[str, str] = {}
    for item in error.errors(include_url=False):
        place = item['loc']
        problem = describe_problem(str(item['type']), item.get('ctx', {}), item.get('input'), item['msg'])
        if len(place) > 1:
            entry = place[1] + 1 if isinstance(place[1], int) else place[1]
            problem = f'Entry {entry}: {problem}'
        by_field.setdefault(str(place[0]) if place else '', problem)
    return by_field


def describe_problem(kind: str, bounds: Mapping[str, Any], value: Any, message: str) -> str:
    """Return one problem as a sentence that says what would be valid."""
    size = len(value.strip()) if isinstance(value, str) else 0
    if kind == 'string_too_short' and not size:
        least = bounds['min_length']
        return f'Fill this in: at least {least} characters.' if least > 1 else SENTENCES['missing']
    if value == '' and kind in CHOICES:
        return 'Choose one.'
    if kind in SENTENCES:
        whole = {name: _round_bound(bound) for name, bound in bounds.items()}
        return SENTENCES[kind].format(**{**whole, 'size': size})
    text = message.removeprefix('Value error, ')
    return f'{text[:1].upper()}{text[1:]}{"" if text.endswith((".", "!", "?")) else "."}'


def _round_bound(bound: Any) -> Any:
    """Format a whole number as one, even if its field takes fractions."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound
