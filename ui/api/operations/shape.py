"""The shape of an operation's HTTP request and response, derived from its declaration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from engine import InvalidInput
from engine.operations import Operation, Route
from engine.records import RunId
from ui.api.dependencies import ChangesBody, RequestBody
from ui.api.operations.examples import BODY_TEXTS
from ui.api.wire import changes_model, dump_as, dump_fields, given_fields, input_model, input_type, validate

STEERING: Final = frozenset({'seen', 'key'})
"""Arguments that are headers: `If-Match` and `Idempotency-Key`."""
NEW: Final = 'new'
"""The argument that the server chooses: the id of a new run."""


@dataclass(frozen=True)
class RequestShape:
    """Where the arguments of an operation are in its request."""

    operation: Operation
    route: Route

    @functools.cached_property
    def path(self) -> tuple[str, ...]:
        """The arguments in the path."""
        return tuple(name for name in self._arguments if f'{{{name}}}' in self.route.path)

    @functools.cached_property
    def query(self) -> tuple[str, ...]:
        """The arguments in the query."""
        has_query = self.route.method in ('GET', 'DELETE')
        return tuple(name for name in self._arguments if has_query and name not in self.path)

    @functools.cached_property
    def body(self) -> tuple[str, ...]:
        """The arguments in the body."""
        return tuple(name for name in self._arguments if name not in (*self.path, *self.query))

    @property
    def steers(self) -> bool:
        """Whether it sends an event to a run."""
        return 'seen' in self.operation.signature.parameters

    @property
    def starts_run(self) -> bool:
        """Whether it starts a run."""
        return NEW in self.operation.signature.parameters

    @property
    def result(self) -> Any:
        """The type of its result."""
        return self.operation.signature.return_annotation

    @property
    def whole(self) -> tuple[str, Any] | None:
        """The argument that is the whole body, with its record, if it is a record and the only one."""
        if len(self.body) != 1:
            return None
        record = record_of(self.parameter(self.body[0]).annotation)
        return (self.body[0], record) if record else None

    @property
    def changes(self) -> Any:
        """The record whose fields are its body, if they are changes to one."""
        kinds = [parameter.kind for parameter in self.operation.signature.parameters.values()]
        return self.result if inspect.Parameter.VAR_KEYWORD in kinds else None

    @property
    def adds(self) -> Any:
        """The record that it stores under a new id, if it does."""
        whole = self.whole
        return whole[1] if whole and whole[1] is self.result else None

    def parameter(self, name: str) -> inspect.Parameter:
        """Return an argument as declared."""
        return self.operation.signature.parameters[name]

    @functools.cached_property
    def model(self) -> type[BaseModel] | None:
        """The model of its body; None if it has none."""
        if not self.body:
            return None
        fields: dict[str, Any] = {}
        bases: tuple[type[BaseModel], ...]
        if changed := self.changes:
            name, bases = f'{changed.__name__}Changes', (ChangesBody, changes_model(changed))
        elif whole := self.whole:
            record = whole[1]
            name, bases = f'{record.__name__}Input', (RequestBody, input_model(record))
            if not self.adds and 'name' not in BODY_TEXTS.get(self.route.id or self.operation.name, {}):
                return input_model(record)
        else:
            name = f'{"".join(map(str.capitalize, (self.route.id or self.operation.name).split("_")))}Input'
            bases, fields = (RequestBody,), {each: self.field(each) for each in self.body}
        texts = BODY_TEXTS.get(self.route.id or self.operation.name, {})
        if examples := texts.get('examples'):
            bases = (
                create_model('Examples', __config__=ConfigDict(json_schema_extra={'examples': examples})),
                *bases,
            )
        model: Any = create_model(
            texts.get('name', name), __base__=bases, __doc__=texts.get('text'), **fields
        )
        return _shared(model)

    @property
    def is_body_optional(self) -> bool:
        """Whether the body may be left out."""
        return all(self.parameter(name).default is not inspect.Parameter.empty for name in self.body)

    def arguments(self, body: BaseModel | None) -> dict[str, Any]:
        """Return the arguments that a body gives. Raises `ValueError`."""
        if body is None:
            return {}
        if self.changes:
            return given_fields(self.changes, body)
        if whole := self.whole:
            return {whole[0]: validate(whole[1], body.model_dump(exclude_unset=True))}
        values = body.model_dump(exclude_unset=True)
        return {name: validate(self.parameter(name).annotation, value) for name, value in values.items()}

    def dump(self, arguments: Mapping[str, Any]) -> Any:
        """Return the body for these arguments as JSON values; None if it has none. Raises `InvalidInput`."""
        if self.changes:
            return dump_fields(self.changes, arguments.get(self.body[0], {}))
        if whole := self.whole:
            value = arguments.get(whole[0])
            return None if value is None else dump_as(whole[1], value)
        if not self.body:
            return None
        return {name: self._dump(name, arguments[name]) for name in self.body if name in arguments}

    def _dump(self, name: str, value: Any) -> Any:
        try:
            return dump_as(self.parameter(name).annotation, value)
        except ValidationError as error:
            raise InvalidInput({name: error.errors()[0]['msg']}) from None

    def field(self, name: str) -> tuple[Any, Any]:
        """Return an argument as a field of a model: its type and its default, `...` if it is required."""
        parameter = self.parameter(name)
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        return input_type(parameter.annotation), dict(default) if isinstance(default, Mapping) else default

    @functools.cached_property
    def _arguments(self) -> tuple[str, ...]:
        return tuple(name for name in self.operation.signature.parameters if name not in (*STEERING, NEW))


def shape_of(operation: Operation) -> RequestShape:
    """Return the shape of an operation that has a route."""
    if operation.route is None:
        raise ValueError(f'{operation.name} has no route')
    return _shape(operation, operation.route)


@functools.cache
def _shape(operation: Operation, route: Route) -> RequestShape:
    return RequestShape(operation, route)


MODELS: dict[str, type[BaseModel]] = {}
"""The models of bodies by name: operations with equal bodies share one."""


def _shared(model: Any) -> type[BaseModel]:
    first = MODELS.setdefault(model.__name__, model)
    if first is not model and first.model_json_schema() != model.model_json_schema():
        raise TypeError(f'two bodies are called {model.__name__}')
    return first


def split(annotation: Any) -> tuple[Any, list[Any]]:
    """Return a type without what is said about it, and that; a run's id is text."""
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return (str if kind is RunId else kind), notes


def field_info(notes: list[Any]) -> FieldInfo:
    """Return everything that is said about a field."""
    return FieldInfo.merge_field_infos(*(note for note in notes if isinstance(note, FieldInfo)))


def record_of(annotation: Any) -> Any:
    """Return the record of a type, or of a type that may also be None; None if it is another."""
    kind, _ = split(annotation)
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    only, *others = [each for each in options if each is not NoneType]
    if others:
        return None
    return only if isinstance(only, type) and is_dataclass(only) else None


def labelled(label: str, kind: Any) -> Any:
    """Return the type of a JSON object with one field."""
    return dict[Literal[label], kind]  # type: ignore[valid-type]
