"""The format of chart files in few words, made of its schema: what an agent is told that writes one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from engine.charts.compiling.scope import NAMES
from engine.charts.format import ChartFile
from engine.statechart.expressions.functions import FUNCTIONS

PLAIN = {'string': 'text', 'integer': 'whole number', 'number': 'number', 'boolean': 'true or false'}
ANY = 'any value'


@cache
def format_summary() -> str:
    """Return what a chart file may hold: the fields of each part, the names and functions of expressions."""
    schema = ChartFile.model_json_schema()
    parts = {'the file': schema, **schema['$defs']}
    fields = [line for name, part in parts.items() if 'properties' in part for line in _part(name, part)]
    names = [f'- `{name}`: {meaning}' for name, meaning in NAMES.items()]
    functions = ', '.join(f'`{function.takes}`' for function in FUNCTIONS.values())
    return '\n'.join([*fields, '', 'Names in expressions:', *names, '', f'Functions: {functions}.'])


def _part(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    about = str(schema.get('description', '')).splitlines()[0].rstrip('.')
    yield f'\n{name} ({about[:1].lower()}{about[1:]}):'
    required = schema.get('required', ())
    for field, kind in schema['properties'].items():
        note = kind.get('description', '')
        must = ', required' if field in required else ''
        yield f'- `{field}` ({_kind(kind)}{must})' + (f': {note}' if note else '')


def _kind(schema: Mapping[str, Any]) -> str:
    if '$ref' in schema:
        name = str(schema['$ref']).rpartition('/')[2]
        return ANY if name == 'JsonValue' else name
    if 'anyOf' in schema:
        kinds = (_kind(choice) for choice in schema['anyOf'] if choice.get('type') != 'null')
        return ' or '.join(dict.fromkeys(kinds))
    if 'enum' in schema:
        return ' or '.join(f'`{value}`' for value in schema['enum'] if value)
    if schema.get('type') == 'array':
        return f'list of {_kind(schema.get("items", {}))}'
    if schema.get('type') == 'object':
        inside = [*schema.get('patternProperties', {}).values(), schema.get('additionalProperties')]
        kind = _kind(next(filter(None, inside), {}))
        return f'({kind}) by name' if ' or ' in kind else f'{kind} by name'
    return PLAIN.get(str(schema.get('type')), ANY)
