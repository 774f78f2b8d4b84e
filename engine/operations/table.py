"""Operations: what callers may do, declared once; guards, routes, clients and audit derive from it.

An operation is a method of a protocol, such as `Conductor`: its name, arguments, result and first sentence.
`operation` says the rest. `implement` makes an object whose operations all go through one door.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import (
    Any,
    Final,
    Literal,
    Protocol,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic.fields import FieldInfo

F = TypeVar('F', bound=Callable[..., Any])
P = TypeVar('P')
MARK: Final = '__operation__'


class Role(StrEnum):
    """What an account may do; each role includes those before it."""

    VIEWER = 'viewer'
    """May view and export runs."""
    OPERATOR = 'operator'
    """May also start, control and answer runs."""
    ADMIN = 'admin'
    """May do everything: models, accounts, retention, permanent removal of runs."""

    def includes(self, other: Role) -> bool:
        """Whether this role may do everything that the other one may."""
        return ROLES.index(self) >= ROLES.index(other)


ROLES = tuple(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The HTTP request that carries out an operation, below the API's address.

    Arguments that its path names are in the path. All others are in the query of a GET or DELETE request, and
    in the JSON body of any other; `seen` and `key` are the headers `If-Match` and `Idempotency-Key`.
    """

    method: str
    path: str
    """`runs/{run}/pause`."""
    id: str = ''
    """Its name in the OpenAPI document, by default the operation's."""
    result: str = ''
    """The field of a JSON object that holds the result; by default, the result is the whole response."""


@dataclass(frozen=True)
class Operation:
    """One operation of a protocol."""

    name: str
    role: Role
    """The lowest role that may carry it out."""
    logged: bool
    """Whether the audit log lists each call."""
    runs: tuple[str, ...]
    """The arguments that name existing runs: the caller has to be allowed to see them."""
    route: Route | None
    """None if its routes, if any, are written by hand."""
    by_hand: tuple[str, ...]
    """The names of its routes in the OpenAPI document that are written by hand."""
    declared: Callable[..., Any]

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """Its arguments and result, without `self`, with resolved types.

        Arguments of a `TypedDict` (`**options: Unpack[StartOptions]`) are there one by one, with the defaults
        of their fields.
        """
        hints = get_type_hints(self.declared, include_extras=True)
        signature = inspect.signature(self.declared)
        parameters = [
            expanded
            for parameter in [*signature.parameters.values()][1:]
            for expanded in _expand(parameter.replace(annotation=hints.get(parameter.name, Any)))
        ]
        return signature.replace(parameters=parameters, return_annotation=hints.get('return', Any))

    @functools.cached_property
    def kind(self) -> Literal['async', 'stream', 'sync']:
        """Whether it is awaited, iterated over, or answers at once."""
        if inspect.iscoroutinefunction(self.declared):
            return 'async'
        origin = getattr(self.signature.return_annotation, '__origin__', None)
        return 'stream' if isinstance(origin, type) and hasattr(origin, '__aiter__') else 'sync'

    @property
    def summary(self) -> str:
        """What it does: the part of its docstring before `Args:`, `Returns:` and `Raises:`."""
        lines = inspect.cleandoc(self.declared.__doc__ or '').splitlines()
        sections = (number for number, line in enumerate(lines) if line in ('Args:', 'Returns:', 'Raises:'))
        return '\n'.join(lines[: next(sections, len(lines))]).strip()


def operation(  # noqa: PLR0913  (the parts of a line of the table)
    role: Role,
    route: str = '',
    *,
    logged: bool | None = None,
    runs: tuple[str, ...] = ('run',),
    by_hand: str = '',
    id: str = '',
    result: str = '',
) -> Callable[[F], F]:
    """Declare a method of a protocol as an operation.

    Args:
        role: the lowest role that may carry it out.
        route: the method and the path of its request, such as `POST runs/{run}/pause`; '' if it has none or
            is written by hand.
        logged: whether the audit log lists each call; by default, unless every viewer may make it.
        runs: the arguments that name existing runs.
        by_hand: the names of its routes that are written by hand, because more than two things in them
            cannot be derived.
        id: its name in the OpenAPI document, by default its own.
        result: the field of the response that holds the result, if it is not the whole response.
    """
    method, _, path = route.partition(' ')

    def declare(declared: F) -> F:
        parameters = inspect.signature(declared).parameters
        entry = Operation(
            name=declared.__name__,
            role=role,
            logged=role is not Role.VIEWER if logged is None else logged,
            runs=tuple(name for name in runs if name in parameters),
            route=Route(method=method, path=path, id=id, result=result) if route else None,
            by_hand=tuple(by_hand.split()),
            declared=declared,
        )
        setattr(declared, MARK, entry)
        return declared

    return declare


