"""An agent's text and tool calls, collected from its updates until they are journaled."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acp import schema

from engine.errors import ModelError

FINAL = ('completed', 'failed')
MAX_STEP_TEXT = 4_000_000
"""Maximum characters of text and tool results between two journaled steps."""
MAX_TERMINAL_OUTPUT = 200_000
"""Maximum characters kept of the end of a terminal's output, unless the agent asks for less."""
OWN_OUTPUT = ('terminal_output', 'terminal_output_delta')
"""Fields with pieces of the output of an agent's own terminal. Codex sends a command's output only this way,
whatever the client's capabilities."""
OWN_EXIT = 'terminal_exit'
MAX_SESSION_CALLS = 2_000
"""Maximum number of tool calls in one session."""
NO_KIND = 'other'


@dataclass(slots=True)
class Piece:
    """Text or thinking received so far."""

    kind: Literal['text', 'reasoning']
    text: str
    shown: int = 0
    """How many of its characters have been streamed."""
    message: str | None = None
    """The message that its end belongs to, if the agent distinguishes its messages."""


@dataclass(slots=True)
class Call:
    """A tool call of the agent, as known so far."""

    id: str
    """The agent's own id."""
    since: float
    """When it began, by the event loop's time."""
    title: str = ''
    kind: str = NO_KIND
    status: str = 'pending'
    input: Any = None
    output: Any = None
    content: list[Any] = field(default_factory=list)
    locations: list[str] = field(default_factory=list)
    terminal_output: str = ''
    """The end of the output of the agent's own terminal."""
    exit_code: int = 0
    """The exit code of the command in that terminal."""
    permission: asyncio.Future[bool] | None = None
    """Set while it waits for an answer."""
    journaled: str = ''
    """Its id in the journal, once it is there."""

    @property
    def is_waiting(self) -> bool:
        """Whether a person still has to permit it."""
        return self.permission is not None and not self.permission.done()

    @property
    def has_ended(self) -> bool:
        """Whether it has completed or failed."""
        return self.status in FINAL

    @property
    def arguments(self) -> str:
        """Its arguments as JSON: the title, the files, and the arguments given by the agent."""
        input: dict[str, Any] = {'title': self.title} if self.title else {}
        if self.locations:
            input['files'] = self.locations
        if isinstance(self.input, dict):
            input |= {name: value for name, value in self.input.items() if name not in input}
        elif self.input not in (None, ''):
            input['input'] = self.input
        return json.dumps(input, ensure_ascii=False)

    def update(self, reported: schema.ToolCallStart | schema.ToolCallProgress | schema.ToolCallUpdate) -> int:
        """Apply an update; returns its approximate size in characters."""
        self.title = reported.title or self.title
        self.kind = reported.kind or self.kind
        if not self.has_ended:
            self.status = reported.status or self.status
        if reported.raw_input not in (None, {}):
            self.input = reported.raw_input
        if reported.raw_output is not None:
            self.output = reported.raw_output
        if reported.content is not None:
            self.content = list(reported.content)
        if reported.locations is not None:
            self.locations = [place.path for place in reported.locations]
        self._update_terminal(reported.field_meta or {})
        return len(repr(reported.content)) + len(repr(reported.raw_output))

    def _update_terminal(self, update: Mapping[str, Any]) -> None:
        for key in OWN_OUTPUT:
            if isinstance(piece := update.get(key), dict) and isinstance(piece.get('data'), str):
                self.terminal_output = (self.terminal_output + piece['data'])[-MAX_TERMINAL_OUTPUT:]
        if isinstance(ended := update.get(OWN_EXIT), dict) and isinstance(ended.get('exit_code'), int):
            self.exit_code = ended['exit_code']

    def result(self, terminal: dict[str, str]) -> str:
        """Return its result as text.

        Args:
            terminal: the output of the session's terminals, by id.
        """
        parts = [text for part in self.content if (text := _content(part, terminal))]
        if self.terminal_output:
            parts.append(self.terminal_output.removesuffix('\n'))
        if self.exit_code:
            parts.append(f'It ended with status {self.exit_code}.')
        if not parts and self.output is not None:
            parts = [_output(self.output)]
        return '\n'.join(parts)


