"""Requests of the OpenAI dialect: messages, tools and the form of the answer as JSON values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from engine.message import Message, Opaque, Reasoning, ToolCall, ToolResult
from engine.model import ModelRequest, ToolSpec
from engine.wire.endpoint import Endpoint
from engine.wire.structure import ANSWER, Plan, arguments_text, plan_of, strict_arguments

ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'


def body(model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """The request as JSON values."""
    plan = plan_of(request, endpoint)
    made: dict[str, Any] = {
        'model': model,
        'messages': [item for message in plan.messages for item in _messages(message, endpoint)],
        'stream': True,
    }
    if endpoint.usage_option:
        made['stream_options'] = {'include_usage': True}
    if plan.tools:
        made['tools'] = [_tool(tool, endpoint) for tool in plan.tools]
        made['tool_choice'] = _choice(plan)
    if plan.schema is not None:
        made['response_format'] = {
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
    made |= {name: value for name, value in options.items() if value is not None}
    return made | dict(endpoint.body)


def _tool(tool: ToolSpec, endpoint: Endpoint) -> dict[str, Any]:
    exact = strict_arguments(tool.schema) if endpoint.strict_tools and tool.nullable else None
    function = {
        'name': tool.name,
        'description': tool.description,
        'parameters': exact or dict(tool.schema),
    }
    return {'type': 'function', 'function': function | ({'strict': True} if exact else {})}


def _choice(plan: Plan) -> Any:
    if plan.choice in ('auto', 'none', 'required'):
        return plan.choice
    return {'type': 'function', 'function': {'name': plan.choice}}


def _messages(message: Message, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        text = result.text if result.ok else f'Error: {result.text}'
        yield {'role': 'tool', 'tool_call_id': _id(result.id, endpoint), 'content': text}
    if results:
        return
    made: dict[str, Any] = {'role': message.role, 'content': message.text}
    if calls := [_call(call, endpoint) for call in message.calls]:
        made['tool_calls'] = calls
        made['content'] = message.text or None
    for part in message.parts:
        if isinstance(part, Opaque) and part.provider == endpoint.name:
            _put_back(part, message, made)
    yield made


def _put_back(part: Opaque, message: Message, made: dict[str, Any]) -> None:
    """Return to a provider what it sent to be returned."""
    data = dict(part.data)
    if 'reasoning_field' in data:
        thoughts = [item.text for item in message.parts if isinstance(item, Reasoning)]
        made[data['reasoning_field']] = ''.join(thoughts)
    elif 'call' in data and data['call'] < len(made.get('tool_calls', ())):
        made['tool_calls'][data['call']]['extra_content'] = data['extra_content']
    elif 'reasoning_details' in data:
        made['reasoning_details'] = data['reasoning_details']


def _call(call: ToolCall, endpoint: Endpoint) -> dict[str, Any]:
    function = {'name': call.name, 'arguments': arguments_text(call.arguments)}
    return {'id': _id(call.id, endpoint), 'type': 'function', 'function': function}


def _id(ident: str, endpoint: Endpoint) -> str:
    """Our own id, or nine letters and digits made from it, the same each time."""
    if not endpoint.short_ids:
        return ident
    digest = hashlib.sha256(ident.encode()).digest()
    return ''.join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:9])
