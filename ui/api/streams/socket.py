"""One WebSocket that carries the streams of several runs, and accepts commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, Union

from fastapi import APIRouter, WebSocket
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, create_model
from starlette.websockets import WebSocketDisconnect

from engine import Conductor, EngineError
from engine.errors import UnknownStep
from engine.operations import Operation, Steering, operations_of
from engine.records import MAX_NUMBER, Conditions, RunId
from engine.runtime import Feed
from ui.api.dependencies import Engine, backend_of
from ui.api.operations.shape import shape_of
from ui.api.problems import Problem, problem_of
from ui.api.streams.messages import StreamMessage, list_messages, run_messages
from ui.api.streams.schema import MESSAGES
from ui.api.wire import validate

router = APIRouter(tags=['Streams'])
LIST = ''
"""The key of the stream of the list of runs."""


class _Command(BaseModel):
    model_config = ConfigDict(extra='forbid')

    id: int | str = Field(0, description='Returned in the response.')


class Subscribe(_Command):
    """Stream a run from after a step; without a run, the list of runs."""

    do: Literal['subscribe']
    run: str = Field('', max_length=100)
    after: int = Field(0, ge=0, le=MAX_NUMBER)


class Unsubscribe(_Command):
    """End a stream."""

    do: Literal['unsubscribe']
    run: str = Field('', max_length=100)


class _Steering(_Command):
    run: str = Field(max_length=100)
    seen: int | None = Field(None, ge=0, description='Refuse it if the run has moved past this step.')
    key: str = Field(
        '', max_length=200, description='A command repeated with the same key is carried out once.'
    )

    @property
    def conditions(self) -> Conditions:
        """The conditions under which the run accepts it."""
        return {'seen': self.seen, 'key': self.key}


def _steering_command(operation: Operation) -> Any:
    """Return the model of the command that carries out an operation: its arguments, and `do`, its name."""
    shape = shape_of(operation)
    fields: dict[str, Any] = {name: shape.field(name) for name in (*shape.path, *shape.body) if name != 'run'}
    name = f'{"".join(map(str.capitalize, operation.name.split("_")))}Command'
    do: Any = (Literal[operation.name], ...)
    return create_model(name, __base__=_Steering, __doc__=operation.summary, do=do, **fields)


STEERING = {
    operation.name: operation
    for operation in operations_of(Steering).values()
    if 'seen' in operation.signature.parameters
}
"""The operations that are commands of a socket."""
STEERING_COMMANDS: tuple[Any, ...] = tuple(map(_steering_command, STEERING.values()))
ANY_COMMAND: Any = Union[(Subscribe, Unsubscribe, *STEERING_COMMANDS)]
COMMANDS: TypeAdapter[Any] = TypeAdapter(Annotated[ANY_COMMAND, Field(discriminator='do')])


@router.get('/socket/schema')
async def describe_socket() -> dict[Literal['commands', 'messages'], JsonValue]:
    """Show the JSON Schemas of the commands and messages of the WebSocket at `/api/v1/socket`.

    A client sends commands as JSON text: to subscribe to runs, send events and steer. Each is answered by
    `done` or `problem` with its id. Messages of all streams arrive in between. The streams over HTTP send
    the same messages, with `type` as the name of the event and `data` as its data.
    """
    return {'commands': COMMANDS.json_schema(), 'messages': MESSAGES.json_schema()}


@router.websocket('/socket')
async def socket(connection: WebSocket, conductor: Engine) -> None:
    """Streams and commands over one connection."""
    await connection.accept()
    await _Session(connection, conductor, backend_of(connection).root.feed).serve()


class _Session:
    def __init__(self, connection: WebSocket, conductor: Conductor, feed: Feed) -> None:
        self._connection, self._conductor, self._feed = connection, conductor, feed
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        try:
            while True:
                await self._handle_command(await self._connection.receive_text())
        except (WebSocketDisconnect, KeyError):  # A binary message has no `text`.
            pass
        finally:
            for task in self._streams.values():
                task.cancel()
            await asyncio.gather(*self._streams.values(), return_exceptions=True)

    async def _handle_command(self, text: str) -> None:
        id: Any = None
        try:
            command = COMMANDS.validate_json(text)
            id = command.id
            await self._do(command)
        except ValidationError as error:
            detail = '; '.join(f'{".".join(map(str, item["loc"]))}: {item["msg"]}' for item in error.errors())
            problem = Problem(
                type='urn:hemicycle:invalid-input', title='Unprocessable Entity', status=422, detail=detail
            )
            await self._answer('problem', id, problem.model_dump())
        except EngineError as error:
            await self._answer('problem', id, json.loads(bytes(problem_of(error).body)))
        else:
            await self._answer('done', id)

    async def _do(self, command: _Command) -> None:
        match command:
            case Subscribe(run=''):
                await self._open(LIST, list_messages(self._conductor, self._feed))
            case Subscribe():
                info = await self._conductor.info(RunId(command.run))
                if command.after > info.seq:
                    raise UnknownStep(info.id, command.after, info.seq)
                await self._conductor.transitions(info.id, after=command.after, limit=1)
                await self._open(info.id, run_messages(self._conductor, info.id, command.after))
            case Unsubscribe():
                await self._end(command.run)
            case _Steering():
                await self._steer(command)

    async def _steer(self, command: Any) -> None:
        operation = STEERING[command.do]
        shape = shape_of(operation)
        given = command.model_dump(exclude_unset=True, include={*shape.path, *shape.body} - {'run'})
        arguments = {name: validate(shape.parameter(name).annotation, value) for name, value in given.items()}
        method = getattr(self._conductor, operation.name)
        await method(RunId(command.run), **arguments, **command.conditions)

    async def _open(self, key: str, messages: AsyncIterator[StreamMessage]) -> None:
        await self._end(key)
        self._streams[key] = asyncio.create_task(self._carry(key, messages))

    async def _end(self, key: str) -> None:
        if task := self._streams.pop(key, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _carry(self, key: str, messages: AsyncIterator[StreamMessage]) -> None:
        about = f'"run":{json.dumps(key)},' if key else ''
        try:
            async for message in messages:
                seq = f'"seq":{message.id},' if message.kind == 'step' else ''
                await self._send(f'{{"type":"{message.kind}",{about}{seq}"data":{message.data}}}')
        except EngineError as error:
            await self._answer('problem', None, json.loads(bytes(problem_of(error).body)), run=key)

    async def _answer(self, kind: str, id: Any, problem: Any = None, run: str = '') -> None:
        message = {'type': kind, 'id': id} | ({'problem': problem} if problem else {})
        await self._send(json.dumps(message | ({'run': run} if run else {})))

    async def _send(self, text: str) -> None:
        async with self._sending:
            await self._connection.send_text(text)
