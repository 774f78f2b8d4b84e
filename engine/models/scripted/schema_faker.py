"""Generates values that fit a JSON schema, using suggested ones where they fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.models.scripted.schema_match import fits, resolve

DEEP = 4
"""Below this depth only required fields are filled: a schema may be recursive."""
USUAL_ITEMS = 3
FORMATS = {
    'date': '2025-03-{}',
    'date-time': '2025-03-{}T09:30:00Z',
    'time': '09:{}:00Z',
    'duration': 'PT{}M',
    'email': 'someone{}@example.org',
    'uuid': '3f0c8e52-5a51-4c3e-9f3b-1d5b7f1a9c{}',
    'uri': 'https://example.org/{}',
    'ipv4': '192.0.2.{}',
    'ipv6': '2001:db8::{}',
    'json-string': '{}',
}
"""Samples per format; the placeholder takes two digits that distinguish list elements."""
SHAPES = ('A1', 'AB-123', 'ABC', 'abc', 'a_b', '1', '12', '123', '1234', '2025-03-14', '09:30', '#336699', '')
"""Tried after the words when a string must match a regular expression."""

Write = Callable[[str, int], str]
"""Writes text for a field of the given name; the number distinguishes list elements."""


class SchemaFaker:
    """Generates values for one schema.

    Args:
        schema: the JSON schema, as pydantic writes it.
        write: writes the text of a field.
        level: position of numbers in their range, from 0 to 1.
        yes: the value of booleans.
        suggested: values by field name, used wherever they fit.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        write: Write,
        *,
        level: float = 0.6,
        yes: bool = True,
        suggested: Mapping[str, Any] | None = None,
    ) -> None:
        self._root, self._write, self._level, self._first_boolean = schema, write, level, yes
        self._suggested = suggested or {}

    def value(self) -> Any:
        """Return a value that fits the whole schema."""
        return self._fill(self._root, '', 0, 0)

    def _fill(self, schema: Any, name: str, index: int, depth: int) -> Any:
        schema = resolve(schema, self._root)
        if name in self._suggested and index == 0 and fits(self._suggested[name], schema, self._root):
            return self._suggested[name]
        if 'const' in schema:
            return schema['const']
        if 'enum' in schema:
            return schema['enum'][index % len(schema['enum'])]
        for key in ('anyOf', 'oneOf'):
            if key in schema:
                rest = {name: value for name, value in schema.items() if name != key}
                choices = [{**rest, **resolve(item, self._root)} for item in schema[key]]
                return self._one_of(choices, name, index, depth)
        return self._of_kind(schema, name, index, depth)

    def _of_kind(self, schema: Mapping[str, Any], name: str, index: int, depth: int) -> Any:
        kinds = schema.get('type', 'object' if 'properties' in schema else 'string')
        kind = kinds if isinstance(kinds, str) else next((item for item in kinds if item != 'null'), 'null')
        value: Any = None
        match kind:
            case 'object':
                value = self._object(schema, depth)
            case 'array':
                value = self._array(schema, name, depth)
            case 'integer' | 'number':
                value = number(schema, self._level, index, whole=kind == 'integer')
            case 'boolean':
                value = self._first_boolean if index % 2 == 0 else not self._first_boolean
            case 'string':
                value = self._string(schema, name, index)
        return value

    def _one_of(self, choices: list[dict[str, Any]], name: str, index: int, depth: int) -> Any:
        plain = [choice for choice in choices if choice.get('type') != 'null']
        simple = [choice for choice in choices if choice.get('type') not in (None, 'object', 'array')]
        suitable = (simple or choices) if depth >= DEEP else (plain or choices)
        # Set elements must differ, and one choice alone may not have enough values.
        turns, place = divmod(index, len(suitable))
        return self._fill(suitable[place], name, turns, depth + 1)

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get('properties', {})
        required = schema.get('required', ())
        names = [name for name in properties if name in required or depth < DEEP]
        values = {name: self._fill(properties[name], name, 0, depth + 1) for name in names}
        values |= {name: self._write(name, 0) for name in required if name not in values}
        return self._others(schema, values, depth)

    def _others(self, schema: Mapping[str, Any], values: dict[str, Any], depth: int) -> dict[str, Any]:
        """Add fields that the schema does not name."""
        extra = schema.get('additionalProperties', True)
        least, most = schema.get('minProperties', 0), schema.get('maxProperties', math.inf)
        if isinstance(extra, dict) and not schema.get('properties') and depth < DEEP:
            least = max(least, min(2, most))
        keys = {'type': 'string', **resolve(schema.get('propertyNames', {}), self._root)}
        for index in range(2 * least + 8):
            if extra is False or len(values) >= least:
                break
            key = str(self._fill(keys, 'key', index, depth + 1))
            values.setdefault(key, self._fill(extra, key, 0, depth + 1))
        return values

    def _array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        fixed = schema.get('prefixItems', ())
        values = [self._fill(item, name, index, depth + 1) for index, item in enumerate(fixed)]
        least = schema.get('minItems', 0)
        most = schema.get('maxItems', math.inf)
        usual = least if depth >= DEEP else max(least, USUAL_ITEMS)
        items = schema.get('items', not fixed)
        if items is False or (items is True and least <= len(values)):
            return values
        index = 0
        while len(values) < min(usual, most) and index < 4 * usual + 16:
            item = self._fill({} if items is True else items, name, index, depth + 1)
            if not (schema.get('uniqueItems') and item in values):
                values.append(item)
            index += 1
        return values

    def _string(self, schema: Mapping[str, Any], name: str, index: int) -> str:
        tried = list(self._strings(schema, name, index))
        return next((text for text in tried if fits(text, schema, self._root)), tried[0])

    def _strings(self, schema: Mapping[str, Any], name: str, index: int) -> Iterator[str]:
        if schema.get('format') in FORMATS:
            yield FORMATS[schema['format']].format(10 + index % 20)
        text = self._write(name, index)
        yield fit_length(text, schema.get('minLength', 0), schema.get('maxLength'))
        if 'pattern' in schema:
            words = text.split()
            yield from (case for word in words for case in (word, word.lower(), word.upper(), word.title()))
            yield from SHAPES


