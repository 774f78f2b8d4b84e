"""What models and agents say to each other: messages made of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text or Markdown; untrusted."""

    text: str
    kind: Literal['text'] = 'text'


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """Thinking that a model chose to show."""

    text: str
    kind: Literal['reasoning'] = 'reasoning'


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model asks for a tool. `id` is the engine's own; `arguments` stays text until the tool is run."""

    id: str
    name: str
    arguments: str
    kind: Literal['call'] = 'call'


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave back to the call `id`."""

    id: str
    name: str
    text: str
    ok: bool = True
    kind: Literal['result'] = 'result'


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """Something of a provider's that goes back to it unchanged with the next request."""

    provider: str
    data: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal['opaque'] = 'opaque'


Part = Text | Reasoning | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal['system', 'user', 'assistant', 'tool']
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, role: Literal['system', 'user', 'assistant', 'tool'], text: str) -> Message:
        """A message that is nothing but text."""
        return cls(role=role, parts=(Text(text=text),))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return ''.join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))
