"""Estimates usage where a provider gives none: by characters, and marked as an estimate."""

from __future__ import annotations

import json

from engine.budgets.spent import Usage
from engine.message import Message, Opaque, Part, ToolCall
from engine.model import ModelRequest

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English that OpenAI gives too ("What are tokens and how to count them?"); code and
other languages take more tokens, so the estimate is rather too low there."""


def estimated(request: ModelRequest, said: int) -> Usage:
    """The usage of one call.

    Args:
        request: its messages, tools and schema are what was read.
        said: characters that were written: text, thinking and the arguments of calls.
    """
    asked = sum(map(length, request.messages))
    asked += sum(len(spec.description) + len(json.dumps(dict(spec.schema))) for spec in request.tools)
    asked += len(json.dumps(dict(request.schema))) if request.schema else 0
    return Usage(input=_tokens(asked), output=_tokens(said), calls=1, source='estimated')


def length(message: Message) -> int:
    """Characters of a message that a model reads or wrote."""
    return sum(map(_length, message.parts))


def _length(part: Part) -> int:
    if isinstance(part, Opaque):
        return len(json.dumps(dict(part.data)))
    return len(part.name) + len(part.arguments) if isinstance(part, ToolCall) else len(part.text)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
