"""The OpenAI dialect (chat completions): reads its streams, with the liberties that providers take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from engine.errors import ModelError
from engine.model import (
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
from engine.wire.calls import Calls
from engine.wire.details import Details
from engine.wire.dialect import count, mapping, parsed, whole
from engine.wire.endpoint import Endpoint
from engine.wire.faults import told_of
from engine.wire.openai_request import body

REASONS: dict[str, Literal['length', 'filter']] = {
    'length': 'length',
    'model_length': 'length',
    'max_tokens': 'length',
    'content_filter': 'filter',
    'refusal': 'filter',
}
WANTED_BACK = 'reasoning_content'
"""Who calls it so wants reasoning back beside the calls that it led to."""
FAILURES = {'error', 'insufficient_system_resource', 'network_error'}
"""Finish reasons that are none."""


class OpenAI:
    """Chat completions."""

    path = '/chat/completions'

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """The key as a bearer's, if not elsewhere."""
        if not endpoint.key:
            return {}
        if endpoint.key_header:
            return {endpoint.key_header: endpoint.key}
        return {'authorization': f'Bearer {endpoint.key}'}

    def body(self, model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """The request as JSON values."""
        return body(model, request, endpoint)

    def decoder(self, endpoint: Endpoint) -> OpenAIDecoder:
        """A reader for the answer."""
        return OpenAIDecoder(endpoint.name)


class OpenAIDecoder:
    """Reads one stream of chunks.

    Args:
        provider: whom what is opaque goes back to.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._started = self._refused = False
        self._calls = Calls(provider)
        self._details = Details()
        self._field = ''
        """What the provider calls its reasoning."""
        self._held = {'text': '', 'reasoning': ''}
        self.finish = ''
        self.ended = False
        self.usage: Usage | None = None

    @property
    def complete(self) -> bool:
        """Whether a finish reason or the end mark has come."""
        return bool(self.finish) or self.ended

    def feed(self, event: str, data: str) -> list[ModelEvent]:
        """Take the next chunk in."""
        if data.strip() == '[DONE]':
            self.ended = True
            return []
        chunk = parsed(data)
        inner = mapping(chunk.get('x_groq'))
        if event == 'error' or chunk.get('error') or chunk.get('object') == 'error':
            raise told_of(chunk)
        if inner.get('error'):
            raise told_of(inner)
        return list(self._events(chunk, inner))

    def completed(self) -> Completed:
        """The end, once it is complete."""
        reason: Literal['stop', 'tools', 'length', 'filter'] = REASONS.get(self.finish, 'stop')
        if self._refused:
            reason = 'filter'
        if reason == 'stop' and self._calls:
            reason = 'tools'
        return Completed(reason=reason, usage=self.usage or Usage(source='missing'), finish=self.finish)

    def last(self) -> list[ModelEvent]:
        """What goes back to the provider, known at the end only."""
        data: dict[str, Any] = {}
        if self._details:
            data['reasoning_details'] = self._details.whole()
        elif self._field == WANTED_BACK and self._calls:
            data['reasoning_field'] = self._field
        return [OpaquePiece(provider=self._provider, data=data)] if data else []

    def _events(self, chunk: dict[str, Any], inner: Any) -> Iterator[ModelEvent]:
        if not self._started:
            self._started = True
            yield Started(model=str(chunk.get('model') or ''), id=str(chunk.get('id') or ''))
        choices = chunk.get('choices')
        choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
        delta = mapping(choice.get('delta')) or mapping(choice.get('message'))
        if delta:
            yield from self._delta(delta)
        reported = chunk.get('usage') or inner.get('usage') or choice.get('usage')
        if isinstance(reported, dict):
            self.usage = usage_of(reported)
            yield UsageReport(usage=self.usage)
        if finish := choice.get('finish_reason'):
            self.finish = str(finish)
            if self.finish in FAILURES:
                raise ModelError(
                    f'it broke off: {self.finish}', kind='server', retryable=True, code=self.finish
                )

    def _delta(self, delta: Any) -> Iterator[ModelEvent]:
        for name in ('reasoning_content', 'reasoning'):
            if isinstance(thought := delta.get(name), str) and thought:
                self._field = name
                yield from self._say('reasoning', thought)
                break
        if isinstance(details := delta.get('reasoning_details'), list):
            self._details.add(details)
        yield from self._content(delta.get('content'))
        if isinstance(refusal := delta.get('refusal'), str) and refusal:
            self._refused = True
            yield from self._say('text', refusal)
        fragments = delta.get('tool_calls')
        for fragment in fragments if isinstance(fragments, list) else ():
            yield from self._calls.feed(mapping(fragment))

    def _content(self, content: Any) -> Iterator[ModelEvent]:
        if isinstance(content, str) and content:
            yield from self._say('text', content)
        elif isinstance(content, list):
            for part in content:
                yield from self._part(mapping(part))

    def _part(self, part: Any) -> Iterator[ModelEvent]:
        """Content that is a list of parts, as Mistral sends it."""
        if part.get('type') == 'thinking':
            inside = part.get('thinking')
            for item in inside if isinstance(inside, list) else [{'text': inside}]:
                yield from self._say('reasoning', str(mapping(item).get('text') or ''))
        elif part.get('text'):
            yield from self._say('text', str(part['text']))

    def _say(self, kind: Literal['text', 'reasoning'], text: str) -> Iterator[ModelEvent]:
        text, self._held[kind] = whole(self._held[kind] + text)
        if text:
            yield TextPiece(text=text) if kind == 'text' else ReasoningPiece(text=text)


def usage_of(reported: dict[str, Any]) -> Usage:
    """Tokens as chat completions count them: cached and reasoning tokens are parts of the others."""
    asked, said = (
        mapping(reported.get('prompt_tokens_details')),
        mapping(reported.get('completion_tokens_details')),
    )
    cached = asked.get('cached_tokens') or reported.get('prompt_cache_hit_tokens')
    return Usage(
        input=count(reported.get('prompt_tokens')),
        output=count(reported.get('completion_tokens')),
        calls=1,
        cached=count(cached),
        reasoning=count(said.get('reasoning_tokens')),
    )