@dataclass(slots=True)
class Turn:
    """Text and calls received since the last journaled step, in order."""

    parts: deque[Piece | Call] = field(default_factory=deque)
    calls: dict[str, Call] = field(default_factory=dict)
    """All calls of the session, by the agent's id."""
    plan: list[dict[str, str]] | None = None
    """The latest plan, if it has changed."""
    size: int = 0

    def add_text(self, kind: Literal['text', 'reasoning'], text: str, message: str | None = None) -> None:
        """Add a piece of text or thinking. Raises `ModelError` if there is too much.

        Args:
            kind: text or thinking.
            text: the piece.
            message: the message that it belongs to; another message starts a new paragraph.
        """
        last = self.parts[-1] if self.parts else None
        if not text:
            return
        if isinstance(last, Piece) and last.kind == kind:
            last.text += text if message == last.message else f'\n\n{text}'
            last.message = message
        else:
            self.parts.append(Piece(kind, text, message=message))
        self._count_size(len(text))

    def update_call(
        self, reported: schema.ToolCallStart | schema.ToolCallProgress | schema.ToolCallUpdate
    ) -> Call:
        """Add or update a call. Raises `ModelError` if there are too many."""
        call = self.calls.get(reported.tool_call_id)
        is_reused = isinstance(reported, schema.ToolCallStart) and call is not None and call.has_ended
        if call is None or is_reused:
            if len(self.calls) >= MAX_SESSION_CALLS:
                raise ModelError(
                    f'it has made more than {MAX_SESSION_CALLS:,} tool calls', kind='bad response'
                )
            call = Call(reported.tool_call_id, asyncio.get_running_loop().time())
            self.calls[call.id] = call
            self.parts.append(call)
        self._count_size(call.update(reported))
        return call

    def request_permission(self, call: Call, answer: asyncio.Future[bool]) -> None:
        """Make a call wait for permission; one that is already in the journal is added again."""
        if not call.journaled:
            call.permission = answer
            return
        again = Call(call.id, call.since, call.title, call.kind, input=call.input, locations=call.locations)
        again.permission = answer
        self.calls[call.id] = again
        self.parts.append(again)
        call.status = call.status if call.has_ended else 'completed'
        call.output = call.output or 'It asks for permission first.'

    def take_parts(self) -> list[Piece | Call]:
        """Remove and return everything up to the end of the first group of calls, or all if there is none."""
        taken: list[Piece | Call] = []
        seen = False
        while self.parts and not (seen and isinstance(self.parts[0], Piece)):
            part = self.parts.popleft()
            seen = seen or isinstance(part, Call)
            taken.append(part)
        self.size = sum(len(part.text) for part in self.parts if isinstance(part, Piece))
        return taken

    @property
    def first_call(self) -> Call | None:
        """The first call that is not journaled yet."""
        return next((part for part in self.parts if isinstance(part, Call)), None)

    def take_new_text(self) -> Iterator[tuple[str, Literal['text', 'reasoning']]]:
        """Yield the text before the first call that has not been streamed yet."""
        for part in self.parts:
            if isinstance(part, Call):
                return
            if part.shown < len(part.text):
                yield part.text[part.shown :], part.kind
                part.shown = len(part.text)

    def _count_size(self, size: int) -> None:
        self.size += size
        if self.size > MAX_STEP_TEXT:
            raise ModelError(
                f'it has written more than {MAX_STEP_TEXT:,} characters without finishing',
                kind='bad response',
            )


def text_of(block: Any) -> str:
    """Return the text of a content block, or a description of other kinds of blocks."""
    match block:
        case schema.TextContentBlock():
            return str(block.text)
        case schema.ResourceContentBlock():
            return f'[{block.name}]({block.uri})'
        case schema.EmbeddedResourceContentBlock():
            return str(getattr(block.resource, 'text', '') or f'[{block.resource.uri}]')
        case schema.ImageContentBlock():
            return f'[an image, {block.mime_type}]'
    return ''


def _content(part: Any, terminal: dict[str, str]) -> str:
    match part:
        case schema.ContentToolCallContent():
            return text_of(part.content)
        case schema.FileEditToolCallContent():
            was = len((part.old_text or '').splitlines())
            now = len(part.new_text.splitlines())
            return f'{part.path}: {f"{was} lines before, " if part.old_text else "new, "}{now} lines now'
        case schema.TerminalToolCallContent():
            return terminal.get(part.terminal_id, '')
    return ''


def _output(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get('output'), str):
        return str(value['output'])
    return json.dumps(value, ensure_ascii=False, indent=1)
