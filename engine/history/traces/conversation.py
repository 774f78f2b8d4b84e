"""The conversation of one agent of a trace, rebuilt from its spans as the changes of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_core import to_jsonable_python

from engine.history.traces import attributes as names
from engine.history.traces.kinds import model_name, tool_name, usage_of
from engine.history.traces.messages import SpanMessages, extract_text, first_of, read_messages, to_text
from engine.history.traces.otlp import Span
from engine.history.traces.tree import Visit
from engine.journal.usage_records import usage_to_dict
from engine.records import Change, Usage, escape_token
from engine.records.message import Message, Text, ToolCall, ToolResult
from engine.statechart.run_state import AgentState

UNKNOWN: Final = '(The trace does not hold what was said.)'


class Conversation:
    """The messages to and from one agent so far. Its methods return the changes of a step.

    Args:
        path: the agent's state.
        role: the agent's name.
    """

    def __init__(self, path: str, role: str) -> None:
        self._home = f'/agents/{escape_token(path)}'
        self._agent = AgentState(role=role, visits=0)
        self._call_ids = set[str]()
        """The ids of all tool calls so far."""
        self.last_text = ''
        """Its latest text."""

    def record_entry(self, visit: Visit) -> list[Change]:
        """Record that the agent begins to work."""
        agent = self._agent
        agent.visits += 1
        if agent.visits > 1:
            return [self._set('visits', agent.visits)]
        changes = [Change(op='add', path=self._home, value=to_jsonable_python(agent))]
        if visit.span and not visit.chats and not visit.tools:
            changes += self._add_messages(_task(visit.span))
        return changes

    def record_request(self, chat: Span, began: Span | None = None) -> list[Change]:
        """Record a model call: the new messages in its request.

        Args:
            chat: the model call.
            began: the agent's own span, for its first call.
        """
        messages = read_messages(chat)
        if not messages.inputs and began:
            task = _task(began)
            messages = replace(task, instructions=messages.instructions or task.instructions)
            return self._add_messages(messages, replaces=False)
        return self._add_messages(messages)

    def _add_messages(self, messages: SpanMessages, *, replaces: bool = True) -> list[Change]:
        """Add the new messages of a request; one that does not continue the conversation replaces it."""
        changes = []
        if messages.instructions and messages.instructions != self._agent.instructions:
            self._agent.instructions = messages.instructions
            changes.append(self._set('instructions', messages.instructions))
        recorded = self._agent.messages
        if not messages.inputs:
            return changes
        new = _find_new(recorded, messages.inputs)
        if new is not None:
            return changes + [self._add(message) for message in new]
        if not replaces:
            return changes + [self._add(message) for message in messages.inputs]
        self._agent.messages = list(messages.inputs)
        self._call_ids = {call.id for message in messages.inputs for call in message.calls}
        return [*changes, self._set('messages', to_jsonable_python(self._agent.messages))]

    def record_reply(
        self, chat: Span, batch: Sequence[Span], ended: Span | None = None
    ) -> tuple[dict[str, Any], list[Change]]:
        """Record a model's reply.

        Args:
            chat: the model call.
            batch: the tools that ran next: its calls, if the trace lacks the reply.
            ended: the agent's own span, for its last call: its output is the reply, if the trace lacks it.
        """
        reply = read_messages(chat).reply
        if reply is None and not batch and ended:
            reply = read_messages(ended).reply
        if reply is None:
            calls = tuple(_call_of(tool) for tool in batch)
            reply = Message(role='assistant', parts=calls or (Text(text=UNKNOWN),))
        numbered = enumerate(reply.parts, 1)
        parts = tuple(
            replace(part, id=part.id or f'{chat.id}-{number}') if isinstance(part, ToolCall) else part
            for number, part in numbered
        )
        return self._add_reply(Message(role='assistant', parts=parts), chat, usage_of(chat))

    def record_end(self, visit: Visit) -> tuple[dict[str, Any], list[Change]]:
        """Record the end of an agent without model calls in the trace; its own span holds the reply."""
        assert visit.span is not None
        reply = read_messages(visit.span).reply or Message.of('assistant', UNKNOWN)
        has_usage = first_of(visit.span.attributes, names.TOKENS['input']) is not None
        return self._add_reply(reply, visit.span, usage_of(visit.span) if has_usage else None)

    def _add_reply(
        self, message: Message, span: Span, usage: Usage | None
    ) -> tuple[dict[str, Any], list[Change]]:
        agent, model = self._agent, model_name(span)
        self.last_text = message.text.strip() or self.last_text
        agent.turns += 1
        changes = [self._add(message), self._set('turns', agent.turns)]
        if model and model != agent.model:
            agent.model = model
            changes.append(self._set('model', model))
        data: dict[str, Any] = {
            'message': to_jsonable_python(message),
            'text': message.text,
            'model': model,
            'source': 'simulated' if span.attributes.get(names.SIMULATED) is True else 'live',
            'role': str(span.attributes.get(names.AGENT) or agent.role),
        }
        if usage:
            data['usage'] = usage_to_dict(usage)
            changes += self._count(span, usage)
        return data, changes

    def _count(self, span: Span, usage: Usage) -> list[Change]:
        agent = self._agent
        agent.input_tokens += usage.input
        agent.output_tokens += usage.output
        agent.cost += usage.dollars
        agent.unpriced += usage.unpriced
        agent.seconds = round(agent.seconds + span.end - span.start, 3)
        counted = ('input_tokens', 'output_tokens', 'cost', 'unpriced', 'seconds')
        return [self._set(name, value) for name in counted if (value := getattr(agent, name))]

    def record_tool_spans(self, batch: Sequence[Span]) -> tuple[dict[str, Any], list[Change]]:
        """Record the results of tools that have spans; return the data and changes of the step."""
        pending = self._pending_calls()
        even = len(pending) == len(batch)
        results = []
        for tool in batch:
            call = _find_call(tool, pending, even=even)
            if call:
                pending.remove(call)
            own = first_of(tool.attributes, names.TOOL_CALLS)
            id = call.id if call else str(own or tool.id)
            output = extract_text(first_of(tool.attributes, names.RESULTS))
            text = output or to_text(tool.error) or UNKNOWN
            results.append(ToolResult(id=id, name=tool_name(tool), text=text, ok=not tool.error))
        unknown = [number for number, result in enumerate(results) if result.id not in self._call_ids]
        calls = tuple(replace(_call_of(batch[number]), id=results[number].id) for number in unknown)
        call_changes = [self._add(Message(role='assistant', parts=calls))] if calls else []
        data, changes = self.record_results(results)
        return data, call_changes + changes

    def record_results(self, results: Sequence[ToolResult]) -> tuple[dict[str, Any], list[Change]]:
        """Record results found in messages; return the data and changes of the step."""
        message = Message(role='tool', parts=tuple(results))
        return {'results': to_jsonable_python(message)['parts'], 'store': {}}, [self._add(message)]

    def find_inline_results(self, chat: Span) -> list[ToolResult]:
        """Return results of pending calls that no tool span has, but that a model's request contains."""
        pending = {call.id: call for call in self._pending_calls()}
        return [
            replace(part, name=part.name or pending[part.id].name)
            for message in read_messages(chat).inputs
            for part in message.parts
            if isinstance(part, ToolResult) and part.id in pending
        ]

    def record_failure(self, problem: str) -> list[Change]:
        """Record that the agent failed."""
        return [self._set('problem', problem)]

    def _pending_calls(self) -> list[ToolCall]:
        """Return the calls of the last reply, if they have no results yet."""
        last = self._agent.messages[-1] if self._agent.messages else None
        return list(last.calls) if last and last.role == 'assistant' else []

    def _add(self, message: Message) -> Change:
        self._agent.messages.append(message)
        self._call_ids.update(call.id for call in message.calls)
        return Change(op='add', path=f'{self._home}/messages/-', value=to_jsonable_python(message))

    def _set(self, name: str, value: Any) -> Change:
        return Change(op='add', path=f'{self._home}/{name}', value=value)


