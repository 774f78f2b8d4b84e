"""The messages of a span, in any of the formats that instrumentations use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from engine.history.traces import attributes as names
from engine.history.traces.otlp import Span
from engine.records.jsonable import to_jsonable
from engine.records.message import Message, Part, Reasoning, Text, ToolCall, ToolResult

MAX_STRING = 100_000
"""Maximum characters of a string; longer ones are truncated."""
PLACES = re.compile(r'(\d+)\.(.+)')
LISTED: Final = {
    'input': (
        names.INPUT_MESSAGES,
        'pydantic_ai.all_messages',
        'all_messages_events',
        'ai.prompt.messages',
        'ai.prompt',
        names.ADK_MESSAGES[0],
    ),
    'output': (names.OUTPUT_MESSAGES, names.ADK_MESSAGES[1]),
}
"""Attributes that hold a list of messages, as JSON."""
NUMBERED: Final = {
    'input': ('llm.input_messages.', 'gen_ai.prompt.'),
    'output': ('llm.output_messages.', 'gen_ai.completion.'),
}
"""Prefixes of attributes that each hold one value of one message: `gen_ai.prompt.0.content`."""
EVENTS: Final = {
    'gen_ai.system.message': 'system',
    'gen_ai.user.message': 'user',
    'gen_ai.assistant.message': 'assistant',
    'gen_ai.tool.message': 'tool',
}
CHOICE: Final = 'gen_ai.choice'
WHOLE: Final = {
    'input': ('gen_ai.content.prompt', 'gen_ai.prompt'),
    'output': ('gen_ai.content.completion', 'gen_ai.completion'),
}
"""Events that hold all messages, each with its attribute."""
DETAILS: Final = 'gen_ai.client.inference.operation.details'
ROLES: Final = {
    'human': 'user',
    'ai': 'assistant',
    'model': 'assistant',
    'developer': 'system',
    'function': 'tool',
}
RESULTS: Final = ('tool_call_response', 'tool_result', 'tool-result', 'function_response', 'result')
CALLS: Final = ('tool_call', 'tool_use', 'tool-call', 'function_call', 'function', 'call')
UNTYPED: Final = ('function_call', 'function_response')
"""Keys that identify parts without a type."""
WRAPPINGS: Final = (
    'output',
    'outputs',
    'choices',
    'message',
    'messages',
    'kwargs',
    'content',
    'parts',
    'text',
    'value',
    'input_str',
)
"""Keys under which values are wrapped, in order of precedence."""
THOUGHTS: Final = ('reasoning', 'thinking')


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanMessages:
    """The input and output of a model call."""

    instructions: str = ''
    inputs: tuple[Message, ...] = ()
    reply: Message | None = None
    """None if the trace does not hold it."""


@dataclass(slots=True)
class _Collector:
    """Collects messages as they are read; consecutive tool results become one message."""

    instructions: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def add(self, role: str, parts: list[Part]) -> None:
        results: list[Part] = [part for part in parts if isinstance(part, ToolResult)]
        others = [part for part in parts if not isinstance(part, ToolResult)]
        if results:
            last = self.messages[-1] if self.messages else None
            if last and last.role == 'tool':
                self.messages[-1] = Message(role='tool', parts=(*last.parts, *results))
            else:
                self.messages.append(Message(role='tool', parts=tuple(results)))
        text = '\n'.join(part.text for part in others if isinstance(part, Text))
        if role == 'system':
            self.instructions.append(text)
        elif role == 'assistant' and others:
            self.messages.append(Message(role='assistant', parts=tuple(others)))
        elif text:
            self.messages.append(Message.of('user', text))


def to_text(value: Any) -> str:
    """Convert a value to text: strings as they are, anything else as JSON; truncated after `MAX_STRING`."""
    if value is None:
        return ''
    text = value if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)
    return (
        text
        if len(text) <= MAX_STRING
        else f'{text[:MAX_STRING]}\n… ({len(text) - MAX_STRING:,} more characters)'
    )


def first_of(attributes: Mapping[str, Any], candidates: Iterable[str]) -> Any:
    """Return the value of the first of these attributes that is not empty, or None."""
    return next((value for name in candidates if (value := attributes.get(name)) not in (None, '', [])), None)


def read_messages(span: Span) -> SpanMessages:
    """Read the messages of a model call's or an agent's span."""
    about = span.attributes
    for event in span.events:
        if event.name == DETAILS:
            about = about | event.attributes
    inputs, outputs = _Collector(), _Collector()
    for part in _parts(parse_json(about.get(names.INSTRUCTIONS))):
        inputs.add('system', [part])
    for message in _find_messages(span, about, 'input') or _arguments(about):
        _collect_message(inputs, message)
    for message in _find_messages(span, about, 'output'):
        _collect_message(outputs, {'role': 'assistant', **message})
    if not outputs.messages:
        _collect_message(outputs, _text_reply(about))
    reply = next((output for output in outputs.messages if output.role == 'assistant'), None)
    return SpanMessages(
        instructions='\n\n'.join(dict.fromkeys(filter(None, inputs.instructions))),
        inputs=tuple(inputs.messages),
        reply=reply,
    )


def parse_json(value: Any) -> Any:
    """Parse a value if it is a string that holds JSON; return anything else unchanged."""
    if isinstance(value, str) and value[:1] in '[{"':
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _find_messages(span: Span, about: Mapping[str, Any], direction: str) -> list[Any]:
    return (
        _list_messages(first_of(about, LISTED[direction]), direction)
        or _collect_numbered(about, direction)
        or _events(span, direction)
    )


def _arguments(about: Mapping[str, Any]) -> list[Any]:
    """Return the messages that a function, recorded as a model call, was called with."""
    if about.get(names.OPENINFERENCE_KIND) != 'LLM':
        return []
    value = about.get('input.value')
    listed = _list_messages(value, 'input')
    known = ('content', 'contents', 'parts')
    return (
        listed
        if any(name in item for item in listed for name in known)
        else _list_messages(to_text(value), 'input')
    )


def _list_messages(value: Any, direction: str) -> list[Any]:
    listed = parse_json(value)
    if isinstance(listed, Mapping):
        config = listed.get('config')
        system = listed.get('system') or listed.get('instructions')
        if isinstance(config, Mapping):
            system = config.get('system_instruction')
        inner = next(
            (listed[name] for name in ('messages', 'contents', 'content', 'input') if listed.get(name)), None
        )
        inner = listed if 'role' in listed else inner
        if isinstance(text := listed.get('prompt') or listed.get('input'), str):
            inner = {'role': 'user', 'content': text}
        rest = inner if isinstance(inner, list) else [inner if isinstance(inner, Mapping) else listed]
        listed = [*([{'role': 'system', 'content': system}] if system else []), *rest]
    if isinstance(listed, str):
        listed = [{'role': 'user' if direction == 'input' else 'assistant', 'content': listed}]
    return [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []


def _collect_numbered(about: Mapping[str, Any], direction: str) -> list[Any]:
    for prefix in NUMBERED[direction]:
        if items := _nest(
            {name.removeprefix(prefix): value for name, value in about.items() if name.startswith(prefix)}
        ):
            messages = (item.get('message', item) for item in items)
            return [item if isinstance(item, Mapping) else {'content': item} for item in messages]
    return []


def _nest(flat: Mapping[str, Any]) -> list[Any]:
    """Nest flat attributes such as `0.message.tool_calls.1.tool_call.id` into lists and mappings."""
    items: dict[int, dict[str, Any]] = {}
    for name, value in flat.items():
        if place := PLACES.fullmatch(name):
            items.setdefault(int(place[1]), {})[place[2]] = value
    return [_mapping(items[number]) for number in sorted(items)]


def _mapping(flat: Mapping[str, Any]) -> dict[str, Any]:
    inner: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        head, _, rest = name.partition('.')
        inner.setdefault(head, {})[rest] = value
    return {
        head: held['']
        if '' in held
        else (_nest(held) if all(PLACES.fullmatch(rest) for rest in held) else _mapping(held))
        for head, held in inner.items()
    }


def _events(span: Span, direction: str) -> list[Any]:
    events = list[Any]()
    choice = direction == 'output'
    whole, attribute = WHOLE[direction]
    for event in span.events:
        if event.name == whole:
            events += _list_messages(event.attributes.get(attribute), direction)
        about = {
            name.removeprefix('gen_ai.event.'): parse_json(held) for name, held in event.attributes.items()
        }
        if isinstance(held := about.get('content'), Mapping):
            about = {**about, 'content': None, **held}
        if event.name == CHOICE and choice:
            inner = about.get('message')
            events.append(inner if isinstance(inner, Mapping) else {'content': inner, **about})
        elif event.name in EVENTS and not choice:
            events.append({'role': EVENTS[event.name], **about})
    return events


def _text_reply(about: Mapping[str, Any]) -> dict[str, Any]:
    """Build a reply from attributes that hold a single string, and possibly tool calls."""
    calls = parse_json(about.get('ai.response.toolCalls'))
    text = first_of(about, names.OUTPUTS)
    message = parse_json(text)
    for name in ('choices', 'message'):
        inner = message.get(name) if isinstance(message, Mapping) else None
        message = inner[0] if isinstance(inner, list) and inner else inner or message
    if isinstance(message, Mapping) and 'role' in message:
        return dict(message)
    return {
        'role': 'assistant',
        'content': extract_text(text),
        'tool_calls': calls if isinstance(calls, list) else [],
    }


def extract_text(value: Any) -> str:
    """Return the text of a string, a message, a list of messages, or LangChain's wrapping of one."""
    content = parse_json(value)
    for _ in WRAPPINGS:
        content = content[-1] if isinstance(content, list) and content else content
        key = next((name for name in WRAPPINGS if isinstance(content, Mapping) and name in content), None)
        if key is None:
            break
        content = content[key]
    return to_text(content if isinstance(content, str) else value)


