"""The OpenAI dialect (chat completions) and its variants: writes requests and reads streams."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from typing_extensions import override

from engine.models.endpoint import Endpoint
from engine.models.http.dialects.dialect import (
    Decoder,
    Dialect,
    amount,
    as_list,
    as_mapping,
    as_text,
    as_word,
    count_input,
    is_failure,
    join_surrogates,
    parse_object,
    token_count,
)
from engine.models.http.dialects.error_mapping import error_of_payload
from engine.models.http.dialects.reasoning import openai_fields, openai_problem
from engine.models.http.dialects.structured_output import (
    ANSWER,
    AnswerPlan,
    plan_answer,
    repair_arguments,
    strict_tool_schema,
)
from engine.models.http.dialects.tool_call_assembler import ToolCallAssembler
from engine.models.http.dialects.vision import RequestImages, data_url
from engine.models.protocol import (
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
from engine.records.message import Message, Opaque, Reasoning, ToolCall, ToolResult

RETURNED_FIELD = 'reasoning_content'
"""Providers that use this field name expect the reasoning back with the calls that followed it."""


ANTHROPIC_MODEL = re.compile(r'(^|/)claude-|^anthropic/')
"""Models that cache only what they are asked to cache, even behind a proxy such as OpenRouter."""


def bearer_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the key as a bearer token, unless it goes in another header."""
    if not endpoint.key:
        return {}
    if endpoint.key_header:
        return {endpoint.key_header: endpoint.key}
    return {'authorization': f'Bearer {endpoint.key}'}


class OpenAIDecoder(Decoder):
    """Decodes a stream of chunks or a whole completion."""

    dialect = 'openai'
    whole_fields = ('choices',)

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._refused = False
        self._calls = ToolCallAssembler(endpoint.name)
        self._details = ReasoningDetails()
        self._field = ''
        """The field in which the provider sends reasoning."""
        self._held = {'text': '', 'reasoning': ''}
        self._cost: float | None = None

    @override
    def feed(self, event: str, data: str) -> list[ModelEvent]:
        if data.strip() == '[DONE]':
            self.ended = True
            return []
        chunk = parse_object(data)
        self.refuse_others(chunk)
        inner = as_mapping(chunk.get('x_groq'))
        if event == 'error' or chunk.get('error') or chunk.get('object') == 'error':
            self.fail(error_of_payload(chunk))
        elif inner.get('error'):
            self.fail(error_of_payload(inner))
        elif 'choices' not in chunk and isinstance(chunk.get('detail') or chunk.get('message'), str):
            self.fail(error_of_payload(chunk))  # As web frameworks report errors.
        return self._decode_events(chunk, inner)

    def close(self) -> list[ModelEvent]:
        """Return the data to send back with the next request, then the end."""
        end = self.make_end(calls=bool(self._calls), cost=self._cost)
        nameless = list(self._calls.close())
        if self._refused:
            end = replace(end, reason='filter')
        data: dict[str, Any] = {}
        if self._details:
            data['reasoning_details'] = self._details.whole()
        elif self._field == RETURNED_FIELD and self._calls:
            data['reasoning_field'] = self._field
        return [*nameless, *([OpaquePiece(provider=self.provider, data=data)] if data else []), end]

    def _decode_events(self, chunk: dict[str, Any], inner: Any) -> list[ModelEvent]:
        events = list[ModelEvent]()
        if not self.begun and 'choices' in chunk:
            self.begun = True
            events.append(Started(model=as_word(chunk.get('model')), id=as_word(chunk.get('id'))))
        choice = _first_choice(chunk.get('choices'))
        if choice.get('error'):
            self.fail(error_of_payload(choice))
        delta = as_mapping(choice.get('delta')) or as_mapping(choice.get('message'))
        if delta:
            self._decode_delta(delta, events)
        reported = chunk.get('usage') or inner.get('usage') or choice.get('usage')
        if isinstance(reported, dict):
            self.usage = parse_usage(reported)
            self._cost = parse_cost(reported)
            events.append(UsageReport(usage=self.usage))
        if finish := as_word(choice.get('finish_reason')):
            native = as_word(choice.get('native_finish_reason'))  # OpenRouter calls some failures `stop`.
            self.finish_with(native if finish == 'stop' and is_failure(native) else finish)
        return events

    def _decode_delta(self, delta: Any, events: list[ModelEvent]) -> None:
        """Add the events of a choice's new content."""
        for name in ('reasoning_content', 'reasoning'):
            if isinstance(thought := delta.get(name), str) and thought:
                self._field = name
                self._add_text('reasoning', thought, events)
                break
        if isinstance(details := delta.get('reasoning_details'), list):
            self._details.add(details)
            if not (delta.get('reasoning_content') or delta.get('reasoning')):
                for detail in details:
                    self._add_text('reasoning', _readable(as_mapping(detail)), events)
        self._decode_content(delta.get('content'), events)
        if isinstance(refusal := delta.get('refusal'), str) and refusal:
            self._refused = True
            self._add_text('text', refusal, events)
        calls = delta.get('tool_calls')
        for fragment in [calls] if isinstance(calls, dict) else as_list(calls):
            events += self._calls.feed(as_mapping(fragment))
        if isinstance(legacy := delta.get('function_call'), dict):
            events += self._calls.feed({'index': 0, 'function': legacy})

    def _decode_content(self, content: Any, events: list[ModelEvent]) -> None:
        if isinstance(content, list):
            for part in content:
                if isinstance(part, str):
                    self._add_text('text', part, events)
                else:
                    self._decode_part(as_mapping(part), events)
        elif isinstance(content, dict) and ('type' in content or not content):
            self._decode_part(content, events)
        else:
            self._add_text('text', as_text(content), events)

    def _decode_part(self, part: Any, events: list[ModelEvent]) -> None:
        """Content as a list of parts, as Mistral sends it."""
        if part.get('type') == 'thinking':
            inside = part.get('thinking')
            for item in inside if isinstance(inside, list) else [{'text': inside}]:
                self._add_text('reasoning', str(as_mapping(item).get('text') or ''), events)
        elif part.get('text'):
            self._add_text('text', str(part['text']), events)

    def _add_text(self, kind: Literal['text', 'reasoning'], text: str, events: list[ModelEvent]) -> None:
        if not text:
            return
        text, self._held[kind] = join_surrogates(self._held[kind] + text)
        if text:
            events.append(TextPiece(text=text) if kind == 'text' else ReasoningPiece(text=text))


