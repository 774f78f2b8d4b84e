"""Messages exchanged between models and agents, made of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text or Markdown; untrusted."""

    text: str
    kind: Literal['text'] = 'text'


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """Reasoning that a model has exposed."""

    text: str
    kind: Literal['reasoning'] = 'reasoning'


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request to call a tool. `id` is the engine's; `arguments` stays text until the tool runs."""

    id: str
    name: str
    arguments: str
    kind: Literal['call'] = 'call'


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of the tool call `id`."""

    id: str
    name: str
    text: str
    ok: bool = True
    kind: Literal['result'] = 'result'


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image in a tool's result; its bytes are stored with the run's files, not in the journal."""

    media_type: str
    digest: str
    call: str = ''
    """The id of the tool call whose result it belongs to."""
    kind: Literal['image'] = 'image'


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """Provider-specific content, returned unchanged with the next request."""

    provider: str
    data: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal['opaque'] = 'opaque'


Part = Text | Reasoning | ToolCall | ToolResult | Image | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal['system', 'user', 'assistant', 'tool']
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, role: Literal['system', 'user', 'assistant', 'tool'], text: str) -> Message:
        """Return a message with a single text part."""
        return cls(role=role, parts=(Text(text=text),))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return ''.join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def message_of(data: Mapping[str, Any]) -> Message:
    """Read a message as stored in an event or in a view's data."""
    return MESSAGE.validate_python(data)
