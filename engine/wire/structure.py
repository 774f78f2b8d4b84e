"""Structured answers: how each endpoint is asked for one, and schemas as strict providers want them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.message import Message
from engine.model import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    ModelRequest,
    TextPiece,
    ToolSpec,
)
from engine.wire.endpoint import Endpoint

ANSWER = 'final_answer'
"""The name of the tool, or of the schema, that takes a structured answer."""
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
"""Keywords that one strict provider or another refuses; the agent checks the answer against all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A request with its schema turned into what the endpoint understands."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    choice: str
    schema: dict[str, Any] | None = None
    """For the endpoint's own way; None where it goes another."""
    strict: bool = True


def plan_of(request: ModelRequest, endpoint: Endpoint) -> Plan:
    """Choose the way of asking for a structured answer."""
    plan = Plan(messages=request.messages, tools=request.tools, choice=request.choice)
    if request.schema is None:
        return plan
    way = endpoint.structure
    if way == 'schema alone':
        way = 'tool' if request.tools else 'schema'
    if way == 'schema':
        exact = strict(request.schema)
        return replace(plan, schema=exact or dict(request.schema), strict=exact is not None)
    if way == 'tool':
        answer = ToolSpec(
            name=ANSWER,
            description='Give the final answer with this, and in no other way.',
            schema=request.schema,
        )
        choice = ANSWER if not request.tools else 'required' if request.choice == 'auto' else request.choice
        return replace(plan, tools=(*request.tools, answer), choice=choice)
    wish = (
        'When you give your final answer, give it as one JSON object and nothing else. '
        'It must fit this JSON schema:\n' + json.dumps(dict(request.schema), ensure_ascii=False)
    )
    return replace(plan, messages=_told(request.messages, wish))


class Unwrapped:
    """Turns the call of the tool that takes the answer back into the answer."""

    def __init__(self) -> None:
        self._answers: set[int] = set()
        self._others = False

    def turn(self, event: ModelEvent) -> ModelEvent | None:
        """The event as it would be if the answer had been said plainly."""
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


def strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema with every property required and no others allowed; None where it means to allow others."""
    try:
        made = _strict(dict(schema))
    except _NotStrict:
        return None
    return made if isinstance(made, dict) else None


def strict_arguments(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A tool's schema as `strict` makes it; what may be left out may be null instead."""
    required = schema.get('required', ())
    properties = {
        name: field if name in required else {'anyOf': [_bare(field), {'type': 'null'}], **_told_of(field)}
        for name, field in schema.get('properties', {}).items()
    }
    return strict({**schema, 'properties': properties})


def _bare(field: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != 'description'}


def _told_of(field: Mapping[str, Any]) -> dict[str, Any]:
    return {'description': field['description']} if 'description' in field else {}


def arguments_of(text: str) -> dict[str, Any]:
    """A call's arguments as the object that providers want back, even where the model wrote no such thing."""
    try:
        value = json.loads(text or '{}')
    except (ValueError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {'arguments': value}


def arguments_text(text: str) -> str:
    """The same as text; untouched where it is sound."""
    try:
        sound = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        sound = False
    return text if sound else json.dumps(arguments_of(text), ensure_ascii=False)


class _NotStrict(Exception):
    pass


def _strict(value: Any) -> Any:
    if isinstance(value, list):
        return [_strict(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = dict(_keyword(name, item) for name, item in value.items() if name not in UNKNOWN_TO_STRICT)
    if made.get('type') == 'object':
        if value.get('additionalProperties') not in (None, False) or 'properties' not in made:
            raise _NotStrict
        made['additionalProperties'] = False
        made['required'] = list(made['properties'])
    elif 'prefixItems' in made or not made:
        raise _NotStrict
    return made


def _keyword(name: str, item: Any) -> tuple[str, Any]:
    if name in ('properties', '$defs', 'definitions'):
        return name, {inner: _strict(schema) for inner, schema in item.items()}
    if name in ('const', 'enum'):
        return 'enum', item if name == 'enum' else [item]
    return 'anyOf' if name == 'oneOf' else name, _strict(item)


def _told(messages: tuple[Message, ...], wish: str) -> tuple[Message, ...]:
    """The messages with a wish in the instructions."""
    if messages and messages[0].role == 'system':
        first = Message.of('system', f'{messages[0].text}\n\n{wish}')
        return (first, *messages[1:])
    return (Message.of('system', wish), *messages)
