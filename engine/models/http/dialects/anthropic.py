"""The Anthropic dialect (messages): writes requests and reads streams of content blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

from typing_extensions import override

from engine.models.endpoint import Endpoint
from engine.models.http.dialects.dialect import (
    Decoder,
    Dialect,
    as_list,
    as_mapping,
    as_text,
    as_word,
    item_index,
    join_surrogates,
    parse_object,
    refuse_many,
    token_count,
)
from engine.models.http.dialects.error_mapping import error_of_payload
from engine.models.http.dialects.reasoning import (
    anthropic_problem,
    anthropic_thinking,
)
from engine.models.http.dialects.structured_output import AnswerPlan, decode_arguments, plan_answer
from engine.models.http.dialects.vision import RequestImages
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    ModelEvent,
    ModelRequest,
    OpaquePiece,
    ReasoningPiece,
    Started,
    TextPiece,
    UsageReport,
)
from engine.records import Usage
from engine.records.message import Message, Opaque, Reasoning, Text, ToolCall, ToolResult

API_VERSION = '2023-06-01'
PARTS = {'text_delta': 'text', 'thinking_delta': 'thinking', 'input_json_delta': 'partial_json'}
BLOCKS = {'text_delta': 'text', 'thinking_delta': 'thinking', 'input_json_delta': 'tool_use'}
"""Types of content blocks, by that of the pieces they come in."""


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers with the key and the API version."""
    key = {endpoint.key_header or 'x-api-key': endpoint.key} if endpoint.key else {}
    return {'anthropic-version': API_VERSION, **key}


@dataclass(slots=True, kw_only=True)
class Block:
    """A content block as received so far."""

    data: dict[str, Any]
    place: int = -1
    """Index among the tool calls, if it is one."""
    held: str = ''
    pieces: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The block's type."""
        return str(self.data.get('type') or '')