def _first_choice(choices: Any) -> Mapping[str, Any]:
    """Return the choice with index 0; with several choices, chunks come in any order."""
    listed = map(as_mapping, as_list(choices))
    return next((choice for choice in listed if str(choice.get('index') or 0) == '0'), {})


def _readable(detail: Mapping[str, Any]) -> str:
    text = detail.get('text') or detail.get('summary')
    return text if isinstance(text, str) else ''


def parse_cost(reported: Mapping[str, Any]) -> float | None:
    """Parse the cost in dollars, if reported: OpenRouter sends a number, Perplexity an object."""
    price = reported.get('cost')
    cost = amount(price.get('total_cost') if isinstance(price, dict) else price)
    if cost is not None and cost > MAX_DOLLARS:
        return None
    if cost is not None and reported.get('is_byok'):  # With the user's own key, the cost is only the fee.
        cost += amount(as_mapping(reported.get('cost_details')).get('upstream_inference_cost')) or 0.0
    return cost


MAX_DOLLARS = 100_000
"""Maximum plausible cost of one call."""


def parse_usage(reported: dict[str, Any]) -> Usage:
    """Parse usage as Chat Completions counts it: input includes cached, output includes reasoning tokens."""
    input_details, output = (
        as_mapping(reported.get('prompt_tokens_details')),
        as_mapping(reported.get('completion_tokens_details')),
    )
    cached = token_count(input_details.get('cached_tokens') or reported.get('prompt_cache_hit_tokens'))
    read, written = token_count(reported.get('prompt_tokens')), token_count(reported.get('completion_tokens'))
    # OpenRouter and LiteLLM include cache writes, which cost more, in the input.
    cache_written = token_count(
        input_details.get('cache_write_tokens') or reported.get('cache_creation_input_tokens')
    )
    reasoning = token_count(output.get('reasoning_tokens'))
    # xAI and Google count reasoning in the total only.
    apart = token_count(reported.get('total_tokens')) - read - written
    if apart > 0 and apart != cached and reasoning in (0, apart):
        written, reasoning = written + apart, apart
    read = count_input(read, cached)
    cache_written = min(cache_written, read - cached)
    return Usage(
        input=read, output=written, calls=1, cached=cached, written=cache_written, reasoning=reasoning
    )


ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'


def _build_body(model: str, request: ModelRequest, endpoint: Endpoint, effort: str) -> dict[str, Any]:
    # OpenRouter routes to providers that cannot force a tool while thinking.
    thinks = effort not in ('', 'none') and endpoint.reasoning == 'object'
    plan = plan_answer(request, endpoint, model, thinks=thinks)
    request_images = RequestImages.of(request, model, endpoint)
    body: dict[str, Any] = {
        'model': model,
        'messages': [
            item for message in plan.messages for item in _messages(message, endpoint, request_images)
        ],
        'stream': True,
    }
    if endpoint.usage_option:
        body['stream_options'] = {'include_usage': True}
    if plan.tools:
        body['tools'] = [_tool(tool, endpoint) for tool in plan.tools]
        body['tool_choice'] = _choice(plan)
    if plan.schema is not None:
        body['response_format'] = {
            'type': 'json_schema',
            'json_schema': {'name': ANSWER, 'schema': plan.schema, 'strict': plan.strict},
        }
    limit = request.most_tokens or endpoint.most_tokens
    options = {
        endpoint.limit_field: limit,
        'temperature': request.temperature,
        'seed': request.seed,
        'stop': list(request.stop) or None,
    }
    body |= {name: value for name, value in options.items() if value is not None}
    body |= openai_fields(effort, endpoint)
    if endpoint.cache != 'off' and ANTHROPIC_MODEL.search(model):
        body['cache_control'] = {'type': 'ephemeral', 'ttl': endpoint.cache}
    return body | dict(endpoint.body)