def _collect_message(collector: _Collector, message: Mapping[str, Any]) -> None:
    role = str(message.get('role') or 'user').lower()
    role = ROLES.get(role, role)
    parts = list(_parts(message.get('parts') or message.get('content') or message.get('contents')))
    called = message.get('tool_calls')
    parts += [_call(call) for call in called if isinstance(call, Mapping)] if isinstance(called, list) else []
    if role == 'tool' and not any(isinstance(part, ToolResult) for part in parts):
        text = '\n'.join(part.text for part in parts if isinstance(part, Text))
        call = str(message.get('tool_call_id') or message.get('id') or '')
        parts = [ToolResult(id=call, name=str(message.get('name') or ''), text=text)]
    collector.add(role, parts)


def _parts(content: Any) -> Iterator[Part]:
    inner = parse_json(content)
    if isinstance(inner, list) and all(isinstance(item, Mapping) and 'type' in item for item in inner):
        content = inner  # a list of parts, serialized as a string
    if isinstance(content, list):
        for item in content:
            yield from _part(item)
    elif isinstance(content, Mapping):
        yield from _part(content)
    elif content not in (None, ''):
        yield Text(text=to_text(content))


def _part(item: Any) -> Iterator[Part]:
    if not isinstance(item, Mapping):
        if item not in (None, ''):
            yield Text(text=to_text(item))
        return
    item = item.get('message_content', item)
    for name in UNTYPED:
        if isinstance(inner := item.get(name), Mapping):
            item = {'type': name, **inner}
    kind = str(item.get('type') or item.get('kind') or 'text')
    content = item.get('content', item.get('text', item.get('thinking')))
    if kind in CALLS:
        yield _call(item)
    elif kind in RESULTS:
        held = next((item[name] for name in ('response', 'result', 'output') if name in item), content)
        call = str(item.get('id') or item.get('tool_use_id') or item.get('toolCallId') or '')
        yield ToolResult(
            id=call, name=str(item.get('name') or item.get('toolName') or ''), text=extract_text(held)
        )
    elif kind in THOUGHTS and content:
        yield Reasoning(text=to_text(content))
    elif content not in (None, ''):
        yield Text(text=to_text(content))
    elif kind != 'text':
        yield Text(text=f'({kind})')


def _call(item: Mapping[str, Any]) -> ToolCall:
    inner = item.get('tool_call', item)
    inner = inner if isinstance(inner, Mapping) else item
    function = inner.get('function')
    about: Mapping[str, Any] = function if isinstance(function, Mapping) else inner
    arguments = first_of(about, ('arguments', 'input', 'args'))
    return ToolCall(
        id=str(inner.get('id') or inner.get('toolCallId') or ''),
        name=str(about.get('name') or about.get('toolName') or ''),
        arguments=to_text(arguments if arguments is not None else '{}'),
    )
