"""The fields of a form, derived from a pydantic model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from ui.formatting.values import parse_tags

Kind = Literal[
    'text',
    'date',
    'path',
    'password',
    'multiline',
    'integer',
    'number',
    'boolean',
    'choice',
    'list',
    'json',
    'model',
]
KINDS_BY_TYPE: dict[str, Kind] = {
    'string': 'text',
    'integer': 'integer',
    'number': 'number',
    'boolean': 'boolean',
}
TEXT_KINDS: tuple[Kind, ...] = ('text', 'multiline', 'path')
"""Kinds that are bounded by length."""
FORMATS: dict[str, Kind] = {'date': 'date', 'path': 'path', 'password': 'password'}
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
    exclusive_minimum: bool = False
    """Whether a number must be greater than `minimum`."""
    inline: bool = False
    """On one line: a comma-separated list, or a number in JSON."""
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other fields and the values with which this one has an effect; otherwise it is hidden."""
    group: str = ''
    """The collapsible section it is in, or ''."""

    @property
    def bounds(self) -> str:
        """The permitted length or range in words; '' if there is none."""
        if self.kind in TEXT_KINDS:
            return ''  # said once it is broken
        if self.minimum is not None and self.exclusive_minimum:
            return f'More than {self.minimum:,}' + (
                f', at most {self.maximum:,}' if self.maximum is not None else ''
            )
        if self.minimum is not None and self.maximum is not None:
            return f'{self.minimum:,} to {self.maximum:,}'
        if self.minimum is not None:
            return f'At least {self.minimum:,}'
        return f'At most {self.maximum:,}' if self.maximum is not None else ''

    def label(self, choice: str) -> str:
        """Return the label of a choice; without one, its value, with words capitalized."""
        words = choice.replace('_', ' ')
        return self.labels.get(
            choice, words.capitalize() if words.islower() and words.replace(' ', '').isalpha() else words
        )

    def parse(self, raw: Any) -> Any:
        """Parse a control's content. Raises `ValueError` for bad JSON."""
        if self.kind == 'boolean':
            return bool(raw)
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
        return json.loads(text) if self.kind == 'json' else text

    def format(self, value: Any) -> Any:
        """Return the content of a control for a value: a text, or whether a box is ticked."""
        if self.kind == 'boolean':
            return bool(value)
        if value is None:
            return ''
        if self.kind == 'list':
            return (', ' if self.inline else '\n').join(map(str, value))
        if self.kind == 'json':
            return json.dumps(value, ensure_ascii=False, indent=2)
        return f'{value:g}' if isinstance(value, float) and value.is_integer() and value < 1e6 else str(value)


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
    kind = _field_kind(merged)
    return Field(
        name=name,
        kind=kind,
        title=definition.get('title') or name.replace('_', ' ').capitalize(),
        help=definition.get('description', ''),
        default=merged.get('default'),
        required=required,
        optional=len(kinds) < len(parts),
        choices=tuple(map(str, merged.get('enum', (merged['const'],) if 'const' in merged else ()))),
        labels=merged.get('labels', {}),
        examples=tuple(merged.get('examples', ())),
        suggestions=tuple(map(str, merged.get('suggestions', ()))),
        minimum=_first(merged, 'minimum', 'exclusiveMinimum', 'minLength'),
        exclusive_minimum='exclusiveMinimum' in merged,
        maximum=_first(merged, 'maximum', 'exclusiveMaximum', 'maxLength'),
        inline=bool(merged.get('inline')),
        when={name: tuple(map(str, values)) for name, values in merged.get('when', {}).items()},
        group=merged.get('group') or (BUDGETS if BUDGET.search(name) else ''),
    )


def _resolve_alternatives(
    definition: Mapping[str, Any], defined: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield the alternatives of a field, with references resolved."""
    for part in definition.get('anyOf') or definition.get('allOf') or (definition,):
        yield defined.get(part['$ref'].rpartition('/')[2], {}) if '$ref' in part else part


def _field_kind(schema: Mapping[str, Any]) -> Kind:
    if 'enum' in schema or 'const' in schema:
        return 'choice'
    if schema.get('type') == 'array' and schema.get('items', {}).get('type') in KINDS_BY_TYPE:
        return 'list'
    if schema.get('type') == 'string' and schema.get('format') in FORMATS:
        return FORMATS[schema['format']]
    is_long = schema.get('maxLength', 0) > MAX_SINGLE_LINE
    if schema.get('type') == 'string' and schema.get('multiline', is_long):
        return 'multiline'
    return KINDS_BY_TYPE.get(schema.get('type', ''), 'json')


def _first(schema: Mapping[str, Any], *names: str) -> float | None:
    return next((schema[name] for name in names if name in schema), None)