def _tool(tool: ToolSpec, endpoint: Endpoint) -> dict[str, Any]:
    exact = strict_tool_schema(tool.schema) if endpoint.strict_tools and tool.nullable else None
    function = {
        'name': tool.name,
        'description': tool.description,
        'parameters': exact or dict(tool.schema),
    }
    return {'type': 'function', 'function': function | ({'strict': True} if exact else {})}


def _choice(plan: AnswerPlan) -> Any:
    if plan.choice in ('auto', 'none', 'required'):
        return plan.choice
    return {'type': 'function', 'function': {'name': plan.choice}}


def _messages(
    message: Message, endpoint: Endpoint, request_images: RequestImages
) -> Iterator[dict[str, Any]]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        text = result.text if result.ok else f'Error: {result.text}'
        yield {'role': 'tool', 'tool_call_id': _id(result.id, endpoint), 'content': text}
    if images := request_images.results(message):
        yield {'role': 'user', 'content': list(_image_messages(results, images))}
    if results:
        return
    converted: dict[str, Any] = {'role': message.role, 'content': message.text}
    if calls := [_call(call, endpoint) for call in message.calls]:
        converted['tool_calls'] = calls
        converted['content'] = message.text or None
    for part in message.parts:
        if isinstance(part, Opaque) and part.provider == endpoint.name:
            _restore_opaque(part, message, converted)
    if message.role != 'assistant' or message.calls or message.text.strip():  # Some reject empty messages.
        yield converted


def _image_messages(
    results: list[ToolResult], images: Mapping[str, list[tuple[str, str]]]
) -> Iterator[dict[str, Any]]:
    """Yield the images of tool results as content of a user message: tool messages hold only text."""
    for result in results:
        if result_images := images.get(result.id):
            yield {'type': 'text', 'text': f'What {result.name} has returned as an image:'}
            for image in result_images:
                yield {'type': 'image_url', 'image_url': {'url': data_url(*image)}}


def _restore_opaque(part: Opaque, message: Message, converted: dict[str, Any]) -> None:
    """Restore opaque data in a message to the provider it came from."""
    data = dict(part.data)
    if 'reasoning_field' in data:
        thoughts = [item.text for item in message.parts if isinstance(item, Reasoning)]
        converted[data['reasoning_field']] = ''.join(thoughts)
    elif 'call' in data and data['call'] < len(converted.get('tool_calls', ())):
        converted['tool_calls'][data['call']]['extra_content'] = data['extra_content']
    # Anthropic rejects reasoning alone.
    elif 'reasoning_details' in data and (converted['content'] or message.calls):
        converted['reasoning_details'] = data['reasoning_details']


def _call(call: ToolCall, endpoint: Endpoint) -> dict[str, Any]:
    function = {'name': call.name, 'arguments': repair_arguments(call.arguments)}
    return {'id': _id(call.id, endpoint), 'type': 'function', 'function': function}


def _id(ident: str, endpoint: Endpoint) -> str:
    """Our own id, or nine letters and digits derived from it deterministically."""
    if not endpoint.short_ids:
        return ident
    digest = hashlib.sha256(ident.encode()).digest()
    return ''.join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:9])


GROWING = ('text', 'summary', 'data')


class ReasoningDetails:
    """Reasoning details, assembled from fragments with the same index and type."""

    def __init__(self) -> None:
        self._whole: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []
        """For each detail, the pieces of its growing fields."""

    def __bool__(self) -> bool:
        return bool(self._whole)

    def add(self, fragments: list[Any]) -> None:
        """Append fragments; those of the same index and type continue the last detail."""
        for fragment in fragments:
            if not isinstance(fragment, dict):
                continue
            last = self._whole[-1] if self._whole else {}
            if not last or any(last.get(name) != fragment.get(name) for name in ('index', 'type')):
                self._whole.append(last := dict(fragment))
                self._pieces.append({})
            for name, value in fragment.items():
                if name in GROWING and isinstance(value, str):
                    self._pieces[-1].setdefault(name, []).append(value)
                elif value is not None:
                    last[name] = value

    def whole(self) -> list[dict[str, Any]]:
        """Return the details with their texts joined, to be sent back with the next request."""
        pairs = zip(self._whole, self._pieces, strict=True)
        return [detail | {name: ''.join(texts) for name, texts in pieces.items()} for detail, pieces in pairs]


OPENAI = Dialect(
    path=lambda model: '/chat/completions',
    headers=bearer_headers,
    build_body=_build_body,
    effort_problem=openai_problem,
    decoder=OpenAIDecoder,
)
"""The Chat Completions API."""
