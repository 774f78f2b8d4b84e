"""Requests of the Anthropic dialect: blocks in turns, instructions apart, a limit always."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.message import Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from engine.model import ModelRequest
from engine.wire.endpoint import Endpoint
from engine.wire.structure import Plan, arguments_of, plan_of

MOST_TOKENS = 8_192
"""The dialect wants a limit; this is one that every current model takes."""


def body(model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """The request as JSON values."""
    plan = plan_of(request, endpoint)
    made: dict[str, Any] = {
        'model': model,
        'max_tokens': request.most_tokens or endpoint.most_tokens or MOST_TOKENS,
        'messages': _turns(plan.messages, endpoint),
        'stream': True,
    }
    if instructions := [message.text for message in plan.messages if message.role == 'system']:
        made['system'] = '\n\n'.join(instructions)
    if plan.tools:
        made['tools'] = [
            {'name': tool.name, 'description': tool.description, 'input_schema': dict(tool.schema)}
            for tool in plan.tools
        ]
        made['tool_choice'] = _choice(plan)
    if plan.schema is not None:
        made['output_config'] = {'format': {'type': 'json_schema', 'schema': plan.schema}}
    if request.temperature is not None:
        made['temperature'] = request.temperature
    if request.stop:
        made['stop_sequences'] = list(request.stop)
    return made | dict(endpoint.body)


def _choice(plan: Plan) -> dict[str, str]:
    named = {'auto': 'auto', 'none': 'none', 'required': 'any'}.get(plan.choice)
    return {'type': named} if named else {'type': 'tool', 'name': plan.choice}


def _turns(messages: tuple[Message, ...], endpoint: Endpoint) -> list[dict[str, Any]]:
    """Messages as turns that alternate, for results of tools are the user's, too."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = list(_blocks(message, endpoint)) if message.role != 'system' else []
        role = 'assistant' if message.role == 'assistant' else 'user'
        if blocks and turns and turns[-1]['role'] == role:
            turns[-1]['content'] += blocks
        elif blocks:
            turns.append({'role': role, 'content': blocks})
    return turns


def _blocks(message: Message, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    thought = ''
    for part in message.parts:
        match part:
            case Text(text=text) if text.strip():  # The dialect refuses blocks without a text.
                yield {'type': 'text', 'text': text}
            case ToolCall():
                yield {
                    'type': 'tool_use',
                    'id': part.id,
                    'name': part.name,
                    'input': arguments_of(part.arguments),
                }
            case ToolResult():
                shown = {'content': part.text} if part.text else {}
                failed = {} if part.ok else {'is_error': True}
                yield {'type': 'tool_result', 'tool_use_id': part.id, **shown, **failed}
            case Opaque(provider=provider, data=data) if provider == endpoint.name:
                yield {**data, 'thinking': thought} if data.get('type') == 'thinking' else dict(data)
        thought = part.text if isinstance(part, Reasoning) else ''
