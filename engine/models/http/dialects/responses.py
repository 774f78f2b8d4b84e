"""OpenAI's Responses dialect: writes requests, stored or stateless, and reads streams of output items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from typing_extensions import override

from engine.models.endpoint import Endpoint
from engine.models.http.dialects.dialect import (
    Decoder,
    Dialect,
    as_list,
    as_mapping,
    as_text,
    as_word,
    count_input,
    item_index,
    join_surrogates,
    parse_object,
    refuse_many,
    token_count,
)
from engine.models.http.dialects.error_mapping import error_of_payload
from engine.models.http.dialects.openai import bearer_headers
from engine.models.http.dialects.reasoning import (
    NO_REASONING,
    openai_problem,
    responses_reasoning,
)
from engine.models.http.dialects.structured_output import (
    ANSWER,
    plan_answer,
    repair_arguments,
    strict_tool_schema,
)
from engine.models.http.dialects.vision import RequestImages, data_url
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    ModelEvent,
    ModelRequest,
    OpaquePiece,
    ReasoningPiece,
    Started,
    TextPiece,
    ToolSpec,
    UsageReport,
)
from engine.records import Usage
from engine.records.message import Message, Opaque, Text, ToolCall, ToolResult

RESPONSE_DELETED = 'previous_response_not_found'
"""The error code for a stored response that the provider has deleted."""

Kind = Literal['message', 'reasoning']
DELTA_KINDS: dict[str, Kind] = {
    'output_text.delta': 'message',
    'refusal.delta': 'message',
    'reasoning_summary_text.delta': 'reasoning',
    'reasoning_text.delta': 'reasoning',
}
"""Events with a piece of text, and the kind of item it belongs to."""
DONE_KINDS = {name.replace('.delta', '.done'): kind for name, kind in DELTA_KINDS.items()}
"""Events with the whole of a text, which may not have come in pieces."""


@dataclass(slots=True)
class OutputItem:
    """An output item as received so far."""

    kind: str
    place: int = -1
    """Index among the calls, if it is one that has its name."""
    begun: set[Any] = field(default_factory=set)
    """The parts of it of which anything has arrived."""
    closed: bool = False
    held: str = ''
    nameless: list[str] = field(default_factory=list)
    """The arguments that came before the name."""


class ResponsesDecoder(Decoder):
    """Decodes an event stream or a whole response."""

    dialect = 'responses'
    whole_fields = ('output',)

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._store = endpoint.store
        self._items: dict[Any, OutputItem] = {}
        self._calls = 0
        self._refused = False
        self._id = ''

    @override
    def feed(self, event: str, data: str) -> list[ModelEvent]:
        if data.strip() == '[DONE]':
            self.ended = True
            return []
        payload = parse_object(data)
        self.refuse_others(payload)
        kind = str(payload.get('type') or event or '')
        if 'error' in (kind, event) or (payload.get('error') and 'output' not in payload):
            self.fail(error_of_payload(payload))
            return []
        return list(self._decode_events(kind, payload))

    def close(self) -> list[ModelEvent]:
        """Return the data to send back with the next request, then the end."""
        end = self.make_end(calls=bool(self._calls))
        if self._refused:
            end = replace(end, reason='filter')
        data = {'response': self._id} if self._store and self._id else {}
        return [*([OpaquePiece(provider=self.provider, data=data)] if data else []), end]

    def _decode_events(self, kind: str, payload: Mapping[str, Any]) -> Iterator[ModelEvent]:
        index, name = _item_key(payload), kind.removeprefix('response.')
        if name in DELTA_KINDS or name in DONE_KINDS:
            yield from self._decode_text(index, name, payload)
            return
        match name:
            case 'created' | 'in_progress':
                yield from self._start(as_mapping(payload.get('response')))
            case 'output_item.added':
                yield from self._open(index, as_mapping(payload.get('item')))
            case 'reasoning_summary_part.added' if payload.get('summary_index'):
                yield from self._emit_text(index, 'reasoning', '\n\n')
            case 'function_call_arguments.delta':
                yield from self._emit_arguments(index, payload.get('delta'))
            case 'function_call_arguments.done' if index not in self._items or not self._items[index].begun:
                yield from self._emit_arguments(index, payload.get('arguments'))
            case 'output_item.done':
                yield from self._close(index, as_mapping(payload.get('item')))
            case 'completed' | 'incomplete' | 'failed' | 'cancelled':
                yield from self._end(as_mapping(payload.get('response')), name)
            case '' if 'output' in payload:
                yield from self._start(payload)
                yield from self._end(payload, 'completed')

    def _decode_text(self, index: Any, name: str, payload: Mapping[str, Any]) -> Iterator[ModelEvent]:
        self._refused = self._refused or name.startswith('refusal')
        part = item_index(payload.get('content_index', payload.get('summary_index')))
        if name in DELTA_KINDS:
            yield from self._emit_text(index, DELTA_KINDS[name], payload.get('delta'), part)
        elif index not in self._items or part not in self._items[index].begun:
            whole = payload.get('text') or payload.get('refusal')
            yield from self._emit_text(index, DONE_KINDS[name], whole, part)

    def _start(self, response: Mapping[str, Any]) -> Iterator[ModelEvent]:
        if not self.begun:
            self.begun, self._id = True, as_word(response.get('id'))
            yield Started(model=as_word(response.get('model')), id=self._id)

    def _open(self, index: Any, item: Mapping[str, Any]) -> Iterator[ModelEvent]:
        if index in self._items:
            return
        output_item = self._items[index] = OutputItem(str(item.get('type') or ''))
        if output_item.kind == 'function_call':
            if item.get('name'):
                yield from self._start_call(output_item, item)
            yield from self._emit_arguments(index, item.get('arguments'))

    def _start_call(self, output_item: OutputItem, item: Mapping[str, Any]) -> Iterator[ModelEvent]:
        refuse_many(self._calls)
        output_item.place = self._calls
        self._calls += 1
        ident = as_word(item.get('call_id')) or as_word(item.get('id'))
        yield CallStarted(index=output_item.place, name=as_word(item.get('name')), id=ident)
        if output_item.nameless:
            yield ArgumentPiece(index=output_item.place, text=''.join(output_item.nameless))

    def _emit_text(self, index: Any, kind: Kind, text: Any, part: Any = None) -> Iterator[ModelEvent]:
        item = self._items.setdefault(index, OutputItem(kind))
        if not isinstance(text, str) or not text:
            return
        text, item.held = join_surrogates(item.held + text)
        item.begun.add(part)
        if text:
            yield TextPiece(text=text) if kind == 'message' else ReasoningPiece(text=text)

    def _emit_arguments(self, index: Any, text: Any) -> Iterator[ModelEvent]:
        item = self._items.setdefault(index, OutputItem('function_call'))
        if item.kind != 'function_call' or not (text := as_text(text)):
            return
        text, item.held = join_surrogates(item.held + text)
        item.begun.add(None)
        if item.place < 0:
            item.nameless.append(text)
        elif text:
            yield ArgumentPiece(index=item.place, text=text)

    def _close(self, index: Any, item: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Yield the content of a finished item, if none came in pieces, and the data to send back."""
        yield from self._open(index, item)
        output_item = self._items[index]
        output_item.closed = True
        if output_item.kind == 'function_call' and output_item.place < 0:
            yield from self._start_call(output_item, item)
        kind, content = item.get('type'), _parts(item)
        self._refused = self._refused or any(part.get('type') == 'refusal' for part in content)
        if not output_item.begun:
            yield from self._finish_item(index, item, content)
        if kind == 'message' and item.get('phase'):
            yield OpaquePiece(provider=self.provider, data={'phase': item['phase']})
        elif kind not in ('message', 'function_call') and not self._store:
            # Reasoning, or a tool that the provider runs itself.
            stored = _without_ids(item) if kind == 'reasoning' else dict(item)
            yield OpaquePiece(provider=self.provider, data={'item': stored})

    def _finish_item(
        self, index: Any, item: Mapping[str, Any], content: list[Mapping[str, Any]]
    ) -> Iterator[ModelEvent]:
        """Yield the content of an item that arrived whole."""
        match item.get('type'):
            case 'message':
                for part in content:
                    yield from self._emit_text(index, 'message', part.get('text') or part.get('refusal'))
            case 'reasoning':
                parts = [*map(as_mapping, as_list(item.get('summary'))), *content]
                thoughts = '\n\n'.join(str(part.get('text') or '') for part in parts)
                yield from self._emit_text(index, 'reasoning', thoughts)
            case 'function_call':
                yield from self._emit_arguments(index, item.get('arguments'))

    def _end(self, response: Mapping[str, Any], status: str) -> Iterator[ModelEvent]:
        self.ended = True
        nothing = not any(item.begun for item in self._items.values())
        for index, item in enumerate(map(as_mapping, as_list(response.get('output')))):
            ident = item_index(item.get('id'))
            key = ident if ident in self._items else index
            known = self._items.get(key)
            if nothing if known is None else not known.closed:  # It arrived whole, or without its end.
                yield from self._close(key, item)
            elif known is not None and not known.begun:
                yield from self._finish_item(key, item, _parts(item))
        for output_item in self._items.values():
            if output_item.kind == 'function_call' and output_item.place < 0:
                yield from self._start_call(output_item, {})
        if self._items:
            yield from self._start(response)
        if isinstance(reported := response.get('usage'), dict):
            self.usage = parse_usage(reported)
            yield UsageReport(usage=self.usage)
        if response.get('error'):
            self.fail(error_of_payload({'error': response['error']}))
        reason = as_mapping(response.get('incomplete_details')).get('reason')
        self.finish_with(as_word(reason) or as_word(response.get('status')) or status)


