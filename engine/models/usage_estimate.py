"""Estimates token usage from character counts when a provider reports none."""

from __future__ import annotations

import json

from engine.models.protocol import ModelRequest
from engine.records.message import Image, Message, Opaque, Part, ToolCall
from engine.records.usage import Usage

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English, also given by OpenAI ("What are tokens and how to count them?"); code and
other languages take more tokens, so the estimate is low for them."""

IMAGE_TOKENS = 1_500
"""Approximate tokens that Anthropic counts for an image of a million pixels."""


def estimate_usage(request: ModelRequest, replied: int) -> Usage:
    """Estimate the usage of one call.

    Args:
        request: its messages, tools and schema count as input.
        replied: characters of output: text, reasoning and call arguments.
    """
    sent = sum(map(message_length, request.messages))
    sent += sum(spec.length for spec in request.tools)
    sent += len(json.dumps(dict(request.schema))) if request.schema else 0
    return Usage(input=_tokens(sent), output=_tokens(replied), calls=1, source='estimated')


def message_length(message: Message) -> int:
    """Return the length of a message in characters."""
    return sum(map(_length, message.parts))


def _length(part: Part) -> int:
    if isinstance(part, Image):
        return IMAGE_TOKENS * CHARACTERS_A_TOKEN
    if isinstance(part, Opaque):
        return len(json.dumps(dict(part.data)))
    return len(part.name) + len(part.arguments) if isinstance(part, ToolCall) else len(part.text)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