def _task(span: Span) -> SpanMessages:
    """Return the messages given to an agent according to its own span: those before its first reply."""
    messages = read_messages(span)
    before = []
    for message in messages.inputs:
        if message.role == 'assistant':
            break
        before.append(message)
    if not before and (text := extract_text(first_of(span.attributes, names.INPUTS))):
        before = [Message.of('user', text)]
    return replace(messages, inputs=tuple(before))


def _call_of(tool: Span) -> ToolCall:
    arguments = first_of(tool.attributes, names.ARGUMENTS)
    id = str(first_of(tool.attributes, names.TOOL_CALLS) or tool.id)
    return ToolCall(
        id=id, name=tool_name(tool), arguments=to_text(arguments if arguments is not None else {})
    )


def _find_call(tool: Span, pending: Sequence[ToolCall], *, even: bool) -> ToolCall | None:
    """Return the call that a tool ran for: by id, else by name, else the first pending one if `even`."""
    own = first_of(tool.attributes, names.TOOL_CALLS)
    if own is not None:
        return next((call for call in pending if call.id == str(own)), None)
    named = next((call for call in pending if call.name == tool_name(tool)), None)
    return named or (pending[0] if even and pending else None)


def _find_new(recorded: Sequence[Message], inputs: Sequence[Message]) -> Sequence[Message] | None:
    """Return the messages of a request that continue the recorded ones; None if it does not repeat these.

    A reply that only calls tools may be missing: some instrumentations leave it out of requests.
    """
    at = 0
    for message in recorded:
        if at < len(inputs) and _is_repetition(message, inputs[at]):
            at += 1
        elif not message.calls or message.text.strip():
            return None
    return inputs[at:]


def _is_repetition(recorded: Message, other: Message) -> bool:
    """Return whether a message repeats an earlier one, comparing only what traces reliably repeat."""
    if recorded.role != other.role:
        return False
    if recorded.role == 'tool':
        ours, theirs = (
            {part.id for part in message.parts if isinstance(part, ToolResult)}
            for message in (recorded, other)
        )
        return ours == theirs or '' in theirs
    texts = [
        ''.join(part.text for part in m.parts if isinstance(part, Text)).strip() for m in (recorded, other)
    ]
    called = [[call.name for call in message.calls] for message in (recorded, other)]
    return texts[0] == texts[1] and called[0] == called[1]
