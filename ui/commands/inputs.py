"""Parameters of a pattern: what it takes, in words, and what was typed for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine import InvalidInput, Pattern


def parameters_of(pattern: type[Pattern], task: str | None, sets: Sequence[str]) -> dict[str, Any]:
    """The values for a pattern's parameters, from `--task` and `--set name=value`.

    Raises:
        InvalidInput: no such parameter, or a value given twice; the pattern itself checks the values.
    """
    values: dict[str, Any] = {}
    for item in sets:
        name, equals, value = item.partition('=')
        name = name.strip()
        if not equals:
            raise InvalidInput({'--set': f'must be name=value, not {item!r}; {takes(pattern)}'})
        if name not in pattern.Parameters.model_fields:
            raise InvalidInput({name or '--set': f'there is no such parameter; {takes(pattern)}'})
        if name in values:
            raise InvalidInput({name: 'is set twice'})
        values[name] = _value(value)
    if task is not None:
        name = main_text(pattern)
        if not name:
            raise InvalidInput({'--task': f'this pattern has no text parameter; {takes(pattern)}'})
        if name in values:
            raise InvalidInput({name: 'is set twice, by --task and by --set'})
        values[name] = sys.stdin.read() if task == '-' else task
    return values


def main_text(pattern: type[Pattern]) -> str:
    """The parameter that `--task` is short for: the first of many lines, else required, else any; or ''."""
    texts = {name: schema for name, schema in _properties(pattern).items() if schema.get('type') == 'string'}
    required = pattern.Parameters.model_json_schema().get('required', [])
    ranked = sorted(texts, key=lambda name: (not texts[name].get('multiline'), name not in required))
    return ranked[0] if ranked else ''


def takes(pattern: type[Pattern]) -> str:
    """The parameters in one line."""
    return f'{pattern.name} takes {", ".join(name for name in _properties(pattern)) or "no parameters"}'


def described(pattern: type[Pattern]) -> Iterator[tuple[str, str, str]]:
    """Of each parameter: its name, what it may be, and what it is for."""
    required = pattern.Parameters.model_json_schema().get('required', [])
    for name, schema in _properties(pattern).items():
        default = 'required' if name in required else f'{json.dumps(schema.get("default"))} by default'
        yield name, ', '.join([*_bounds(schema), default]), str(schema.get('description', ''))


def _properties(pattern: type[Pattern]) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = pattern.Parameters.model_json_schema().get('properties', {})
    return found


def _bounds(schema: Mapping[str, Any]) -> Iterator[str]:
    if 'enum' in schema:
        yield f'one of {", ".join(map(str, schema["enum"]))}'
        return
    kind = {'string': 'text', 'integer': 'whole number', 'boolean': 'true or false', 'array': 'list'}
    yield kind.get(schema.get('type', ''), schema.get('type', 'value'))
    low, high = schema.get('minimum'), schema.get('maximum')
    if low is not None or high is not None:
        yield f'{low if low is not None else "any"} to {high if high is not None else "any"}'
    if 'maxLength' in schema:
        yield f'{schema.get("minLength", 0):,} to {schema["maxLength"]:,} characters'


def _value(text: str) -> Any:
    """A list or an object where the text is one in JSON; otherwise the text, read as pydantic needs it."""
    if text.lstrip()[:1] in ('[', '{'):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    return text
