"""Comparisons and arithmetic of expressions, on JSON values; null in, null out."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

MAX_JOINED = 1_000_000
"""Maximum number of characters in a concatenated string."""
MAX_BITS = 1_024
"""Maximum size of a whole number; no number is infinite, since no journal could hold it."""
CHARACTERS_PER_VALUE = 200
"""Number of characters of a string that count as one value."""


OBJECTS = (dict, Mapping)
"""Objects of JSON; nearly all are of the first class, which is recognized in no time."""


class EvaluationError(Exception):
    """An expression that cannot be evaluated; `str(error)` says why."""


def get_item(value: Any, key: Any) -> Any:
    """Return the value in a JSON value or a record at this key; None if there is none."""
    if isinstance(value, OBJECTS):
        return value.get(key) if isinstance(key, str) else None
    if isinstance(value, BaseModel):
        return getattr(value, key, None) if key in type(value).model_fields else None
    if isinstance(value, list | tuple) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if -len(value) <= key < len(value) else None
    return None


def is_simple(value: Any) -> bool:
    """Return whether it is null, a truth value, a number or a string."""
    return value is None or isinstance(value, bool | int | float | str)


def comparison_cost(left: Any, right: Any, limit: int) -> int:
    """Return how many values comparing or joining two inspects; stops counting soon after `limit`."""
    if (is_simple(left) or is_simple(right)) and not isinstance(left, BaseModel) | isinstance(
        right, BaseModel
    ):
        return own_size(left) + own_size(right)
    return _deep(left, limit) + _deep(right, limit)


def call_cost(values: Sequence[Any], limit: int, *, deep: bool) -> int:
    """Return how many values a function inspects: the items of its lists, or all inside them."""
    if deep and len(values) == 2:
        return comparison_cost(values[0], values[1], limit)
    return sum(_deep(value, limit) if deep else own_size(value) for value in values)


def own_size(value: Any) -> int:
    """Return how many values a list, an object or a text itself holds, without those inside them."""
    if isinstance(value, str):
        return len(value) // CHARACTERS_PER_VALUE
    return len(value) if isinstance(value, list | tuple | Mapping) else 0


def deep_size(value: Any, limit: int) -> int:
    """Return about how many characters a value has as text; stops counting above `limit`."""
    return _deep(value, limit, 1)


def _deep(value: Any, limit: int, unit: int = CHARACTERS_PER_VALUE) -> int:
    """Return the number of values in a value, `unit` characters being one; stops counting above `limit`."""
    remaining, count = [value], 0
    while remaining and count <= limit:
        item = remaining.pop()
        count += 1
        if isinstance(item, str):
            count += len(item) // unit
        elif isinstance(item, int):
            count += item.bit_length() // 3 // unit  # About three bits a digit.
        elif isinstance(item, BaseModel):
            remaining.extend(item.__dict__.values())
        elif isinstance(item, Mapping):
            remaining.extend(item.values())
        elif isinstance(item, list | tuple):
            remaining.extend(item)
    return count


def calculate(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the result of arithmetic on two numbers, or of joining two texts or two lists."""
    if left is None or right is None:
        return None
    if operation is operator.add and isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return [*left, *right]
    if operation is operator.add and are_strings(left, right):
        if len(left) + len(right) > MAX_JOINED:
            raise EvaluationError('the text would be too long')
    elif not (is_number(left) and is_number(right)):
        raise EvaluationError(f'it cannot work with {kind_of(left)} and {kind_of(right)}')
    return finite(operation(left, right))


def finite(value: Any) -> Any:
    """Return what was computed. Raises `EvaluationError` for a number that is too large to be kept."""
    if is_number(value) and (
        value.bit_length() > MAX_BITS if isinstance(value, int) else not math.isfinite(value)
    ):
        raise EvaluationError('the number would be too large')
    return value


def null_safe(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Make a comparison false if either value is missing."""

    def compare_values(left: Any, right: Any) -> bool:
        if left is None or right is None:
            return False
        # A number or a string never equals a record, so the items of a list need no conversion.
        of_items = is_simple(left) or is_simple(right)
        left, right = (
            value if of_items and isinstance(value, list | tuple) else to_json(value)
            for value in (left, right)
        )
        alike = (is_number(left) and is_number(right)) or are_strings(left, right)
        if compare in ORDERINGS and not alike:
            raise EvaluationError(f'it cannot compare {kind_of(left)} with {kind_of(right)}')
        return compare(left, right)

    return compare_values


def contains(whole: Any, part: Any) -> bool:
    """Return whether a text, a list or an object has a part, an item or a field."""
    if isinstance(whole, str):
        if not isinstance(part, str):
            raise EvaluationError(f'it cannot look for {kind_of(part)} in a text')
        return part in whole
    if isinstance(whole, Mapping):
        return isinstance(part, str) and part in whole
    return part in require_list(whole)


def require_list(value: Any) -> Sequence[Any]:
    """Return a list, or the names in an object."""
    if isinstance(value, Mapping):
        return list(value)
    if not isinstance(value, list | tuple):
        raise EvaluationError(f'it needs a list, not {kind_of(value)}')
    return value


def is_number(value: Any) -> bool:
    """Return whether it is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def are_strings(*values: Any) -> bool:
    """Return whether all of them are strings."""
    return all(isinstance(value, str) for value in values)


def kind_of(value: Any) -> str:
    """Return the kind of value, for an error."""
    for kind, name in TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return 'an object'


def is_missing(left: Any, right: Any) -> bool:
    """`x == null`."""
    return left is None and right is None


def is_present(left: Any, right: Any) -> bool:
    """`x != null`."""
    return left is not None or right is not None


def to_json(value: Any) -> Any:
    """Return a record, or a list of records, as JSON; JSON values stay as they are."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode='json')
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


TYPE_NAMES: tuple[tuple[Any, str], ...] = (
    (bool, 'true or false'), (int | float, 'a number'), (str, 'a text'), (list | tuple, 'a list'),
    (type(None), 'null'),
)  # fmt: skip
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: contains(whole, part),
    ast.NotIn: lambda part, whole: not contains(whole, part),
}
ORDERINGS = (operator.lt, operator.le, operator.gt, operator.ge)
CONSTANTS = {'true': True, 'false': False, 'null': None}
