"""Values typed on the command line: pattern parameters, event data and times."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import typer

from engine import InvalidInput
from ui.formatting.fields.parameters import PatternInfo, main_parameter


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were given: those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def check_choice(option: str, value: str, choices: Collection[str]) -> None:
    """Raise `InvalidInput`, naming the option, for a value that is not one of the choices."""
    if value not in choices:
        raise InvalidInput({option: f'must be one of {", ".join(choices)}, not {value!r}'})


def ask_secret(what: str, *, again: bool = False) -> str:
    """Ask for a secret without showing it, or read it from the first line of standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=again))
    return sys.stdin.readline().rstrip('\n')


def parse_time(option: str, text: str, *, example: str) -> float:
    """Parse a time (ISO 8601) into seconds since 1970; without an offset, in this machine's time zone.

    Raises:
        InvalidInput: names the option, and shows the example.
    """
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise InvalidInput({option: f'must be a time such as {example}, not {text!r}'}) from None


def parse_parameters(pattern: PatternInfo, task: str | None, sets: Sequence[str]) -> dict[str, Any]:
    """Parse the values of a pattern's parameters, from `--task` and `--set name=value`.

    Raises:
        InvalidInput: unknown parameter, or a value given twice; the pattern itself checks the values.
    """
    values: dict[str, Any] = {}
    for item in sets:
        name, equals, value = item.partition('=')
        name = name.strip()
        if not equals:
            raise InvalidInput({'--set': f'must be name=value, not {item!r}; {format_signature(pattern)}'})
        properties = pattern.parameters.get('properties', {})
        if name not in properties:
            raise InvalidInput({name or '--set': f'there is no such parameter; {format_signature(pattern)}'})
        if name in values:
            raise InvalidInput({name: 'is set twice'})
        values[name] = _value_of(properties[name], value)
    if task is not None:
        name = main_parameter(pattern.parameters)
        if not name:
            raise InvalidInput({'--task': f'this pattern has no text parameter; {format_signature(pattern)}'})
        if name in values:
            raise InvalidInput({name: 'is set twice, by --task and by --set'})
        values[name] = sys.stdin.read().removeprefix('\ufeff') if task == '-' else task
    return values


def _value_of(schema: Mapping[str, Any], text: str) -> Any:
    """Parse JSON where a parameter may be such; numbers are read from their text by the pattern."""
    kinds = {each.get('type') for each in (schema, *schema.get('anyOf', ()))}
    if text in ('true', 'false') and 'boolean' in kinds:
        return text == 'true'
    if text == 'null' and 'null' in kinds and 'string' not in kinds:
        return None
    is_text = 'string' in kinds and kinds.isdisjoint({'array', 'object'})
    return text if is_text or text.lstrip()[:1] not in ('[', '{') else json_or_text(text)


def parse_data(sets: Sequence[str]) -> dict[str, Any]:
    """Parse an event's data, from `--set name=value`. Raises `InvalidInput`."""
    return {name: _value(value) for name, value in parse_pairs('--set', sets)}


def json_or_text(text: str) -> Any:
    """Parse JSON; return any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_by_role(chosen: list[str], option: str, what: str) -> dict[str, str]:
    """Parse values by role. Raises `InvalidInput`, naming the option."""
    values: dict[str, str] = {}
    for item in chosen:
        role, _, value = item.rpartition('=')
        if not value.strip() or role.strip() in values:
            raise InvalidInput({option: f'must be [ROLE=]{what}, once for each role, not {item!r}'})
        values[role.strip()] = value.strip()
    return values


def parse_pairs(option: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a repeatable option. Raises `InvalidInput`."""
    names = set[str]()
    for item in texts:
        name, equals, value = item.partition('=')
        name = name.strip()
        if not equals or not name or name in names:
            raise InvalidInput({option: f'must be NAME=VALUE, once for each name, not {item!r}'})
        names.add(name)
        yield name, value


def format_signature(pattern: PatternInfo) -> str:
    """Return a pattern's parameters on one line."""
    names = ', '.join(pattern.parameters.get('properties', {}))
    return f'{pattern.name} takes {names or "no parameters"}'


def describe_parameters(pattern: PatternInfo) -> Iterator[tuple[str, str, str]]:
    """Yield each parameter's name, possible values and purpose."""
    required = pattern.parameters.get('required', [])
    for name, schema in pattern.parameters.get('properties', {}).items():
        default = 'required' if name in required else f'{json.dumps(schema.get("default"))} by default'
        yield name, ', '.join([*_bounds(schema), default]), str(schema.get('description', ''))


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
    """Parse JSON, but for numbers; return any other text as it is."""
    is_json = text in ('true', 'false', 'null') or text.lstrip()[:1] in ('[', '{', '"')
    return json_or_text(text) if is_json else text
