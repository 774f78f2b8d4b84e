"""Operations on a server: each is one request, derived from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeVar
from urllib.parse import quote

from engine import InvalidInput
from engine.operations import Operation, implement, parts_of
from engine.records import RunId
from ui.api.client.connection import Connection
from ui.api.operations.shape import NEW, shape_of
from ui.api.wire import decode_as

P = TypeVar('P')


def _is_path_part(text: str) -> bool:
    """Return whether a text can be a part of an address: others would be split, or left out."""
    return '/' not in text and text not in ('.', '..')


@dataclass(frozen=True, slots=True)
class RemoteDoor:
    """A door (see `engine.operations`) to the operations of a server. All of them raise `EngineError`."""

    protocol: type[Any]
    ask_server: Connection

    async def call(self, operation: Operation, bound: inspect.BoundArguments) -> Any:
        """Carry out an operation on the server."""
        shape, ask = shape_of(operation), self.ask_server
        arguments, method = dict(bound.arguments), shape.route.method
        if arguments.get(NEW):
            raise InvalidInput({NEW: 'the server chooses the id'})
        if wrong := [name for name in shape.path if not _is_path_part(str(arguments[name]))]:
            raise InvalidInput(dict.fromkeys(wrong, 'must not be a dot or two, or have a slash in it'))
        path = shape.route.path.format(**{name: quote(str(arguments[name]), safe='') for name in shape.path})
        if method == 'GET':
            query = {name: arguments[name] for name in shape.query if name in arguments}
            return self._result(operation, await ask.get(path, **query))
        body = shape.dump(arguments)
        if shape.steers:
            steering = {name: arguments[name] for name in ('seen', 'key') if name in arguments}
            return self._result(operation, await ask.steer(path, body, method=method, **steering))
        if shape.starts_run:
            return RunId((await ask.create(path, body))['id'])
        if shape.adds:
            return self._result(operation, await ask.create(path, body))
        query = {name: str(arguments[name]).lower() for name in shape.query if name in arguments}
        is_safe = method != 'POST' or not operation.logged
        answer = await ask.ask(method, path, safe=is_safe, json=body, params=query)
        return self._result(operation, answer.json() if answer.content else None)

    def stream(self, operation: Operation, bound: inspect.BoundArguments) -> AsyncGenerator[Any]:
        """Streams are requests of their own."""
        raise NotImplementedError(operation.name)

    def ask(self, operation: Operation, bound: inspect.BoundArguments) -> Any:
        """Nothing on a server can be answered at once."""
        raise NotImplementedError(operation.name)

    def attribute(self, name: str) -> Any:
        """Return a part of the server, such as its destinations."""
        return remote(parts_of(self.protocol)[name], self.ask_server)

    @staticmethod
    def _result(operation: Operation, answer: Any) -> Any:
        shape = shape_of(operation)
        if shape.result is NoneType:
            return None
        return decode_as(shape.result, answer[shape.route.result] if shape.route.result else answer)


def remote(protocol: type[P], connection: Connection, **streams: Callable[..., Any]) -> P:
    """Return an object whose operations are carried out by the server at the other end of a connection.

    Args:
        protocol: declares them.
        connection: leads to the server.
        streams: functions that carry out operations which yield, by name.
    """
    return implement(protocol, RemoteDoor(protocol, connection), **streams)
