"""A JSON schema in words: the arguments of a call, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.records import resolve_pointer, split_pointer
from ui.web.components.widgets import Box, Text

TYPE_NAMES = {
    'string': 'text',
    'integer': 'whole number',
    'number': 'number',
    'boolean': 'yes or no',
    'array': 'list',
    'object': 'object',
    'null': 'nothing',
}
MAX_DEPTH = 4
"""Maximum depth of nested objects that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument, or a part of one."""

    name: str
    """With its parents: `filter.since`, `lines[].text`."""
    kind: str
    required: bool
    rules: tuple[str, ...] = ()
    help: str = ''


def arguments(schema: Mapping[str, Any]) -> list[Argument]:
    """Return the properties of an object's schema, and of nested objects, in order."""
    return list(_arguments(schema, schema, '', 0))


def _arguments(
    schema: Mapping[str, Any], root: Mapping[str, Any], inside: str, depth: int
) -> Iterator[Argument]:
    required = schema.get('required', ())
    for name, reference in schema.get('properties', {}).items():
        definition = _resolve(reference, root)
        yield Argument(
            name=f'{inside}{name}',
            kind=_describe_kind(definition, root),
            required=name in required,
            rules=tuple(_rules(definition)),
            help=str(definition.get('description', '')),
        )
        inner, mark = (
            (_resolve(definition['items'], root), '[].') if definition.get('items') else (definition, '.')
        )
        if depth < MAX_DEPTH:
            yield from _arguments(inner, root, f'{inside}{name}{mark}', depth + 1)


def _resolve(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with its reference resolved, and without the null of `… or null`."""
    resolved = dict(schema) if isinstance(schema, Mapping) else {}
    for _ in range(MAX_DEPTH):
        if '$ref' in resolved:
            resolved = {**resolve_pointer(root, split_pointer(str(resolved.pop('$ref'))), {}), **resolved}
            continue
        choices = [part for part in resolved.get('anyOf', ()) if part.get('type') != 'null']
        if len(choices) == 1:
            resolved = {**{key: value for key, value in resolved.items() if key != 'anyOf'}, **choices[0]}
            continue
        break
    return resolved


def _describe_kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    if 'enum' in schema or 'const' in schema:
        return 'one of ' + ', '.join(map(_format, schema.get('enum', [schema.get('const')])))
    if parts := schema.get('anyOf') or schema.get('oneOf'):
        return ' or '.join(dict.fromkeys(_describe_kind(_resolve(part, root), root) for part in parts))
    kinds = schema.get('type', ())
    words = ' or '.join(TYPE_NAMES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    if schema.get('items') and words == 'list':
        each = _describe_kind(_resolve(schema['items'], root), root)
        return 'list of objects' if each == 'object' else f'list of {each}'
    return words or 'anything'


def _rules(schema: Mapping[str, Any]) -> Iterator[str]:
    for least, most, unit in (
        ('minLength', 'maxLength', 'characters'),
        ('minItems', 'maxItems', 'entries'),
        ('minimum', 'maximum', ''),
    ):
        low, high = schema.get(least), schema.get(most)
        if low is not None and high is not None:
            yield f'{low:,} to {high:,} {unit}'.rstrip()
        elif high is not None:
            yield f'at most {high:,} {unit}'.rstrip()
        elif low is not None and (low, unit) != (1, 'characters'):
            yield f'at least {low:,} {unit}'.rstrip()
    if 'exclusiveMinimum' in schema:
        yield f'more than {schema["exclusiveMinimum"]:,}'
    if 'exclusiveMaximum' in schema:
        yield f'less than {schema["exclusiveMaximum"]:,}'
    if 'pattern' in schema:
        yield f'matches {schema["pattern"]}'
    if schema.get('default') not in (None, ''):
        yield f'{_format(schema["default"])} by default'


def _format(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value or 'nothing'


def draw_arguments(schema: Mapping[str, Any]) -> None:
    """Draw the arguments as a list: name and type, then purpose, then constraints."""
    listed = arguments(schema)
    if not listed:
        Text('p', 'No arguments.', 'muted')
        return
    with Box('arguments', 'dl'):
        for argument in listed:
            with Box('argument'):
                with Box(tag='dt'):
                    Text('code', argument.name)
                    Text('span', argument.kind, 'muted')
                    if argument.required:
                        Text('span', 'required', 'chip')
                with Box(tag='dd'):
                    if argument.help:
                        Text('p', argument.help)
                    if argument.rules:
                        Text('p', '; '.join(argument.rules), 'muted small')
    with Box('fold', 'details'):
        Text('summary', 'JSON schema for models')
        with Box('listing', 'pre', tabindex='0'):
            Text('code', json.dumps(schema, ensure_ascii=False, indent=2))