class AnthropicDecoder(Decoder):
    """Decodes an event stream or a whole message."""

    dialect = 'anthropic'
    whole_fields = ('content',)

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._blocks: dict[Any, Block] = {}
        self._calls = 0
        self._counted: dict[str, Any] = {}
        """Usage as reported so far; the numbers are cumulative."""

    @override
    def feed(self, event: str, data: str) -> list[ModelEvent]:
        payload = parse_object(data)
        self.refuse_others(payload)
        kind = payload.get('type') or event
        if 'error' in (kind, event) or payload.get('error'):
            self.fail(error_of_payload(payload))
            return list(self._update_usage(as_mapping(payload.get('usage'))))
        self.begun = True
        return list(self._decode_events(kind, payload))

    def close(self) -> list[ModelEvent]:
        """Close blocks left open and end the answer."""
        end = self.make_end(calls=bool(self._calls))
        if by_age := as_mapping(self._counted.get('cache_creation')):
            hour = token_count(by_age.get('ephemeral_1h_input_tokens'))
            end = replace(end, written_hour=min(end.usage.written, hour))
        return [*(event for index in list(self._blocks) for event in self._close(index)), end]

    def _decode_events(self, kind: str, payload: dict[str, Any]) -> Iterator[ModelEvent]:
        index = item_index(payload.get('index'))
        match kind:
            case 'message_start':
                yield from self._start(as_mapping(payload.get('message')))
            case 'content_block_start':
                yield from self._open(index, dict(as_mapping(payload.get('content_block'))))
            case 'content_block_delta':
                yield from self._extend(index, as_mapping(payload.get('delta')))
            case 'content_block_stop':
                yield from self._close(index)
            case 'message_delta':
                yield from self._note_finish(as_mapping(payload.get('delta')), payload)
            case 'message_stop':
                self.ended = True
            case 'message' | '' if 'content' in payload:
                yield from self._decode_whole(payload)

    def _decode_whole(self, message: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield from self._start(message)
        content = message.get('content')
        blocks = [{'type': 'text', 'text': content}] if isinstance(content, str) else as_list(content)
        for index, block in enumerate(blocks):
            yield from self._open(index, dict(as_mapping(block)))
            yield from self._close(index)
        yield from self._note_finish(message, {})

    def _note_finish(self, delta: Mapping[str, Any], event: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield from self._update_usage(as_mapping(event.get('usage')))
        if reason := delta.get('stop_reason'):
            self.finish_with(as_word(reason))

    def _start(self, message: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield Started(model=as_word(message.get('model')), id=as_word(message.get('id')))
        yield from self._update_usage(as_mapping(message.get('usage')))

    def _update_usage(self, reported: Mapping[str, Any]) -> Iterator[ModelEvent]:
        self._counted |= {name: value for name, value in reported.items() if value is not None}
        if reported:
            self.usage = parse_usage(self._counted)
            yield UsageReport(usage=self.usage)

    def _open(self, index: Any, data: dict[str, Any]) -> Iterator[ModelEvent]:
        yield from self._close(index)
        if data and not data.get('type'):
            data['type'] = 'tool_use' if 'input' in data else 'thinking' if 'thinking' in data else 'text'
        block = self._blocks[index] = Block(data=data)
        if block.kind == 'tool_use':
            refuse_many(self._calls)
            block.place = self._calls
            self._calls += 1
            yield CallStarted(index=block.place, name=as_word(data.get('name')), id=as_word(data.get('id')))
        for name in ('text', 'thinking'):
            if data.get(name):
                yield from self._emit_piece(block, str(data[name]))

    def _extend(self, index: Any, delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
        block = self._blocks.get(index)
        kind = str(delta.get('type'))
        if (block is None or not block.kind) and kind in BLOCKS:  # Its start was left out, or says nothing.
            yield from self._open(index, {'type': BLOCKS[kind]})
            block = self._blocks[index]
        if block is None:
            return
        if kind == 'signature_delta':
            block.signature.append(as_word(delta.get('signature')))
            return
        if text := as_text(delta.get(PARTS.get(kind, ''))):
            yield from self._emit_piece(block, text)

    def _emit_piece(self, block: Block, text: str) -> Iterator[ModelEvent]:
        text, block.held = join_surrogates(block.held + text)
        block.pieces.append(text)
        match block.kind:
            case 'text':
                yield TextPiece(text=text)
            case 'thinking':
                yield ReasoningPiece(text=text)
            case 'tool_use':
                yield ArgumentPiece(index=block.place, text=text)

    def _close(self, index: Any) -> Iterator[ModelEvent]:
        block = self._blocks.pop(index, None)
        if block is None or block.kind == 'text':
            return
        if block.kind == 'tool_use':
            if block.data.get('input') and not block.pieces:  # Some servers send it whole, up front.
                text = as_text(block.data['input'])
                yield ArgumentPiece(index=block.place, text=text)
        elif block.kind == 'thinking':
            # Its text is already in the message, as the reasoning part before this one.
            signature = ''.join([as_word(block.data.get('signature')), *block.signature])
            signed = {'type': 'thinking', 'signature': signature}
            yield OpaquePiece(provider=self.provider, data=signed)
        elif block.kind:
            if block.pieces:  # A server-side tool: its arguments belong in its own block.
                block.data['input'] = _parse_or_empty(''.join(block.pieces))
            yield OpaquePiece(provider=self.provider, data=block.data)


def parse_usage(counted: Mapping[str, Any]) -> Usage:
    """Parse usage as Messages counts it: the input excludes cache reads and writes.

    If a message took several iterations (for example, a compaction first), the totals cover only the last
    kind, but all iterations are charged.
    """
    parts = counted.get('iterations')
    listed = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return replace(reduce(add, map(_parse_counts, listed or [dict(counted)])), calls=1)


def _parse_counts(counted: Mapping[str, Any]) -> Usage:
    cached = token_count(counted.get('cache_read_input_tokens'))
    written = token_count(counted.get('cache_creation_input_tokens'))
    return Usage(
        input=token_count(counted.get('input_tokens')) + cached + written,
        output=token_count(counted.get('output_tokens')),
        calls=1,
        cached=cached,
        written=written,
        reasoning=token_count(as_mapping(counted.get('output_tokens_details')).get('thinking_tokens')),
    )


def _parse_or_empty(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


MAX_TOKENS = 8_192
"""The dialect requires a limit; every current model accepts this one."""


def _build_body(model: str, request: ModelRequest, endpoint: Endpoint, effort: str) -> dict[str, Any]:
    thinking = anthropic_thinking(model, effort)
    plan = plan_answer(request, endpoint, model, thinks=thinking.enabled)
    limit = request.most_tokens or endpoint.most_tokens or thinking.room or MAX_TOKENS
    body: dict[str, Any] = {
        'model': model,
        'max_tokens': limit + thinking.budget,
        'messages': _turns(plan.messages, endpoint, RequestImages.of(request, model, endpoint)),
        'stream': True,
    }
    if instructions := [message.text for message in plan.messages if message.role == 'system']:
        body['system'] = '\n\n'.join(instructions)
    if plan.tools:
        body['tools'] = [
            {'name': tool.name, 'description': tool.description, 'input_schema': dict(tool.schema)}
            for tool in plan.tools
        ]
        body['tool_choice'] = _choice(plan)
    output: dict[str, Any] = {'effort': thinking.effort} if thinking.effort else {}
    if plan.schema is not None:
        output['format'] = {'type': 'json_schema', 'schema': plan.schema}
    if output:
        body['output_config'] = output
    if endpoint.cache != 'off' and _repeats(request):
        _mark_repeated(body, _cache_control(endpoint))
    if thinking.thinking:
        body['thinking'] = thinking.thinking
    if request.temperature is not None and not thinking.enabled:
        body['temperature'] = request.temperature
    if request.stop:
        body['stop_sequences'] = list(request.stop)
    return body | dict(endpoint.body)


def _repeats(request: ModelRequest) -> bool:
    """Return whether a later request probably begins like this: an agent with tools, or a conversation."""
    return bool(request.tools) or any(message.role == 'assistant' for message in request.messages)


def _cache_control(endpoint: Endpoint) -> dict[str, str]:
    return {'type': 'ephemeral', **({'ttl': '1h'} if endpoint.cache == '1h' else {})}


def _mark_repeated(body: dict[str, Any], control: dict[str, str]) -> None:
    """Mark the ends of repeated prefixes: after tools and instructions, and after the last two user turns.

    Tools come before the instructions, so one mark covers both. The second-to-last user turn is where the
    previous request ended; it is marked because the provider looks only 20 blocks back for a cached prefix.
    """
    if 'system' in body:
        body['system'] = [{'type': 'text', 'text': body['system'], 'cache_control': control}]
    elif body.get('tools'):
        body['tools'][-1]['cache_control'] = control
    for turn in [turn for turn in body['messages'] if turn['role'] == 'user'][-2:]:
        turn['content'][-1]['cache_control'] = control


def _choice(plan: AnswerPlan) -> dict[str, str]:
    named = {'auto': 'auto', 'none': 'none', 'required': 'any'}.get(plan.choice)
    return {'type': named} if named else {'type': 'tool', 'name': plan.choice}


THINKING = ('thinking', 'redacted_thinking')


def _turns(
    messages: tuple[Message, ...], endpoint: Endpoint, request_images: RequestImages
) -> list[dict[str, Any]]:
    """Convert messages to alternating turns; tool results count as the user's."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = list(_blocks(message, endpoint, request_images)) if message.role != 'system' else []
        while blocks and blocks[-1]['type'] in THINKING:  # The provider rejects a turn that ends with it.
            blocks.pop()
        role = 'assistant' if message.role == 'assistant' else 'user'
        if blocks and turns and turns[-1]['role'] == role:
            turns[-1]['content'] += blocks
        elif blocks:
            turns.append({'role': role, 'content': blocks})
    return turns


def _blocks(message: Message, endpoint: Endpoint, request_images: RequestImages) -> Iterator[dict[str, Any]]:
    thought, images = '', request_images.results(message)
    for part in message.parts:
        match part:
            case Text(text=text) if text.strip():  # The dialect rejects empty text blocks.
                yield {'type': 'text', 'text': text}
            case ToolCall():
                yield {
                    'type': 'tool_use',
                    'id': part.id,
                    'name': part.name,
                    'input': decode_arguments(part.arguments),
                }
            case ToolResult():
                content = _result_content(part.text, images.get(part.id, ()))
                failed = {} if part.ok else {'is_error': True}
                yield {'type': 'tool_result', 'tool_use_id': part.id, **content, **failed}
            case Opaque(provider=provider, data=data) if provider == endpoint.name:
                yield {**data, 'thinking': thought} if data.get('type') == 'thinking' else dict(data)
        thought = part.text if isinstance(part, Reasoning) else ''


def _result_content(text: str, images: Sequence[tuple[str, str]]) -> dict[str, Any]:
    if not images:
        return {'content': text} if text else {}
    blocks: list[dict[str, Any]] = [{'type': 'text', 'text': text}] if text else []
    for media_type, data in images:
        blocks.append({'type': 'image', 'source': {'type': 'base64', 'media_type': media_type, 'data': data}})
    return {'content': blocks}


ANTHROPIC = Dialect(
    path=lambda model: '/messages',
    headers=_headers,
    build_body=_build_body,
    effort_problem=anthropic_problem,
    decoder=AnthropicDecoder,
)
"""The Messages API."""
