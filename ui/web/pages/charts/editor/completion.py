"""What may come at the cursor in a chart: keys of the format, and names that it declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ui.web.pages.charts.editor.text import Option
from ui.web.pages.charts.outline import ITEM, Key, names_in, read_keys, states_in

MAX_LINE, MAX_TEXT = 1_000, 256 * 1024
"""Maximum length of a line, and of a text, in which anything is offered."""
EVENTS = ('done', 'failed', 'expired', 'always')
SECTIONS: Mapping[str, Sequence[str]] = {
    'agent': ('roles',),
    'role': ('roles',),
    'roles': ('roles',),
    'if': ('guards',),
    'unless': ('guards',),
    'then': ('actions',),
    'do': ('actions',),
    'after': ('actions',),
    'enter': ('actions',),
    'exit': ('actions',),
    'on_step': ('actions',),
    'action': ('actions',),
    'output': ('records',),
    'type': ('records',),
    'items': ('records',),
    'answer': ('memory',),
    'caveat': ('memory',),
    'increment': ('memory',),
}
"""The sections that declare what a key may have as its value."""
TYPES = ('string', 'integer', 'number', 'boolean', 'array', 'object', 'any')
ICONS = {
    'roles': 'class',
    'guards': 'function',
    'actions': 'function',
    'records': 'type',
    'memory': 'variable',
}
_FIELD = re.compile(r'\b(memory|parameters)\.(\w*)$')
_WORD = re.compile(r'[\w.-]*$')
_KEY_OR_VALUE = re.compile(r'^\s*(?:- +)*(?:["\']?(?P<key>[\w.*-][\w .*-]*?)["\']?\s*:\s+)?(?P<rest>.*)$')


class Completion:
    """Completes by the JSON schema of the format, and by the text itself."""

    def __init__(self, schema: Mapping[str, Any], tools: Sequence[str]) -> None:
        """`tools` are those that roles may name."""
        self._schema, self._tools = schema, tools

    def complete(self, text: str, line: int, before: str) -> tuple[int, list[Option]]:
        """Return the column from which the options replace what is there, and the options.

        `before` is what is before the cursor in its line, counted from 1.
        """
        if len(before) > MAX_LINE or len(text) > MAX_TEXT:
            return len(before), []
        everything = read_keys(text)
        if field := _FIELD.search(before):
            names = names_in(everything, field[1])
            return field.start(2), [Option(label=name, type='variable') for name in names]
        start = _WORD.search(before)
        column = start.start() if start else len(before)
        path, key = _place(text, line, before)
        if path is None:
            return column, []
        options = self._values(everything, (*path, key)) if key else self._keys(path)
        if not key and path[-1:] == (ITEM,):
            options += self._values(everything, path)
        return column, list(options)

    def _keys(self, path: Sequence[str]) -> list[Option]:
        options: dict[str, Option] = {}
        for schema in self._at(path):
            for name, part in schema.get('properties', {}).items():
                detail = str(part.get('description', ''))
                options.setdefault(
                    name, Option(label=name, apply=f'{name}: ', detail=detail, type='property')
                )
        return list(options.values())

    def _values(self, keys: list[Key], path: Sequence[str]) -> list[Option]:
        name = next((part for part in reversed(path) if part != ITEM), '')
        match name:
            case 'from' | 'to' | 'initial' | 'new_dest':
                return [Option(label=state, type='class') for state in states_in(keys)]
            case 'on':
                waits = names_in(keys, 'inputs')
                return [Option(label=event, type='keyword') for event in dict.fromkeys((*EVENTS, *waits))]
            case 'tools':
                return [Option(label=tool, type='function') for tool in self._tools]
        options = [
            Option(label=item, type=ICONS[section], detail=section)
            for section in SECTIONS.get(name, ())
            for item in names_in(keys, section)
        ]
        if name in ('type', 'items') or path[:1] in (('memory',), ('parameters',), ('records',)):
            options += [Option(label=kind, type='type') for kind in TYPES]
        if name in ('if', 'unless'):
            options += [Option(label=f'{root}.', type='variable') for root in ('memory', 'parameters')]
        for schema in self._at(path):
            values = schema.get('enum', (True, False) if schema.get('type') == 'boolean' else ())
            options += [Option(label=str(value).lower(), type='constant') for value in values if value != '']
        return list({option['label']: option for option in options}.values())

    def _at(self, path: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Yield the schemas that a value at a path may have."""
        schemas = list(self._variants(self._schema))
        for part in path:
            schemas = [
                inner
                for schema in schemas
                for step in _inside(schema, part)
                for inner in self._variants(step)
            ]
        yield from schemas

    def _variants(self, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield a schema, or those it stands for, without references."""
        if name := schema.get('$ref'):
            yield from self._variants(self._schema['$defs'][name.rpartition('/')[2]])
            return
        for kind in ('anyOf', 'oneOf', 'allOf'):
            for part in schema.get(kind, ()):
                yield from self._variants(part)
        if 'type' in schema or 'properties' in schema or 'enum' in schema:
            yield schema


def _inside(schema: Mapping[str, Any], part: str) -> Iterator[Mapping[str, Any]]:
    if part == ITEM:
        if isinstance(items := schema.get('items'), Mapping):
            yield items
        return
    if isinstance(known := schema.get('properties', {}).get(part), Mapping):
        yield known
        return
    if isinstance(other := schema.get('additionalProperties'), Mapping):
        yield other
    yield from schema.get('patternProperties', {}).values()


def _place(text: str, line: int, before: str) -> tuple[tuple[str, ...] | None, str]:
    """Return the path of what holds the cursor, and the key whose value it is in; None within a text."""
    match = _KEY_OR_VALUE.match(before)
    start = match.start('rest' if match['key'] is None else 'key') if match else len(before)
    above = text.split('\n')[: line - 1]
    here = [key for key in read_keys('\n'.join([*above, f'{before[:start]}x:'])) if key.line == line]
    if not here:
        return None, ''
    return _within_line(here[-1].path[:-1], before)


def _within_line(path: tuple[str, ...], before: str) -> tuple[tuple[str, ...], str]:
    """Return the path and the key that the cursor is at, also within braces of its line."""
    match = _KEY_OR_VALUE.match(before)
    if match is None:
        return path, ''
    key, rest = match['key'] or '', match['rest']
    opened = rest.rfind('{')
    while key or opened >= 0:
        if opened < 0 or rest.rfind('}') > opened:
            return (path, key)
        path = (*path, key) if key else path
        inner = rest[opened + 1 :].rpartition(',')[2]
        name, colon, value = inner.partition(':')
        key, rest = (name.strip(), value) if colon else ('', inner)
        opened = rest.rfind('{')
        if not key:
            return path, ''
    return path, key
