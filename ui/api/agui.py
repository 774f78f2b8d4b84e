"""Patterns as AG-UI endpoints: front ends that speak the protocol can start, watch and answer runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from typing import Any, Final

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    Interrupt,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Response
from starlette.responses import StreamingResponse

from engine import Conductor, InvalidInput, Pattern, Status, Transition
from engine.errors import JournalConflict
from engine.records import Delta, RunId, RunInfo, StatePath, message_of, parent_of, reply_of, results_of
from ui.api.dependencies import EVENT_STREAM, Engine
from ui.api.idempotency import IdempotentDep, IdempotentRequest, respond_created
from ui.api.problems import problems
from ui.api.routes.launch import PLACE
from ui.api.routes.patterns import Name
from ui.api.streams.text import StreamedText
from ui.api.wire import encode
from ui.formatting.fields.parameters import main_parameter
from ui.formatting.values import result_notes

router = APIRouter(tags=['Streams'])
STREAM: Final[dict[int | str, dict[str, Any]]] = {200: {'content': EVENT_STREAM}}


@router.post(
    '/agui/{pattern}',
    response_class=StreamingResponse,
    responses=problems(404, 412, 413, 415) | STREAM,
)
async def run_with_agui(
    conductor: Engine, once: IdempotentDep, pattern: Name, run_input: RunAgentInput
) -> StreamingResponse:
    """Run a pattern for a front end that speaks AG-UI, and stream the run as AG-UI events.

    The user's last message is the pattern's main input; `forwardedProps.parameters` are further parameters.
    With an `Idempotency-Key`, a repeated request streams the run that the first one started or answered.
    A run that waits for a person ends the stream with an interrupt; `resume` answers it with a payload of
    `event`, `at` and `data`, as the interrupt's metadata lists them.
    """
    pattern_class = conductor.catalog.pattern(pattern)
    if run_input.resume:
        run, after = await _resume(conductor, run_input.resume[0], once.key)
    else:
        run, after = await _start(conductor, once, pattern_class, run_input), 0
    encoder = EventEncoder()

    async def body() -> AsyncIterator[str]:
        async for event in _EventTranslator(conductor, run, run_input).events(after):
            yield encoder.encode(event)

    return StreamingResponse(body(), media_type=encoder.get_content_type())


async def _start(
    conductor: Conductor, once: IdempotentRequest, pattern: type[Pattern], run_input: RunAgentInput
) -> RunId:
    async def make(run: RunId) -> Response:
        with suppress(JournalConflict):  # This server died after it had started the run.
            await conductor.start(pattern.name, _parameters(pattern, run_input), run=run)
        return respond_created(json.dumps(run), PLACE.format(run=run))

    return RunId(json.loads(bytes((await once(make)).body)))


def _parameters(pattern: type[Pattern], run_input: RunAgentInput) -> dict[str, Any]:
    props = run_input.forwarded_props if isinstance(run_input.forwarded_props, dict) else {}
    values = props.get('parameters') or {}
    if not isinstance(values, dict):
        raise InvalidInput({'forwardedProps.parameters': 'must be an object'})
    field = main_parameter(pattern.Parameters.model_json_schema())
    texts = [_content_text(message.content) for message in run_input.messages if message.role == 'user']
    return ({field: texts[-1]} if field and texts and field not in values else {}) | values


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return ''.join(part.text for part in content or () if getattr(part, 'type', '') == 'text')


async def _resume(conductor: Conductor, entry: ResumeEntry, key: str) -> tuple[RunId, int]:
    """Answer the interrupt of a run. Raises `StepPassed` if it was answered already."""
    name, _, step = entry.interrupt_id.partition('@')
    if not step.isdecimal() or len(step) > 15:
        raise InvalidInput({'resume.interruptId': 'this is not an interrupt of a run'})
    run, seen = RunId(name), int(step)
    answer = entry.payload if isinstance(entry.payload, dict) else {}
    if entry.status == 'cancelled':
        await conductor.cancel(run, 'cancelled by a person', seen=seen, key=key)
    else:
        event, at, data = str(answer.get('event', 'approve')), str(answer.get('at', '')), answer.get('data')
        values = data if isinstance(data, dict) else {}
        await conductor.send(run, event, at=at, data=values, seen=seen, key=key)
    return run, seen


class _EventTranslator:
    """Translates one run into the protocol's events."""

    def __init__(self, conductor: Conductor, run: RunId, run_input: RunAgentInput) -> None:
        self._conductor, self._run, self._run_input = conductor, run, run_input
        self._open_messages: dict[StatePath, str] = {}
        """The open message of each agent."""
        self._open_reasoning: dict[StatePath, str] = {}
        """The open reasoning of each agent."""
        self._streamed = StreamedText()
        self._steps: list[str] = []
        self._messages = 0

    async def events(self, after: int) -> AsyncIterator[BaseEvent]:
        ids: Any = {'thread_id': self._run_input.thread_id, 'run_id': self._run_input.run_id}
        yield RunStartedEvent(**ids, protocol_version=PROTOCOL_VERSION)
        if after:
            view = await self._conductor.view(self._run, after)
            memory = await asyncio.to_thread(dict, view.memory)
            yield StateSnapshotEvent(snapshot={'run': self._run, 'memory': memory})
        info = await self._conductor.info(self._run)
        async with aclosing(self._conductor.watch(self._run, after=after)) as items:
            async for item in items:
                if isinstance(item, Delta):
                    for event in self._on_delta(item):
                        yield event
                elif isinstance(item, Transition):
                    for event in self._on_step(item):
                        yield event
                    info = await self._conductor.info(self._run)
                    if info.status is not Status.RUNNING and item.seq >= info.seq:
                        break
        for event in self._end_all():
            yield event
        for event in await self._build_notes(info):
            yield event
        yield await self._build_end(info, ids)

    def _on_delta(self, delta: Delta) -> Iterator[BaseEvent]:
        self._streamed.add(delta)
        if delta.kind == 'reset':
            for path in [delta.path] if delta.path else {*self._open_messages, *self._open_reasoning}:
                yield from self._end_message(path)
        elif delta.kind in ('text', 'reasoning') and delta.text:
            yield from (self._stream_text if delta.kind == 'text' else self._stream_reasoning)(
                delta.path, delta.text
            )

    def _stream_text(self, path: StatePath, text: str) -> Iterator[BaseEvent]:
        yield from self._end_reasoning(path)
        if path not in self._open_messages:
            self._open_messages[path] = self._next_id()
            yield TextMessageStartEvent(message_id=self._open_messages[path], role='assistant', name=path)
        yield TextMessageContentEvent(message_id=self._open_messages[path], delta=text)

    def _stream_reasoning(self, path: StatePath, text: str) -> Iterator[BaseEvent]:
        if path not in self._open_reasoning:
            self._open_reasoning[path] = self._next_id()
            yield ReasoningStartEvent(message_id=self._open_reasoning[path])
            yield ReasoningMessageStartEvent(message_id=self._open_reasoning[path], role='reasoning')
        yield ReasoningMessageContentEvent(message_id=self._open_reasoning[path], delta=text)

    def _on_step(self, step: Transition) -> Iterator[BaseEvent]:
        yield from self._reply(step)
        for path in step.left:
            if path in self._steps:
                self._steps.remove(path)
                yield StepFinishedEvent(step_name=path)
        for path in step.entered:
            if path not in self._steps:
                self._steps.append(path)
                yield StepStartedEvent(step_name=path)
        if step.seq == 1:
            memory = step.event.data.get('memory', {})
            yield StateSnapshotEvent(snapshot={'run': self._run, 'memory': memory})
        elif delta := [encode(change) for change in step.changes if change.path.startswith('/memory')]:
            yield StateDeltaEvent(delta=delta)

    def _reply(self, step: Transition) -> Iterator[BaseEvent]:
        """Return the part of a model's reply that was not streamed, its tool calls, and tool results."""
        agent = parent_of(step.event.at)
        if reply := reply_of(step.event):
            message = message_of(reply['message'])
            thoughts, text = self._streamed.find_unstreamed(agent, message)
            if thoughts:
                yield from self._stream_reasoning(agent, thoughts)
            if text:
                yield from self._stream_text(agent, text)
            yield from self._end_message(agent)
            for call in message.calls:
                yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name)
                if call.arguments:
                    yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.arguments)
                yield ToolCallEndEvent(tool_call_id=call.id)
        for result in results_of(step.event):
            yield ToolCallResultEvent(
                message_id=self._next_id(), tool_call_id=result['id'], content=result['text'], role='tool'
            )
        yield from self._end_message(agent)

    def _end_message(self, path: StatePath) -> Iterator[BaseEvent]:
        self._streamed.forget(path)
        yield from self._end_reasoning(path)
        if path in self._open_messages:
            yield TextMessageEndEvent(message_id=self._open_messages.pop(path))

    def _end_reasoning(self, path: StatePath) -> Iterator[BaseEvent]:
        if path in self._open_reasoning:
            thought = self._open_reasoning.pop(path)
            yield ReasoningMessageEndEvent(message_id=thought)
            yield ReasoningEndEvent(message_id=thought)

    def _end_all(self) -> Iterator[BaseEvent]:
        for path in {*self._open_messages, *self._open_reasoning}:
            yield from self._end_message(path)
        for step in reversed(self._steps):
            yield StepFinishedEvent(step_name=step)

    async def _build_notes(self, info: RunInfo) -> list[BaseEvent]:
        """Return a message with the notes on the result, for which the outcome has no field."""
        notes = result_notes(await self._conductor.view(self._run)) if info.status is Status.DONE else []
        if not notes:
            return []
        message = self._next_id()
        return [
            TextMessageStartEvent(message_id=message, role='assistant', name='hemicycle'),
            TextMessageContentEvent(message_id=message, delta='\n\n'.join(notes)),
            TextMessageEndEvent(message_id=message),
        ]

    async def _build_end(self, info: RunInfo, ids: Any) -> BaseEvent:
        if info.status is Status.FAILED:
            return RunErrorEvent(message=info.error or 'the run failed', code='failed')
        if info.status is Status.CANCELLED:
            return RunFinishedEvent(**ids, outcome=RunFinishedCancelledOutcome(type='cancelled'))
        if info.status is Status.DONE:
            outcome = await self._conductor.result(self._run)
            success = RunFinishedSuccessOutcome(type='success')
            return RunFinishedEvent(**ids, result=outcome.answer, outcome=success)
        accepts = [encode(event) for event in await self._conductor.accepts(self._run)]
        interrupt = Interrupt(
            id=f'{self._run}@{info.seq}',
            reason='input_required',
            message=info.waiting or f'the run is {info.status}',
            metadata={'run': self._run, 'accepts': accepts},
        )
        halted = RunFinishedInterruptOutcome(type='interrupt', interrupts=[interrupt])
        return RunFinishedEvent(**ids, outcome=halted)

    def _next_id(self) -> str:
        self._messages += 1
        return f'{self._run}-{self._run_input.run_id}-{self._messages}'