def _expand(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the arguments that a parameter stands for, which are several for a dictionary with defaults."""
    if get_origin(parameter.annotation) is not Unpack:
        return [parameter]
    expanded = []
    for name, kind in get_type_hints(get_args(parameter.annotation)[0], include_extras=True).items():
        infos = [note for note in get_args(kind)[1:] if isinstance(note, FieldInfo)]
        if not infos:
            return [parameter]
        default = FieldInfo.merge_field_infos(*infos).get_default()
        expanded.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        )
    return expanded


_OPERATIONS: dict[type[Any], Mapping[str, Operation]] = {}
_PARTS: dict[type[Any], Mapping[str, type[Any]]] = {}
_IMPLEMENTATIONS: dict[type[Any], type[Any]] = {}


def operations_of(protocol: type[Any]) -> Mapping[str, Operation]:
    """Return the operations that a protocol declares, by name."""
    if protocol not in _OPERATIONS:
        methods = ((name, getattr(protocol, name, None)) for name in dir(protocol))
        _OPERATIONS[protocol] = {
            name: getattr(method, MARK) for name, method in methods if hasattr(method, MARK)
        }
    return _OPERATIONS[protocol]


def parts_of(protocol: type[Any]) -> Mapping[str, type[Any]]:
    """Return the protocols of the attributes that have operations of their own, by name."""
    if protocol not in _PARTS:
        hints = {name: _attribute_type(protocol, name) for name in _attributes(protocol)}
        _PARTS[protocol] = {
            name: kind for name, kind in hints.items() if isinstance(kind, type) and operations_of(kind)
        }
    return _PARTS[protocol]


class Door(Protocol):
    """What the operations of an object made by `implement` go through."""

    async def call(self, operation: Operation, arguments: inspect.BoundArguments) -> Any:
        """Carry out an operation that is awaited."""

    def stream(self, operation: Operation, arguments: inspect.BoundArguments) -> AsyncGenerator[Any]:
        """Carry out an operation that yields."""

    def ask(self, operation: Operation, arguments: inspect.BoundArguments) -> Any:
        """Carry out an operation that answers at once."""

    def attribute(self, name: str) -> Any:
        """Return an attribute that the protocol declares and that is no operation."""


def implement(protocol: type[P], door: Door, **instead: Callable[..., Any]) -> P:
    """Return an object with the operations and attributes of a protocol, and nothing else.

    Args:
        protocol: declares them.
        door: carries them out.
        instead: functions that replace operations, by name.
    """
    if protocol not in _IMPLEMENTATIONS:
        _IMPLEMENTATIONS[protocol] = _implementation(protocol)
    instance: P = _IMPLEMENTATIONS[protocol]()
    vars(instance).update(_door=door, **instead)
    return instance


def _implementation(protocol: type[Any]) -> type[Any]:
    members: dict[str, Any] = {name: _method(each) for name, each in operations_of(protocol).items()}
    for name in _attributes(protocol):
        members[name] = property(functools.partial(_attribute, name))
    return type(protocol.__name__, (), {'__doc__': protocol.__doc__, **members})


def _attribute(name: str, instance: Any) -> Any:
    return instance._door.attribute(name)


def _attributes(protocol: type[Any]) -> set[str]:
    names = {name for base in protocol.__mro__ for name in getattr(base, '__annotations__', ())}
    properties = {name for name in dir(protocol) if isinstance(getattr(protocol, name), property)}
    return {name for name in names | properties if not name.startswith('_')}


def _attribute_type(protocol: type[Any], name: str) -> Any:
    declared = getattr(protocol, name, None)
    if isinstance(declared, property) and declared.fget:
        return get_type_hints(declared.fget).get('return')
    return get_type_hints(protocol).get(name)


def _method(operation: Operation) -> Callable[..., Any]:
    """Return the method that hands an operation's arguments to the door."""
    bind, declared = operation.signature.bind, operation.declared
    if operation.kind == 'async':

        @functools.wraps(declared)
        async def call(self: Any, *args: Any, **options: Any) -> Any:
            return await self._door.call(operation, bind(*args, **options))

        return call
    if operation.kind == 'stream':

        @functools.wraps(declared)
        def stream(self: Any, *args: Any, **options: Any) -> Any:
            return self._door.stream(operation, bind(*args, **options))

        return stream

    @functools.wraps(declared)
    def ask(self: Any, *args: Any, **options: Any) -> Any:
        return self._door.ask(operation, bind(*args, **options))

    return ask
