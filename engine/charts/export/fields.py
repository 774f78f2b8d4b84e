"""Fields: pydantic models as the types of a chart file."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import BaseModel, PydanticUserError
from pydantic_core import to_jsonable_python

from engine.charts.compiling.fields import EMPTY
from engine.charts.export.writing import Place

Note = Callable[[Place, str], None]
"""Notes what of a place in the file cannot be said."""
RULES = (
    'title', 'description', 'default', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum',
    'minLength', 'maxLength', 'minItems', 'maxItems', 'examples', 'multiline', 'format', 'suggestions',
    'labels', 'when',
)  # fmt: skip
"""What JSON schemas and chart files call the same."""
MAX_SHORT = 200
"""Maximum number of characters of a title or a description."""
FORMATS = ('path', 'date', 'time')
TYPES = {str: 'string', int: 'integer', float: 'number', bool: 'boolean'}


class FieldWriter:
    """Writes the fields of models; the records they name are collected.

    Args:
        note: notes what cannot be said.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self.records: dict[str, dict[str, Any]] = {}
        self._models: dict[str, Mapping[str, Any]] = {}
        self._open: list[str] = []

    def fields(self, model: type[BaseModel], place: Place, *, defaults: bool = False) -> dict[str, Any]:
        """Return the fields of a model.

        Args:
            model: the model.
            place: where they will be in the file.
            defaults: whether they all have defaults, which are worked out from the model.
        """
        try:
            schema = model.model_json_schema()
        except (PydanticUserError, ValueError) as error:
            self._note(place, f'its fields have no JSON schema: {error}'.partition('\n')[0])
            return {}
        self._models = schema.get('$defs', {})
        if checks := checks_of(model):
            self._note(place, f'checks in Python: {", ".join(checks)}')
        fields = self._properties(schema, place)
        for name, field in fields.items() if defaults else ():
            if model.model_fields[name].is_required():  # Its first value is that of a parameter.
                continue
            default = to_jsonable_python(model.model_fields[name].get_default(call_default_factory=True))
            fields[name] = _with_default(field, default)
        return fields

    def record(self, model: type[BaseModel], place: Place) -> str:
        """Return the name of a model among the records, where its fields are written."""
        name = _record_name(model.__name__)
        if name not in self.records:
            self.records[name] = {}
            self.records[name] = self.fields(model, ('records', name))
        return name

    def _properties(self, schema: Mapping[str, Any], place: Place) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, field in schema.get('properties', {}).items():
            if not re.fullmatch('[a-z][a-z0-9_]*', name) or keyword.iskeyword(name):
                self._note((*place, name), 'no field can have this name')
                continue
            fields[name] = self._field(field, (*place, name), name)
        return fields

    def _field(self, schema: Mapping[str, Any], place: Place, name: str = '') -> Any:
        """Return a type with its rules; its name alone if there are none."""
        kind, nullable = self._kind(schema, place)
        rules = {key: schema[key] for key in RULES if key in schema}
        rules |= {
            key: inner[key]
            for inner in _choices(schema)[:1]
            for key in RULES
            if key in inner and key not in rules
        }
        if rules.get('title') == name.replace('_', ' ').title() or '$ref' in schema:
            rules.pop('title', None)
        for key in ('title', 'description'):
            if len(rules.get(key, '')) > MAX_SHORT:
                self._note(place, f'a {key} of more than {MAX_SHORT} characters')
                rules[key] = f'{rules[key][: MAX_SHORT - 2].rpartition(" ")[0]} …'
        if rules.get('format', 'path') not in FORMATS:
            del rules['format']
        if 'pattern' in schema:
            self._note(place, f'its pattern: {schema["pattern"]}')
        if nullable:
            kind['nullable'] = True
            rules = {key: rule for key, rule in rules.items() if key != 'default' or rule is not None}
        if kind['type'] in ('any', 'object'):
            rules = {key: rules[key] for key in ('title', 'description', 'default') if key in rules}
        field = {**kind, **rules}
        return field['type'] if list(field) == ['type'] else field

    def _kind(self, schema: Mapping[str, Any], place: Place) -> tuple[dict[str, Any], bool]:
        """Return a type, and whether it may be null."""
        if choices := _choices(schema):
            kind = self._kind(choices[0], place)[0] if len(choices) == 1 else {'type': 'any'}
            return kind, {'type': 'null'} in schema['anyOf']
        if '$ref' in schema:
            return self._referred(schema['$ref'].rpartition('/')[2], place), False
        values = schema.get('enum', [schema['const']] if 'const' in schema else [])
        if values:
            plain = next(
                (TYPES[kind] for kind in (str, int) if {type(item) for item in values} == {kind}), ''
            )
            return {'type': plain, 'enum': values} if plain else {'type': 'any'}, None in values
        return self._bare(schema, place), False

    def _bare(self, schema: Mapping[str, Any], place: Place) -> dict[str, Any]:
        kind, inner = schema.get('type', 'any'), {}
        if kind == 'array' and (items := schema.get('items')):
            inner = {'items': self._field(items, place)}
        if kind == 'object' and isinstance(values := schema.get('additionalProperties'), dict) and values:
            inner = {'additionalProperties': self._field(values, place)}
        return {'type': kind if kind in (*TYPES.values(), 'array', 'object') else 'any', **inner}

    def _referred(self, key: str, place: Place) -> dict[str, Any]:
        schema = self._models[key]
        if 'properties' not in schema:
            return self._kind(schema, place)[0]
        name = _record_name(key)
        if name in self._open:
            self._note(place, f'a {name} holds itself')
            return {'type': 'any'}
        if name not in self.records:
            self._open.append(name)
            self.records[name] = self._properties(schema, ('records', name))
            self._open.pop()
        return {'type': name}


def checks_of(model: type[BaseModel]) -> Collection[str]:
    """Return the names of the validators of a model that are written in Python."""
    decorators = model.__pydantic_decorators__
    return [
        *decorators.field_validators,
        *decorators.model_validators,
        *decorators.validators,
        *decorators.root_validators,
    ]


def _choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [choice for choice in schema.get('anyOf', ()) if choice.get('type') != 'null']


def _with_default(field: Any, default: Any) -> Any:
    """Return a field of memory with a default, which is left out if it is what the type has anyway."""
    field = {'type': field} if isinstance(field, str) else dict(field)
    field.pop('default', None)
    usual = None if field.get('nullable') else EMPTY.get(field['type'])
    if default != usual or 'enum' in field:
        field['default'] = default
    return field['type'] if list(field) == ['type'] else field


def _record_name(name: str) -> str:
    return re.sub('[^A-Za-z0-9]', '', name[:1].upper() + name[1:])[:60]