def _item_key(payload: Mapping[str, Any]) -> int | str | None:
    """Return the key of an event's item: its index or, if the server omits that, its id."""
    index = payload.get('output_index')
    if index is None:
        index = payload.get('item_id') or as_mapping(payload.get('item')).get('id')
    return item_index(index)


def _parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the content of an item."""
    content = item.get('content')
    return [{'text': content}] if isinstance(content, str) else [*map(as_mapping, as_list(content))]


def _without_ids(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as the provider accepts it back if it has not stored it."""
    return {name: value for name, value in item.items() if name not in ('id', 'status') and value is not None}


def parse_usage(reported: Mapping[str, Any]) -> Usage:
    """Parse usage as Responses counts it: input includes cached, output includes reasoning tokens."""
    input_details, output = (
        as_mapping(reported.get(f'{name}_tokens_details')) for name in ('input', 'output')
    )
    cached = token_count(input_details.get('cached_tokens'))
    return Usage(
        input=count_input(reported.get('input_tokens'), cached),
        output=token_count(reported.get('output_tokens')),
        calls=1,
        cached=cached,
        reasoning=token_count(output.get('reasoning_tokens')),
    )


def _build_body(model: str, request: ModelRequest, endpoint: Endpoint, effort: str) -> dict[str, Any]:
    plan = plan_answer(request, endpoint, model)
    previous, fresh = _stored_response(plan.messages, endpoint)
    request_images = RequestImages.of(request, model, endpoint)
    body: dict[str, Any] = {
        'model': model,
        'input': [item for message in fresh for item in _items(message, endpoint, request_images)],
        'stream': True,
        'store': endpoint.store,
    }
    if instructions := [message.text for message in plan.messages if message.role == 'system']:
        body['instructions'] = '\n\n'.join(instructions)
    if previous:
        body['previous_response_id'] = previous
    if not endpoint.store and not NO_REASONING.search(model):
        body['include'] = ['reasoning.encrypted_content']
    if plan.tools:
        body['tools'] = [_tool(tool, endpoint) for tool in plan.tools]
        named = plan.choice not in ('auto', 'none', 'required')
        body['tool_choice'] = {'type': 'function', 'name': plan.choice} if named else plan.choice
    if plan.schema is not None:
        form = {'type': 'json_schema', 'name': ANSWER, 'schema': plan.schema, 'strict': plan.strict}
        body['text'] = {'format': form}
    options = {
        'max_output_tokens': request.most_tokens or endpoint.most_tokens,
        'temperature': request.temperature,
        'reasoning': responses_reasoning(effort) | dict(endpoint.body.get('reasoning', {})),
    }
    return body | dict(endpoint.body) | {name: value for name, value in options.items() if value}


