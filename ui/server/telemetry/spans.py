"""The spans of a run: the run itself, each visit to a state, and the model and tool calls in it.

Ids are derived from the run, the state and the step, so that the same run always yields the same trace.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from engine import Status as RunStatus
from engine import Transition
from engine.history import program_version
from engine.history.traces import attributes as names
from engine.journal import usage_from_dict
from engine.records import FILLER, RunInfo, Shape, StateShape, split_pointer

THINKING, USING_TOOLS = 'thinking', 'using_tools'
"""The names of an agent's states in which it calls a model and tools."""
FAILURES = ('failed', 'expired')
MAX_CONTENT = 100_000
"""Maximum characters of a text; the rest is cut off."""
SCOPE = InstrumentationScope('hemicycle', program_version())


@dataclass(frozen=True, slots=True)
class _Visit:
    """An active state: when it was entered, and the context of its span."""

    seq: int
    time: float
    context: SpanContext
    parent: SpanContext


class SpanBuilder:
    """Builds the spans of one run while its steps are read in order.

    Args:
        info: the run's summary.
        shape: its chart.
        resource: the OpenTelemetry resource of this process.
        contents: whether spans include the output of models and tools.
    """

    def __init__(self, info: RunInfo, shape: Shape, resource: Resource, *, contents: bool = False) -> None:
        self._info, self._resource, self._contents = info, resource, contents
        self._states: dict[str, StateShape] = {state.path: state for state in shape.states}
        self._trace = int.from_bytes(hashlib.sha256(info.id.encode()).digest()[:16])
        self._root = self._context('', 0)
        self._open: dict[str, _Visit] = {}
        self._last = info.created
        self._inputs: dict[str, dict[str, AttributeValue]] = {}
        """Instructions and input messages of the current visit, by agent path."""

    def add(self, step: Transition) -> Iterator[ReadableSpan]:
        """Yield the spans that end with a step; must be called for each step in order."""
        self._last = step.time
        if self._contents:
            self._record_inputs(step)
        for path in step.left:
            if visit := self._open.pop(path, None):
                yield from self._spans(path, visit, step)
        for path in step.entered:
            state = self._states.get(path)
            if state is None or state.kind != 'final':
                around = self._open.get(state.parent) if state else None
                parent = around.context if around else self._root
                self._open[path] = _Visit(step.seq, step.time, self._context(path, step.seq), parent)

    def _record_inputs(self, step: Transition) -> None:
        """Record the instructions and messages that agents get when they start or restart."""
        for change in step.changes:
            match split_pointer(change.path), change.value:
                case ('agents', path), {'instructions': str(text), 'messages': messages}:
                    self._inputs[path] = {
                        names.INSTRUCTIONS: json.dumps([_convert_part({'kind': 'text', 'text': text})]),
                        names.INPUT_MESSAGES: as_messages(messages),
                    }
                case ('agents', path, 'messages', '-'), message if path in step.entered:
                    self._inputs[path] = {names.INPUT_MESSAGES: as_messages([message])}

    def end(self) -> Iterator[ReadableSpan]:
        """Yield the spans that are still open, and the run's own."""
        for path, visit in reversed(self._open.items()):
            yield from self._spans(path, visit, None)
        info = self._info
        yield self._span(
            f'invoke_workflow {info.pattern}',
            self._root,
            None,
            (info.created, max(self._last, info.created)),
            {
                names.OPERATION: 'invoke_workflow',
                names.WORKFLOW: info.pattern,
                names.RUN: info.id,
                **({names.TITLE: info.title} if self._contents else {}),  # Derived from its input.
                names.STATUS: str(info.status),
                names.SIMULATED: info.simulated,
                names.DOLLARS: info.usage.dollars,
                **({names.PARENT: info.parent} if info.parent else {}),
            },
            error=info.error if info.status in (RunStatus.FAILED, RunStatus.CANCELLED) else '',
        )

    def _spans(self, path: str, visit: _Visit, step: Transition | None) -> Iterator[ReadableSpan]:
        """Yield the span of a visit, and those of its tool calls."""
        ending = step.event if step and step.event.at == path else None
        data = ending.data if ending else {}
        error = ''
        if step and step.event.name in FAILURES and step.event.at.startswith(path):
            error = str(step.event.data.get('error', '')) or step.event.name
        until = step.time if step else self._last
        facts: dict[str, AttributeValue] = {names.STATE: path, names.ENTERED: visit.seq}
        if step:
            facts[names.LEFT] = step.seq
        state = self._states.get(path)
        agent = self._agent(path)
        name, kind = path, SpanKind.INTERNAL
        if state and state.role:
            name = f'invoke_agent {state.role}'
            facts |= {
                names.OPERATION: 'invoke_agent',
                names.AGENT: state.role,
                names.CONVERSATION: self._info.id,
                **self._inputs.pop(path, {}),
            }
        elif agent and state and state.name == THINKING:
            model = str(data.get('model', ''))
            name, kind = f'chat {model}'.rstrip(), SpanKind.CLIENT
            facts |= self._chat(agent, model, data)
        elif agent and state and state.name == USING_TOOLS:
            yield from self._tools(path, visit, until, data)
        yield self._span(
            name, visit.context, visit.parent, (visit.time, until), facts, kind=kind, error=error
        )

    def _chat(self, agent: str, model: str, data: Mapping[str, Any]) -> dict[str, AttributeValue]:
        used = usage_from_dict(data).get(model)
        facts: dict[str, AttributeValue] = {
            names.OPERATION: 'chat',
            names.PROVIDER: model.partition('/')[0] if '/' in model else 'hemicycle',
            names.AGENT: str(data.get('role') or agent),
            names.CONVERSATION: self._info.id,
            names.SIMULATED: data.get('source') in FILLER,
        }
        if model:
            facts |= {names.MODEL: model, names.RESPONSE_MODEL: model}
        if used:
            facts |= {
                names.INPUT_TOKENS: used.input,
                names.OUTPUT_TOKENS: used.output,
                names.CACHE_READ_TOKENS: used.cached,
                names.CACHE_WRITE_TOKENS: used.written,
                names.REASONING_TOKENS: used.reasoning,
                names.DOLLARS: used.dollars,
            }
        if self._contents and 'message' in data:
            facts[names.OUTPUT_MESSAGES] = as_messages([data['message']])
        return facts

    def _tools(
        self, path: str, visit: _Visit, until: float, data: Mapping[str, Any]
    ) -> Iterator[ReadableSpan]:
        results = data.get('results')
        for result in results if isinstance(results, list | tuple) else ():
            tool, call = str(result.get('name', '')), str(result.get('id', ''))
            facts: dict[str, AttributeValue] = {
                names.OPERATION: 'execute_tool',
                names.TOOL: tool,
                names.TOOL_CALL: call,
                names.STATE: path,
            }
            text = str(result.get('text', ''))
            if self._contents:
                facts[names.TOOL_RESULT] = text[:MAX_CONTENT]
            failed = result.get('ok') is False
            context = self._context(f'{path}/{call}', visit.seq)
            error = (text[:200] if self._contents else 'the tool failed') if failed else ''
            yield self._span(
                f'execute_tool {tool}', context, visit.context, (visit.time, until), facts, error=error
            )

    def _agent(self, path: str) -> str:
        """Return the role of the agent to which a leaf state belongs, or ''."""
        state = self._states.get(path)
        around = self._states.get(state.parent) if state else None
        return around.role if around else ''

    def _context(self, path: str, seq: int) -> SpanContext:
        span = hashlib.sha256(f'{self._info.id}\0{path}\0{seq}'.encode()).digest()[:8]
        return SpanContext(
            self._trace, int.from_bytes(span), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
        )

    def _span(  # noqa: PLR0913  (the last have defaults)
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        during: tuple[float, float],
        facts: Mapping[str, AttributeValue],
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        error: str = '',
    ) -> ReadableSpan:
        began, ended = during
        return ReadableSpan(
            name,
            context=context,
            parent=parent,
            resource=self._resource,
            attributes={**facts, names.ERROR: '_OTHER'} if error else facts,
            kind=kind,
            status=Status(StatusCode.ERROR, error) if error else Status(),
            start_time=round(began * 1e9),
            end_time=round(ended * 1e9),
            instrumentation_scope=SCOPE,
        )


def as_messages(messages: Iterable[Mapping[str, Any]]) -> str:
    """Format messages by the conventions; texts are cut before encoding, so the result is valid JSON."""
    converted = [
        {'role': message['role'], 'parts': [_convert_part(part) for part in message['parts']]}
        for message in messages
    ]
    for message in converted:
        if message['role'] == 'assistant':
            called = any(part['type'] == 'tool_call' for part in message['parts'])
            message['finish_reason'] = 'tool_call' if called else 'stop'
    return json.dumps(converted, ensure_ascii=False)


def _convert_part(part: Mapping[str, Any]) -> dict[str, Any]:
    match part['kind']:
        case 'call':
            called = {'id': part['id'], 'name': part['name']}
            return {'type': 'tool_call', **called, 'arguments': part['arguments'][:MAX_CONTENT]}
        case 'result':
            return {'type': 'tool_call_response', 'id': part['id'], 'response': part['text'][:MAX_CONTENT]}
        case 'text' | 'reasoning':
            return {'type': part['kind'], 'content': part['text'][:MAX_CONTENT]}
    return {'type': part['kind']}
