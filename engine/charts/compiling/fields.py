"""Fields: the types of a chart file as pydantic models, for parameters, memory, records and inputs."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import PydanticUndefined, SchemaError

from engine.charts.compiling.language import Language, Note
from engine.charts.compiling.scope import Values
from engine.charts.format import ChartFile, FieldType
from engine.charts.reading import Place
from engine.records import Event
from engine.records.frozen import Form, FrozenModel
from engine.statechart.expressions.compiler import Evaluation
from engine.statechart.expressions.expression import compute
from engine.statechart.expressions.values import EvaluationError
from engine.statechart.memory import Memory
from engine.statechart.pattern import validation_problems

THIS = ('this',)
"""The names in a check: the record."""
PLAIN: Mapping[str, Any] = {'string': str, 'integer': int, 'number': float, 'boolean': bool, 'any': Any}
EMPTY: Mapping[str, Any] = {
    'string': '', 'integer': 0, 'number': 0.0, 'boolean': False, 'array': [], 'object': {}, 'any': None,
}  # fmt: skip
"""The value of a field of memory without a default, by type."""
BOUNDS: Mapping[str, str] = {
    'minimum': 'ge', 'maximum': 'le', 'exclusiveMinimum': 'gt', 'exclusiveMaximum': 'lt',
    'minLength': 'min_length', 'maxLength': 'max_length', 'minItems': 'min_length', 'maxItems': 'max_length',
}  # fmt: skip
"""Pydantic's names of the limits of JSON Schema."""
FITS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'), frozenset({'integer', 'number'})
    ),
    **dict.fromkeys(('minLength', 'maxLength', 'multiline', 'format'), frozenset({'string'})),
    **dict.fromkeys(('minItems', 'maxItems', 'items'), frozenset({'array'})),
    **dict.fromkeys(('properties', 'additionalProperties'), frozenset({'object'})),
}
"""The types to which a rule can be applied."""
FORM_HINTS = ('multiline', 'format', 'suggestions', 'labels', 'when')


class ChartRecord(FrozenModel):
    """Base class of the records of chart files: a model may number what it should name."""

    model_config = ConfigDict(coerce_numbers_to_str=True, protected_namespaces=())


class ChartForm(Form):
    """Base class of the launch forms and the inputs of chart files."""

    model_config = ConfigDict(protected_namespaces=())


class ChartMemory(Memory):
    """Base class of the memories of chart files."""

    model_config = ConfigDict(protected_namespaces=())

    def note_seat(self, seat: str, event: Event) -> None:
        """Note nothing: the steps of a seat do."""