def _stored_response(messages: tuple[Message, ...], endpoint: Endpoint) -> tuple[str, tuple[Message, ...]]:
    """Return the stored response to continue and the messages after it, or '' and all messages."""
    conversation = tuple(message for message in messages if message.role != 'system')
    last = max(
        (place for place, message in enumerate(conversation) if message.role == 'assistant'), default=-1
    )
    if not endpoint.store or last < 0:
        return '', conversation
    for part in conversation[last].parts:
        if isinstance(part, Opaque) and part.provider == endpoint.name and 'response' in part.data:
            return str(part.data['response']), conversation[last + 1 :]
    return '', conversation


def _tool(tool: ToolSpec, endpoint: Endpoint) -> dict[str, Any]:
    exact = strict_tool_schema(tool.schema) if endpoint.strict_tools and tool.nullable else None
    return {
        'type': 'function',
        'name': tool.name,
        'description': tool.description,
        'parameters': exact or dict(tool.schema),
        'strict': bool(exact),  # The default is true, which not every schema satisfies.
    }


def _items(message: Message, endpoint: Endpoint, request_images: RequestImages) -> Iterator[dict[str, Any]]:
    """Convert a message to input items in the order of its parts: reasoning precedes what it led to."""
    spoken: dict[str, Any] = {}
    images = request_images.results(message)
    for part in message.parts:
        match part:
            case Text(text=text) if text:
                if message.role == 'assistant':
                    content = [{'type': 'output_text', 'text': text}]
                    spoken = {'type': 'message', 'role': 'assistant', 'content': content}
                    yield spoken
                else:
                    yield {'role': 'user', 'content': [{'type': 'input_text', 'text': text}]}
            case ToolCall():
                arguments = repair_arguments(part.arguments)
                yield {
                    'type': 'function_call',
                    'call_id': part.id,
                    'name': part.name,
                    'arguments': arguments,
                }
            case ToolResult():
                output = _output(part, images.get(part.id, ()))
                yield {'type': 'function_call_output', 'call_id': part.id, 'output': output}
            case Opaque(provider=provider, data=data) if provider == endpoint.name:
                if 'item' in data and _returnable(data['item']):
                    yield dict(data['item'])
                elif 'phase' in data and spoken:
                    spoken['phase'] = data['phase']


def _output(result: ToolResult, images: Sequence[tuple[str, str]]) -> str | list[dict[str, Any]]:
    text = result.text if result.ok else f'Error: {result.text}'
    if not images:
        return text
    image_items = [{'type': 'input_image', 'image_url': data_url(*image)} for image in images]
    return [{'type': 'input_text', 'text': text}, *image_items]


def _returnable(item: Mapping[str, Any]) -> bool:
    """Return whether an item can be sent back: reasoning needs its encrypted or its plain content."""
    return item.get('type') != 'reasoning' or bool(item.get('encrypted_content') or item.get('content'))


RESPONSES = Dialect(
    path=lambda model: '/responses',
    headers=bearer_headers,
    build_body=_build_body,
    effort_problem=openai_problem,
    decoder=ResponsesDecoder,
)
"""The Responses API."""
