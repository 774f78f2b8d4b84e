"""The Anthropic dialect (messages): reads its streams of blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.model import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    ModelRequest,
    OpaquePiece,
    ReasoningPiece,
    Started,
    TextPiece,
    UsageReport,
)
from engine.records import Usage
from engine.wire.anthropic_request import body
from engine.wire.dialect import count, mapping, parsed, whole
from engine.wire.endpoint import Endpoint
from engine.wire.faults import told_of

VERSION = '2023-06-01'
REASONS: dict[str, Literal['length', 'filter', 'tools']] = {
    'max_tokens': 'length',
    'model_context_window_exceeded': 'length',
    'refusal': 'filter',
    'tool_use': 'tools',
}
PARTS = {'text_delta': 'text', 'thinking_delta': 'thinking', 'input_json_delta': 'partial_json'}


class Anthropic:
    """Messages."""

    path = '/messages'

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """The key, and the version of the dialect."""
        key = {endpoint.key_header or 'x-api-key': endpoint.key} if endpoint.key else {}
        return {'anthropic-version': VERSION, **key}

    def body(self, model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """The request as JSON values."""
        return body(model, request, endpoint)

    def decoder(self, endpoint: Endpoint) -> AnthropicDecoder:
        """A reader for the answer."""
        return AnthropicDecoder(endpoint.name)


@dataclass(slots=True, kw_only=True)
class Block:
    """One block of the answer as far as it has come."""

    data: dict[str, Any]
    place: int = -1
    """Of a tool call, its number among them."""
    held: str = ''
    pieces: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """What it holds."""
        return str(self.data.get('type') or '')


class AnthropicDecoder:
    """Reads one stream of events.

    Args:
        provider: whom what is opaque goes back to.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._blocks: dict[Any, Block] = {}
        self._calls = 0
        self._counted: dict[str, Any] = {}
        self.finish = ''
        self.ended = False

    @property
    def complete(self) -> bool:
        """Whether the reason for stopping or the end mark has come."""
        return bool(self.finish) or self.ended

    @property
    def usage(self) -> Usage | None:
        """What has been reported up to now; the numbers are cumulative."""
        return usage_of(self._counted) if self._counted else None

    def feed(self, event: str, data: str) -> list[ModelEvent]:
        """Take the next event in."""
        told = parsed(data)
        match told.get('type') or event:
            case 'message_start':
                return list(self._start(mapping(told.get('message'))))
            case 'content_block_start':
                return list(self._open(told.get('index'), dict(mapping(told.get('content_block')))))
            case 'content_block_delta':
                return list(self._grow(told.get('index'), mapping(told.get('delta'))))
            case 'content_block_stop':
                return list(self._close(told.get('index')))
            case 'message_delta':
                self.finish = str(mapping(told.get('delta')).get('stop_reason') or self.finish)
                return list(self._count(mapping(told.get('usage'))))
            case 'message_stop':
                self.ended = True
            case 'error':
                raise told_of(told)
            case _ if told.get('error'):
                raise told_of(told)
        return []

    def last(self) -> list[ModelEvent]:
        """Blocks that were never closed."""
        return [event for index in list(self._blocks) for event in self._close(index)]

    def completed(self) -> Completed:
        """The end, once it is complete."""
        reason: Literal['stop', 'tools', 'length', 'filter'] = REASONS.get(self.finish, 'stop')
        if reason == 'stop' and self._calls:
            reason = 'tools'
        return Completed(reason=reason, usage=self.usage or Usage(source='missing'), finish=self.finish)

    def _start(self, message: Mapping[str, Any]) -> Iterator[ModelEvent]:
        yield Started(model=str(message.get('model') or ''), id=str(message.get('id') or ''))
        yield from self._count(mapping(message.get('usage')))

    def _count(self, reported: Mapping[str, Any]) -> Iterator[ModelEvent]:
        self._counted |= {name: value for name, value in reported.items() if value is not None}
        if self.usage and reported:
            yield UsageReport(usage=self.usage)

    def _open(self, index: Any, data: dict[str, Any]) -> Iterator[ModelEvent]:
        yield from self._close(index)
        block = self._blocks[index] = Block(data=data)
        if block.kind == 'tool_use':
            block.place = self._calls
            self._calls += 1
            yield CallStarted(
                index=block.place, name=str(data.get('name') or ''), id=str(data.get('id') or '')
            )
        for name in ('text', 'thinking'):
            if data.get(name):
                yield from self._piece(block, str(data[name]))

    def _grow(self, index: Any, delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = Block(data={'type': str(delta.get('type')).removesuffix('_delta')})
        if delta.get('type') == 'signature_delta':
            block.data['signature'] = str(block.data.get('signature') or '') + str(
                delta.get('signature') or ''
            )
            return
        text = delta.get(PARTS.get(str(delta.get('type')), ''))
        if isinstance(text, str) and text:
            yield from self._piece(block, text)

    def _piece(self, block: Block, text: str) -> Iterator[ModelEvent]:
        text, block.held = whole(block.held + text)
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
            if block.data.get('input') and not block.pieces:  # Some send them at once, before the fragments.
                text = json.dumps(block.data['input'], ensure_ascii=False)
                yield ArgumentPiece(index=block.place, text=text)
        elif block.kind == 'thinking':
            # Its text is in the message already, as the reasoning before this.
            signed = {'type': 'thinking', 'signature': block.data.get('signature', '')}
            yield OpaquePiece(provider=self._provider, data=signed)
        elif block.kind:
            if block.pieces:  # A server's own tool: its arguments belong into its block.
                block.data['input'] = _value(''.join(block.pieces))
            yield OpaquePiece(provider=self._provider, data=block.data)


def usage_of(counted: Mapping[str, Any]) -> Usage:
    """Tokens as messages count them: those read from or written to the cache are not among the input."""
    cached, written = (
        count(counted.get('cache_read_input_tokens')),
        count(counted.get('cache_creation_input_tokens')),
    )
    return Usage(
        input=count(counted.get('input_tokens')) + cached + written,
        output=count(counted.get('output_tokens')),
        calls=1,
        cached=cached,
        written=written,
        reasoning=count(mapping(counted.get('output_tokens_details')).get('thinking_tokens')),
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}
