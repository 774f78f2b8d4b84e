"""The fields of a form, derived from a pydantic model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from ui.formatting.values import json_problem, parse_tags

Kind = Literal[
    'text', 'date', 'time', 'path', 'password', 'multiline', 'integer', 'number', 'boolean', 'choice',
    'choices', 'list', 'pairs', 'nested', 'json', 'model',
]  # fmt: skip
KINDS_BY_TYPE: dict[str, Kind] = {
    'string': 'text',
    'integer': 'integer',
    'number': 'number',
    'boolean': 'boolean',
}
EMPTY_VALUES: dict[str, Any] = {'integer': 0, 'number': 0, 'boolean': False, 'array': [], 'object': {}}
"""By type in JSON Schema; of all others, the empty text."""
TEXT_KINDS: tuple[Kind, ...] = ('text', 'multiline', 'path')
"""Kinds that are bounded by length."""
FORMATS: dict[str, Kind] = {'date': 'date', 'time': 'time', 'path': 'path', 'password': 'password'}
BUDGET = re.compile(r'budget|deadline|time_?out|max_(tokens|seconds|minutes|cost)')
BUDGETS = 'Budgets'
MAX_SINGLE_LINE = 4_000
"""Texts that may be longer than this get a multi-line field."""
DECIMAL_COMMA = re.compile(r'(?P<whole>[-+]?\d*),(?P<part>\d{1,2}|\d{4,})')
"""A number with a decimal comma; with three digits it may be a thousand, and is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A form field, as derived from the JSON schema of a parameter."""

    name: str
    kind: Kind
    title: str
    help: str = ''
    default: Any = None
    required: bool = False
    optional: bool = False
    """Whether it may be left empty."""
    choices: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of choices, where they differ from the values."""
    examples: tuple[Any, ...] = ()
    suggestions: tuple[str, ...] = ()
    """Values to pick from; others may be typed."""
    minimum: float | None = None
    maximum: float | None = None
    """Upper bound of a number, or of a text's length."""
    inline: bool = False
    """On one line: a comma-separated list, or a number in JSON."""
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other fields and the values with which this one has an effect; otherwise it is hidden."""
    new: Any = None
    """An entry without content, of a list of objects."""
    group: str = ''
    """The collapsible section it is in, or ''."""

    def label(self, choice: str) -> str:
        """Return the label of a choice; without one, its value, with words capitalized."""
        words = choice.replace('_', ' ')
        return self.labels.get(
            choice, words.capitalize() if words.islower() and words.replace(' ', '').isalpha() else words
        )

    def parse(self, raw: Any) -> Any:
        """Parse a control's content. Raises `ValueError`, which says what is wrong in a sentence."""
        if read := READERS.get(self.kind):
            return read(raw)
        text = str(raw)
        if self.optional and not text.strip():
            return None
        if self.kind == 'list':
            return (
                list(parse_tags(text))
                if self.inline
                else [line.strip() for line in text.splitlines() if line.strip()]
            )
        if self.kind == 'number' and (match := DECIMAL_COMMA.fullmatch(text.strip())):
            return f'{match["whole"]}.{match["part"]}'
        return self._parse_json(text) if self.kind == 'json' else text

    def _parse_json(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError('Enter a number.' if self.inline else json_problem(error)) from None

    def format(self, value: Any) -> Any:
        """Return the content of a control for a value: a text, whether a box is ticked, or a list."""
        if write := WRITERS.get(self.kind):
            return write(value)
        if value is None:
            return ''
        if self.kind == 'list':
            return (', ' if self.inline else '\n').join(map(str, value))
        if self.kind == 'json':
            return json.dumps(value, ensure_ascii=False, indent=2)
        return f'{value:g}' if isinstance(value, float) and value.is_integer() and value < 1e6 else str(value)


def _parse_pairs(pairs: Sequence[Sequence[str]]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for name, value in pairs:
        if not name:
            raise ValueError(f'Enter a name for “{value}”.')
        if name in parsed:
            raise ValueError(f'Enter {name} only once.')
        parsed[name] = value
    return parsed


READERS: Mapping[Kind, Callable[[Any], Any]] = {
    'boolean': bool,
    'choices': list,
    'pairs': _parse_pairs,
    'nested': deepcopy,
}
"""How the content of a control that is not a text is read."""
WRITERS: Mapping[Kind, Callable[[Any], Any]] = {
    'boolean': bool,
    'choices': lambda values: list(map(str, values or ())),
    'pairs': lambda values: [[name, str(text)] for name, text in (values or {}).items()],
    'nested': lambda value: deepcopy(value) if value is not None else [],
}
"""And how it is made of a value."""


def fields(model: type[BaseModel]) -> list[Field]:
    """Return the fields of a model, in its order."""
    schema = model.model_json_schema()
    required = schema.get('required', ())
    return [
        _make_field(name, definition, schema.get('$defs', {}), name in required)
        for name, definition in schema.get('properties', {}).items()
    ]


def _make_field(
    name: str, definition: Mapping[str, Any], defined: Mapping[str, Any], required: bool
) -> Field:
    parts = list(_resolve_alternatives(definition, defined))
    kinds = [part for part in parts if part.get('type') != 'null']
    merged: dict[str, Any] = {**(kinds[0] if len(kinds) == 1 else {}), **definition}
    kind = _field_kind(merged, defined)
    return Field(
        name=name,
        kind=kind,
        title=definition.get('title') or name.replace('_', ' ').capitalize(),
        help=definition.get('description', ''),
        default=merged.get('default'),
        required=required,
        optional=len(kinds) < len(parts),
        choices=tuple(map(str, _choices(merged.get('items', merged) if kind == 'choices' else merged))),
        labels=merged.get('labels', {}),
        examples=tuple(merged.get('examples', ())),
        suggestions=tuple(map(str, merged.get('suggestions', ()))),
        minimum=_first(merged, 'minimum', 'exclusiveMinimum', 'minLength'),
        maximum=_first(merged, 'maximum', 'exclusiveMaximum', 'maxLength'),
        inline=bool(merged.get('inline')),
        when={name: tuple(map(str, values)) for name, values in merged.get('when', {}).items()},
        new=new_value(merged.get('items', {}), defined) if kind == 'nested' else None,
        group=merged.get('group') or (BUDGETS if BUDGET.search(name) else ''),
    )


def _resolve_alternatives(
    definition: Mapping[str, Any], defined: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield the alternatives of a field, with references resolved."""
    for part in definition.get('anyOf') or definition.get('allOf') or (definition,):
        yield defined.get(part['$ref'].rpartition('/')[2], {}) if '$ref' in part else part


def _field_kind(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> Kind:
    (items, *_) = _resolve_alternatives(schema.get('items', {}), defined)
    match schema:
        case {'enum': _} | {'const': _}:
            return 'choice'
        case {'type': 'array'} if 'enum' in items or items.get('type') in KINDS_BY_TYPE:
            return 'choices' if 'enum' in items else 'list'
        case {'type': 'array'} if items.get('properties'):
            return 'nested'
        case {'type': 'object', 'additionalProperties': {'type': 'string', **more}} if not more:
            return 'pairs'
        case {'type': 'string'}:
            is_long = schema.get('maxLength', 0) > MAX_SINGLE_LINE
            kind: Kind = 'multiline' if schema.get('multiline', is_long) else 'text'
            return FORMATS.get(schema.get('format', ''), kind)
    return KINDS_BY_TYPE.get(schema.get('type', ''), 'json')


def new_value(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> Any:
    """Return a value of a JSON schema without content; `defined` has what it refers to."""
    if 'default' in schema:
        return deepcopy(schema['default'])
    parts = list(_resolve_alternatives(schema, defined))
    if any(part.get('type') == 'null' for part in parts):
        return None
    part = parts[0]
    if properties := part.get('properties'):
        return {name: new_value(inner, defined) for name, inner in properties.items()}
    return next(iter(_choices(part)), deepcopy(EMPTY_VALUES.get(part.get('type', ''), '')))


def _choices(schema: Mapping[str, Any]) -> Sequence[Any]:
    return [schema['const']] if 'const' in schema else list(schema.get('enum', ()))


def _first(schema: Mapping[str, Any], *names: str) -> float | None:
    return next((schema[name] for name in names if name in schema), None)