def fit_length(text: str, least: int, most: int | None) -> str:
    """Pad or trim the text; it gets no space at either end, since a validator may strip them."""
    text = text.strip() or 'x'
    whole = text
    while len(text) < least:
        text = f'{text} {whole}'
    if most is not None and len(text) > most:
        shorter = text[:most].rstrip()
        at_word = shorter.rpartition(' ')[0].rstrip(' ,;:')
        text = at_word if len(at_word) >= max(least, 1) else shorter.ljust(max(least, 0), '.')
    return text


def number(schema: Mapping[str, Any], level: float, index: int, *, whole: bool) -> float:
    """Return a number in the schema's range, at `level` if bounded at both ends; differs by `index`."""
    step = schema.get('multipleOf') or (1 if whole else None)
    low, high = _range(schema)
    values = _steps(low, high, step, level, index) if step else _between(low, high, level, index)
    fitting = (value for value in values if fits(value, schema, schema))
    value = next(fitting, low)
    return int(value) if whole else value


def _range(schema: Mapping[str, Any]) -> tuple[float, float]:
    low: float | None = schema.get('minimum', schema.get('exclusiveMinimum'))
    high: float | None = schema.get('maximum', schema.get('exclusiveMaximum'))
    if low is None and high is None:
        return 0, 10
    if low is None:
        assert high is not None
        return high - max(10, abs(high) // 2), high
    return low, low + max(10, abs(low) // 2) if high is None else high


def _steps(low: float, high: float, step: float, level: float, index: int) -> Iterator[float]:
    first, last = -int(-low // step), int(high // step)
    count = max(1, last - first + 1)
    # In hundredths, since a large integer would lose its last digits as a float.
    start = (count - 1) * round(level * 100) // 100
    for offset in range(min(count, 64)):
        yield (first + (start + index + offset) % count) * step


def _between(low: float, high: float, level: float, index: int) -> Iterator[float]:
    middle = low * (1 - level) + high * level
    # After the first element, move from the middle towards the upper end without reaching it.
    value = middle + (high / 2 - middle / 2) * index / (index + 1)
    yield from (round(value, 2), value, middle, math.nextafter(low, high), low, high)
