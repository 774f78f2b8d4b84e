"""Structured answers: how to ask each endpoint for one, and schemas as strict providers want them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.models.endpoint import Bounds, Endpoint
from engine.models.http.dialects.dialect import as_mapping
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    ModelRequest,
    TextPiece,
    ToolSpec,
)
from engine.records.message import Message

ANSWER = 'final_answer'
"""Name of the tool or schema that carries a structured answer."""
UNKNOWN_TO_STRICT = frozenset(
    {
        'default',
        'examples',
        'title',
        'minLength',
        'maxLength',
        'minItems',
        'maxItems',
        'uniqueItems',
        'minimum',
    }
    | {'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'pattern', 'format', 'minProperties'}
    | {'maxProperties', 'discriminator'}
)
"""Keywords that some strict providers reject; the agent still validates the answer against all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """A request with its schema translated into a form that the endpoint supports."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    choice: str
    schema: dict[str, Any] | None = None
    """For the endpoint's own schema parameter; None if the schema is sent in another way."""
    strict: bool = True


NUMBERS = frozenset(
    {'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems'}
)
HELD: dict[Bounds, frozenset[str]] = {
    'none': frozenset(),
    'numbers': NUMBERS,
    'all': NUMBERS | {'minLength', 'maxLength'},
}
"""Schema bounds to keep, by what the endpoint enforces."""
TAKES_SCHEMA = re.compile(
    r'(opus-4-[1-9]|(sonnet|haiku)-4-[5-9]|(opus|sonnet|haiku|fable|mythos)-[5-9])(?!\d)'
)
"""Matches the names of Anthropic models with structured outputs."""


def plan_answer(request: ModelRequest, endpoint: Endpoint, model: str, *, thinks: bool = False) -> AnswerPlan:
    """Choose how to ask for a structured answer; `thinks` means that the request asks for thinking."""
    thinks = thinks or as_mapping(endpoint.body.get('thinking')).get('type', 'disabled') != 'disabled'
    # A tool cannot be forced with thinking enabled.
    wished = 'auto' if thinks and request.choice != 'none' else request.choice
    plan = AnswerPlan(messages=request.messages, tools=request.tools, choice=wished)
    if request.schema is None:
        return plan
    method = endpoint.structure
    if method == 'schema alone':
        method = 'tool' if request.tools else 'schema'
    if method == 'by model':
        method = 'schema' if TAKES_SCHEMA.search(model) else 'tool'
    if method == 'schema':
        exact = strict_schema(request.schema, endpoint.bounds)
        return replace(plan, schema=exact or dict(request.schema), strict=exact is not None)
    if method == 'tool':
        answer = ToolSpec(
            name=ANSWER,
            description='Give your final answer only by calling this tool.',
            schema=request.schema,
        )
        forced = ANSWER if not request.tools else 'required' if wished == 'auto' else wished
        return replace(plan, tools=(*request.tools, answer), choice=wished if thinks else forced)
    instruction = (
        'Give your final answer as one JSON object and nothing else. It must match this JSON schema:\n'
        + json.dumps(dict(request.schema), ensure_ascii=False)
    )
    return replace(plan, messages=_add_request(request.messages, instruction))


class AnswerUnwrapper:
    """Turns the call of the answer tool back into a plain answer."""

    def __init__(self) -> None:
        self._answers: set[int] = set()
        self._others = False

    def turn(self, event: ModelEvent) -> ModelEvent | None:
        """Return the event as if the answer were plain text; None to drop it."""
        match event:
            case CallStarted(index=index, name=name):
                if name == ANSWER:
                    self._answers.add(index)
                    return None
                self._others = True
            case ArgumentPiece(index=index, text=text) if index in self._answers:
                return TextPiece(text=text)
            case Completed(reason='tools') if self._answers and not self._others:
                return replace(event, reason='stop')
        return event


def strict_schema(schema: Mapping[str, Any], bounds: Bounds = 'none') -> dict[str, Any] | None:
    """Return the schema with all properties required and no others; None if it must allow others."""
    try:
        strict = _strict(dict(schema), UNKNOWN_TO_STRICT - HELD[bounds])
    except _NotStrict:
        return None
    return strict if isinstance(strict, dict) else None


def strict_tool_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a tool's schema as from `strict_schema`, with optional arguments made nullable."""
    required = schema.get('required', ())
    properties = {
        name: field
        if name in required
        else {'anyOf': [_bare(field), {'type': 'null'}], **_description(field)}
        for name, field in schema.get('properties', {}).items()
    }
    return strict_schema({**schema, 'properties': properties})


def _bare(field: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != 'description'}


def _description(field: Mapping[str, Any]) -> dict[str, Any]:
    return {'description': field['description']} if 'description' in field else {}


def decode_arguments(text: str) -> dict[str, Any]:
    """Parse a call's arguments into the object providers require, even if the model wrote something else."""
    try:
        value = json.loads(text or '{}')
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {'arguments': value}


def repair_arguments(text: str) -> str:
    """Repair JSON text; valid JSON is returned unchanged."""
    try:
        sound = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        sound = False
    return text if sound else json.dumps(decode_arguments(text), ensure_ascii=False)


class _NotStrict(Exception):
    pass


def _strict(value: Any, dropped: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_strict(item, dropped) for item in value]
    if not isinstance(value, dict):
        return value
    strict = dict(_keyword(name, item, dropped) for name, item in value.items() if name not in dropped)
    if strict.get('type') == 'object':
        if value.get('additionalProperties') not in (None, False) or 'properties' not in strict:
            raise _NotStrict
        strict['additionalProperties'] = False
        strict['required'] = list(strict['properties'])
    elif 'prefixItems' in strict or not strict:
        raise _NotStrict
    return strict


def _keyword(name: str, item: Any, dropped: frozenset[str]) -> tuple[str, Any]:
    if name in ('properties', '$defs', 'definitions'):
        return name, {inner: _strict(schema, dropped) for inner, schema in item.items()}
    if name in ('const', 'enum'):
        return 'enum', item if name == 'enum' else [item]
    return 'anyOf' if name == 'oneOf' else name, _strict(item, dropped)


def _add_request(messages: tuple[Message, ...], instruction: str) -> tuple[Message, ...]:
    if messages and messages[0].role == 'system':
        first = Message.of('system', f'{messages[0].text}\n\n{instruction}')
        return (first, *messages[1:])
    return (Message.of('system', instruction), *messages)
