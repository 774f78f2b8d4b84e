"""Google's own dialect (generateContent): writes requests and reads streams of parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote

from typing_extensions import override

from engine.errors import ModelError
from engine.models.endpoint import Endpoint
from engine.models.http.dialects.dialect import (
    Decoder,
    Dialect,
    as_list,
    as_mapping,
    as_word,
    count_input,
    join_surrogates,
    parse_object,
    refuse_many,
    token_count,
)
from engine.models.http.dialects.error_mapping import error_of_payload
from engine.models.http.dialects.reasoning import google_problem, google_thinking
from engine.models.http.dialects.streamed_arguments import StreamedArguments
from engine.models.http.dialects.structured_output import decode_arguments, plan_answer
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

CHECKS_SIGNATURES = re.compile(r'gemini-([3-9]|\d\d)')
"""Models that reject calls without a signature, and accept images inside a tool's result."""
UNSIGNED = 'skip_thought_signature_validator'
"""Google's placeholder for the signature of a call that another model made."""
UNSUPPORTED_IMAGES = frozenset({'image/gif'})
MODES = {'auto': 'AUTO', 'none': 'NONE', 'required': 'ANY'}
SERVER_SIDE = ('executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse')
"""Parts of tools that Google runs itself; they are sent back unchanged."""


def _path(model: str) -> str:
    """Return the model's streaming method."""
    name = model if '/' in model else f'models/{model}'
    return f'/{quote(name)}:streamGenerateContent?alt=sse'


def _headers(endpoint: Endpoint) -> dict[str, str]:
    return {endpoint.key_header or 'x-goog-api-key': endpoint.key} if endpoint.key else {}