class FieldTypes:
    """The types of a chart file.

    Args:
        file: the chart file.
        note: notes what is wrong.
    """

    def __init__(self, file: ChartFile, note: Note) -> None:
        self._file, self._note = file, note
        self._language = Language(file, Memory, ChartForm, note)
        self._records: dict[str, type[BaseModel]] = {}
        self._open: list[str] = []

    def record(self, name: str, path: Place) -> type[BaseModel]:
        """Return the record with this name; an empty one, and a problem, if there is none."""
        if name in self._records:
            return self._records[name]
        if name not in self._file.records or name in self._open:
            listed = ', '.join(self._file.records) or 'none'
            is_open = name in self._open
            problem = (
                f'record {name!r} holds itself'
                if is_open
                else f'there is no record {name!r}; available: {listed}'
            )
            self._note(path, problem)
            return ChartRecord
        self._open.append(name)
        fields = self._file.records[name]
        self._records[name] = self.model(name, fields, ('records', name), ChartRecord, name)
        self._open.pop()
        return self._records[name]

    def memory(self, *, with_seats: bool) -> type[BaseModel]:
        """Return the memory, which also has the seats that people have taken, if there may be such."""
        base: type[Memory] = ChartMemory
        if with_seats:
            base = create_model('SeatedMemory', __base__=ChartMemory, seats=(tuple[str, ...], ()))
        return self.model('Memory', self._file.memory, ('memory',), base)

    def model(
        self,
        name: str,
        fields: Mapping[str, FieldType],
        path: Place,
        base: type[BaseModel],
        checked: str = '',
    ) -> type[BaseModel]:
        """Return a model with these fields, and the checks that the file has under the name `checked`."""
        is_memory = issubclass(base, Memory)
        declared: dict[str, Any] = {}
        for each, field in fields.items():
            at = (*path, each)
            if problem := _name_problem(each, base):
                self._note(at, problem)
                continue
            kind = self._kind(field, at, is_list=base is not ChartRecord)
            default = self._default(each, field, kind, at, is_memory=is_memory)
            declared[each] = (kind, self._info(field, default))
        check = self._checks(checked)
        validators: dict[str, Any] = {'check': model_validator(mode='after')(check)} if check else {}
        try:
            model = create_model(name, __base__=base, __validators__=validators, **declared)
        except (PydanticUserError, SchemaError, NameError, TypeError, RecursionError) as error:
            self._note(path, f'these fields cannot be: {str(error).strip().splitlines()[-1]}')
            return base
        if name in self._file.prose and base is ChartRecord:
            setattr(model, 'from_prose', self._prose(model, name))  # noqa: B010
        return model

    def _checks(self, name: str) -> Callable[[Any], Any] | None:
        """Return what checks a record beyond its types; it raises `ValueError`."""
        checks = [
            (
                self._language.part(item.must, ('checks', name, number, 'must'), (), THIS),
                self._language.template(item.error, ('checks', name, number, 'error'), (), THIS),
            )
            for number, item in enumerate(self._file.checks.get(name, ()))
        ]

        def check(record: Any) -> Any:
            run = Evaluation(Values({'this': record}))
            for must, error in checks:
                try:
                    problem = '' if compute(must, run) else str(compute(error, run))
                except EvaluationError as wrong:
                    problem = str(wrong)
                if problem:
                    raise ValueError(problem)
            return record

        return check if checks else None

    def _prose(self, record: type[BaseModel], name: str) -> Any:
        part = self._language.value(self._file.prose[name], ('prose', name), (), ('text',))
        return classmethod(
            lambda cls, text: record.model_validate(compute(part, Evaluation(Values({'text': text}))))
        )

    def _default(self, name: str, field: FieldType, kind: Any, path: Place, *, is_memory: bool) -> Any:
        """Return a default, or `PydanticUndefined`."""
        if field.has_default:
            default = field.default
        elif not is_memory:
            return PydanticUndefined
        elif field.nullable:
            return None
        elif field.type in EMPTY:
            default = field.enum[0] if field.enum else EMPTY[field.type]
        else:
            default = {}
        try:
            return TypeAdapter(kind).validate_python(deepcopy(default))
        except ValidationError as error:
            if is_memory and not field.has_default and name in self._file.parameters:
                return PydanticUndefined
            problem = next(iter(validation_problems(error).values()))
            missing = 'it needs a default, or `nullable: true`'
            self._note(
                (*path, 'default'), f'is no value of this type: {problem}' if field.has_default else missing
            )
            return PydanticUndefined

    def _info(self, field: FieldType, default: Any) -> Any:
        more: dict[str, Any] = {
            name: value
            for name in FORM_HINTS
            if (value := getattr(field, name)) or name in field.model_fields_set
        }
        shown = {name: value for name in ('title', 'description') if (value := getattr(field, name))}
        if isinstance(default, list | dict):
            given: dict[str, Any] = {'default_factory': partial(deepcopy, default)}
        else:
            given = {} if default is PydanticUndefined else {'default': default}
        return Field(
            **given,
            **shown,
            examples=list(field.examples) or None,
            json_schema_extra=more or None,
        )

    def _kind(self, field: FieldType, path: Place, *, is_list: bool) -> Any:
        """Return the Python type of a field."""
        for rule, types in FITS.items():
            if rule in field.model_fields_set and field.type not in types:
                self._note((*path, rule), f'does not fit the type {field.type!r}')
        kind = self._bare_kind(field, path, is_list=is_list)
        if limits := self._limits(field, path):
            kind = Annotated[kind, Field(**limits)]
        return kind | None if field.nullable and kind is not Any else kind

    def _limits(self, field: FieldType, path: Place) -> dict[str, Any]:
        """Return what bounds a value, by pydantic's names."""
        limits: dict[str, Any] = {}
        for rule, name in BOUNDS.items():
            bound = getattr(field, rule)
            if bound is None or field.type not in FITS[rule]:
                continue
            if field.enum:
                self._note((*path, rule), '`enum` already says which values it may have')
            elif field.type == 'integer' and bound != int(bound):
                self._note((*path, rule), 'must be a whole number, as the type says')
            else:
                limits[name] = int(bound) if field.type == 'integer' else bound
        return limits

    def _bare_kind(self, field: FieldType, path: Place, *, is_list: bool) -> Any:  # noqa: PLR0911  (one a type)
        if field.enum:
            return self._choice(field, path)
        match field.type:
            case 'array':
                item: Any = (
                    Any if field.items is None else self._kind(field.items, (*path, 'items'), is_list=False)
                )
                return list[item] if is_list else tuple[item, ...]
            case 'object' if field.properties is not None:
                return self.model('Object', field.properties, (*path, 'properties'), ChartRecord)
            case 'object':
                inner = field.additionalProperties
                of = (
                    Any
                    if inner is None
                    else self._kind(inner, (*path, 'additionalProperties'), is_list=is_list)
                )
                return dict[str, of]  # type: ignore[valid-type]
            case name if name in PLAIN:
                return PLAIN[name]
            case name if name[:1].isupper():
                return self.record(name, (*path, 'type'))
        listed = ', '.join((*PLAIN, 'array', 'object', *self._file.records))
        self._note((*path, 'type'), f'there is no type {field.type!r}; available: {listed}')
        return Any

    def _choice(self, field: FieldType, path: Place) -> Any:
        kind = PLAIN.get(field.type, Any)
        if kind not in (str, int) or not all(isinstance(value, kind) for value in field.enum):
            self._note((*path, 'enum'), 'must hold texts or whole numbers, as the type says')
        return Literal[field.enum]


def _name_problem(name: str, base: type[BaseModel]) -> str:
    """Return why a field cannot have this name, or ''."""
    if keyword.iskeyword(name) or name in ('null', 'true', 'false'):
        return f'{name!r} is a word of expressions: choose another name'
    if hasattr(base, name) or name in base.model_fields or name.startswith('model_'):
        return f'{name!r} is reserved: choose another name'
    return ''