def _listed_models(answer: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the models that generate text."""
    models = answer.get('models')
    if not isinstance(models, list):
        return None
    return [
        as_word(model.get('name')).removeprefix('models/')
        for model in map(as_mapping, models)
        if 'generateContent' in as_list(model.get('supportedGenerationMethods', ['generateContent']))
    ]


class GeminiDecoder(Decoder):
    """Decodes an event stream, a list of its events, or a whole answer."""

    dialect = 'gemini'
    whole_fields = ('candidates', 'promptFeedback')

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._calls = 0
        self._open_call: StreamedArguments | None = None
        self._name = ''
        """The arguments of a call that has not ended, and its name."""
        self._held = {'text': '', 'thought': ''}
        self._counted: dict[str, Any] = {}
        """Usage as reported so far; the numbers are cumulative."""

    @override
    def feed(self, event: str, data: str) -> list[ModelEvent]:
        payload = parse_object(data)
        self.refuse_others(payload)
        if event == 'error' or payload.get('error'):
            self.fail(error_of_payload(payload))
        return list(self._decode_events(payload))

    def close(self) -> list[ModelEvent]:
        """End the answer. Raises `ModelError` if it broke off in a call."""
        if self._open_call and self.failure is None:
            self.fail(ModelError('it broke off in a call of a tool', kind='truncated', retryable=True))
        return [self.make_end(calls=bool(self._calls))]

    def _decode_events(self, payload: Mapping[str, Any]) -> Iterator[ModelEvent]:
        feedback = as_mapping(payload.get('promptFeedback'))
        blocked = as_word(feedback.get('blockReason'))
        candidates = as_list(payload.get('candidates'))
        if not self.begun and (candidates or blocked):
            self.begun = True
            yield Started(model=as_word(payload.get('modelVersion')), id=as_word(payload.get('responseId')))
        yield from self._update_usage(as_mapping(payload.get('usageMetadata')))
        if blocked:
            yield from self._emit_text('text', feedback.get('blockReasonMessage'))
            self.finish_with(f'content_filter: {blocked}')
        first = next((c for c in map(as_mapping, candidates) if str(c.get('index') or 0) == '0'), {})
        for part in as_list(as_mapping(first.get('content')).get('parts')):
            yield from self._decode_part(as_mapping(part))
        self._note_finish(as_word(first.get('finishReason')), first.get('finishMessage'))

    def _note_finish(self, word: str, message: Any) -> None:
        if word and word != 'FINISH_REASON_UNSPECIFIED':
            self.finish_with(word)
            if self.failure is not None and self.failure.code == word and isinstance(message, str):
                problem = f'it broke off: {word}: {as_word(message)[:MAX_REASON]}'
                self.fail(ModelError(problem, kind='server', retryable=True, code=word))

    def _update_usage(self, reported: Mapping[str, Any]) -> Iterator[ModelEvent]:
        self._counted |= {name: value for name, value in reported.items() if value is not None}
        if reported:
            self.usage = parse_usage(self._counted)
            yield UsageReport(usage=self.usage)

    def _decode_part(self, part: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Yield the content of a part, then the opaque data to send back with it."""
        back: dict[str, Any] = {}
        thinks = part.get('thought') is True
        call, text = part.get('functionCall'), part.get('text')
        if isinstance(call, dict):
            back['of'] = 'call'
            if ident := as_word(call.get('id')):
                back['id'] = ident
            yield from self._emit_call(call, ident)
        elif isinstance(text, str):
            back['of'] = 'thought' if thinks else 'text' if text else 'nothing'
            yield from self._emit_text('thought' if thinks else 'text', text)
        elif any(name in part for name in SERVER_SIDE):
            yield OpaquePiece(provider=self.provider, data={'part': dict(part)})
            return
        signature = part.get('thoughtSignature')
        if isinstance(signature, str) and signature:
            back['signature'] = signature
        if 'signature' in back or 'id' in back:
            yield OpaquePiece(provider=self.provider, data={'of': 'nothing', **back})

    def _emit_call(self, call: Mapping[str, Any], ident: str) -> Iterator[ModelEvent]:
        name = as_word(call.get('name'))
        if self._open_call and name not in ('', self._name):
            yield from self._end_call()
        if self._open_call is None:
            self._name = name
            refuse_many(self._calls)
            yield CallStarted(index=self._calls, name=name, id=ident)
            self._open_call = StreamedArguments(call.get('args'))
            self._calls += 1
        self._open_call.add(as_list(call.get('partialArgs')))
        if call.get('willContinue') is not True:
            yield from self._end_call()

    def _end_call(self) -> Iterator[ModelEvent]:
        if self._open_call and (text := self._open_call.text):
            yield ArgumentPiece(index=self._calls - 1, text=join_surrogates(text)[0])
        self._open_call = None

    def _emit_text(self, kind: Literal['text', 'thought'], text: Any) -> Iterator[ModelEvent]:
        if not isinstance(text, str) or not text:
            return
        text, self._held[kind] = join_surrogates(self._held[kind] + text)
        if text:
            yield TextPiece(text=text) if kind == 'text' else ReasoningPiece(text=text)


MAX_REASON = 500
"""Maximum characters quoted of the reason for a failure."""


def parse_usage(counted: Mapping[str, Any]) -> Usage:
    """Parse usage as Google counts it: the prompt includes cached tokens, the answer excludes thoughts."""
    thoughts = token_count(counted.get('thoughtsTokenCount'))
    prompt, tools = counted.get('promptTokenCount'), counted.get('toolUsePromptTokenCount')
    cached = token_count(counted.get('cachedContentTokenCount'))
    return Usage(
        input=count_input(prompt, cached) + token_count(tools),
        output=token_count(counted.get('candidatesTokenCount')) + thoughts,
        calls=1,
        cached=cached,
        reasoning=thoughts,
    )


def _build_body(model: str, request: ModelRequest, endpoint: Endpoint, effort: str) -> dict[str, Any]:
    plan = plan_answer(request, endpoint, model)
    thinking = google_thinking(model, effort)
    limit = request.most_tokens or endpoint.most_tokens
    body: dict[str, Any] = {
        'contents': _contents(plan.messages, model, endpoint, RequestImages.of(request, model, endpoint))
    }
    if instructions := [message.text for message in plan.messages if message.role == 'system']:
        body['systemInstruction'] = {'parts': [{'text': '\n\n'.join(instructions)}]}
    if plan.tools:
        declared = [
            {'name': tool.name, 'description': tool.description, 'parametersJsonSchema': dict(tool.schema)}
            for tool in plan.tools
        ]
        body['tools'] = [{'functionDeclarations': declared}]
        named = {} if plan.choice in MODES else {'allowedFunctionNames': [plan.choice]}
        calling = {'mode': MODES.get(plan.choice, 'ANY'), **named}
        body['toolConfig'] = {'functionCallingConfig': calling}
    options = {
        # The limit includes the thoughts.
        'maxOutputTokens': limit and limit + thinking.budget,
        'temperature': request.temperature,
        'seed': request.seed,
        'stopSequences': list(request.stop) or None,
        'responseMimeType': 'application/json' if plan.schema is not None else None,
        'responseJsonSchema': plan.schema,
        'thinkingConfig': thinking.thinking,
    }
    more = dict(endpoint.body)
    generation = {name: value for name, value in options.items() if value is not None}
    if config := generation | dict(as_mapping(more.pop('generationConfig', None))):
        body['generationConfig'] = config
    return body | more


def _contents(
    messages: tuple[Message, ...], model: str, endpoint: Endpoint, request_images: RequestImages
) -> list[dict[str, Any]]:
    """Convert messages to turns; tool results become user turns that hold nothing else."""
    idents: dict[str, str] = {}
    turns: list[dict[str, Any]] = []
    kinds: list[str] = []
    for message in messages:
        if message.role == 'system':
            continue
        if message.role == 'assistant':
            parts = _reply_parts(message, model, endpoint, idents)
        elif message.role == 'tool':
            parts = list(_results(message, model, request_images, idents))
        else:
            parts = [{'text': part.text} for part in message.parts if isinstance(part, Text) and part.text]
        if parts and kinds and kinds[-1] == message.role:
            turns[-1]['parts'] += parts
        elif parts:
            turns.append({'role': 'model' if message.role == 'assistant' else 'user', 'parts': parts})
            kinds.append(message.role)
    return turns


def _reply_parts(
    message: Message, model: str, endpoint: Endpoint, idents: dict[str, str]
) -> list[dict[str, Any]]:
    """Convert a reply to parts with their opaque data; adds the provider's ids of its calls to `idents`."""
    parts: list[dict[str, Any]] = []
    before: Text | Reasoning | ToolCall | None = None
    for part in message.parts:
        match part:
            case Text(text=text) if text:
                parts.append({'text': text})
            case ToolCall():
                call = {'name': part.name, 'args': decode_arguments(part.arguments)}
                parts.append({'functionCall': call})
            case Opaque(provider=provider, data=data) if provider == endpoint.name:
                _attach_opaque(data, before, parts, idents)
        before = part if isinstance(part, Text | Reasoning | ToolCall) else None
    calls = [part for part in parts if 'functionCall' in part]
    if calls and CHECKS_SIGNATURES.search(model) and not any('thoughtSignature' in part for part in calls):
        calls[0]['thoughtSignature'] = UNSIGNED
    return parts


def _attach_opaque(
    data: Mapping[str, Any],
    before: Text | Reasoning | ToolCall | None,
    parts: list[dict[str, Any]],
    idents: dict[str, str],
) -> None:
    """Attach opaque data to the part it came with."""
    signed = {'thoughtSignature': data['signature']} if 'signature' in data else {}
    match data.get('of'), before:
        case 'call', ToolCall(id=ours):
            parts[-1] |= signed
            if 'id' in data:
                idents[ours] = parts[-1]['functionCall']['id'] = data['id']
        case 'text', Text():
            parts[-1] |= signed
        case 'thought', Reasoning(text=text):
            parts.append({'text': text, 'thought': True, **signed})
        case 'nothing', _:
            parts.append({'text': '', **signed})
        case _ if 'part' in data:
            parts.append(dict(data['part']))


def _results(
    message: Message, model: str, request_images: RequestImages, idents: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield tool results with their images inside or, for older models, after all results."""
    images, later = request_images.results(message), []
    for part in message.parts:
        if not isinstance(part, ToolResult):
            continue
        ident = {'id': idents[part.id]} if part.id in idents else {}
        answer: dict[str, Any] = {'name': part.name, **ident}
        answer['response'] = {'output' if part.ok else 'error': part.text}
        image_parts = [
            {'inlineData': {'mimeType': media_type, 'data': data}}
            for media_type, data in images.get(part.id, ())
            if media_type not in UNSUPPORTED_IMAGES
        ]
        if image_parts and CHECKS_SIGNATURES.search(model):
            answer['parts'] = image_parts
        else:
            later += image_parts
        yield {'functionResponse': answer}
    yield from later


GEMINI = Dialect(
    path=_path,
    headers=_headers,
    build_body=_build_body,
    effort_problem=google_problem,
    decoder=GeminiDecoder,
    models_path='/models?pageSize=1000',
    listed_models=_listed_models,
)
"""The Gemini API."""
