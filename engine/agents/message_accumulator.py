"""MessageAccumulator: combines the events of a model's stream into one message."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import ModelError
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    OpaquePiece,
    ReasoningPiece,
    Started,
    TextPiece,
    TextWasReasoning,
    UsageReport,
)
from engine.records import Usage
from engine.records.message import Message, Opaque, Part, Reasoning, Text, ToolCall


class MessageAccumulator:
    """Combines a stream's events into one message, with its parts in the order in which they began.

    Args:
        model: the real model that errors name.
    """

    def __init__(self, model: str = '') -> None:
        self._model = model
        self._blocks: list[tuple[type[Text | Reasoning], list[str]] | Opaque | int] = []
        """Texts, opaque blocks, and the indexes of calls."""
        self._calls: dict[int, tuple[str, list[str]]] = {}
        self.started = Started()
        self.usage: Usage | None = None
        """The last report; the final usage once the stream is complete."""
        self.completed: Completed | None = None

    def add(self, event: ModelEvent) -> None:
        """Add the next event of the stream to the message."""
        match event:
            case TextPiece(text=text):
                self._append_text(Text, text)
            case ReasoningPiece(text=text):
                self._append_text(Reasoning, text)
            case TextWasReasoning():
                self._blocks = [
                    (Reasoning, block[1]) if isinstance(block, tuple) else block for block in self._blocks
                ]
            case CallStarted(index=index, name=name):
                self._calls[index] = (name, [])
                self._blocks.append(index)
            case ArgumentPiece(index=index, text=text):
                self._calls[index][1].append(text)
            case OpaquePiece(provider=provider, data=data):
                self._blocks.append(Opaque(provider=provider, data=data))
            case UsageReport(usage=usage):
                self.usage = usage
            case Started():
                self.started = event
            case Completed():
                self.completed, self.usage = event, event.usage

    def message(self, call_id: str) -> Message:
        """Return the whole reply; call ids are derived from `call_id`, since providers repeat or omit theirs.

        Raises:
            ModelError: the stream ended without its end mark, or the provider withheld the reply.
        """
        if self.completed is None:
            problem = f'{self._named}the answer was cut short'
            raise ModelError(problem, kind='truncated', retryable=True, usage=self.usage)
        message = Message(role='assistant', parts=tuple(self._parts(call_id)))
        if self.completed.reason == 'filter':
            text = message.text.strip()[:MAX_REFUSED]
            problem = (
                f'{self._named}the provider withheld the answer ({self.completed.finish or "content filter"})'
            )
            raise ModelError(
                f'{problem}: {text}' if text else problem, kind='content filter', usage=self.usage
            )
        return message

    @property
    def _named(self) -> str:
        return f'{self._model}: ' if self._model else ''

    def partial_message(self) -> Message:
        """Return the reply so far, complete or not; its calls have no unique ids."""
        return Message(role='assistant', parts=tuple(self._parts('')))

    def _append_text(self, kind: type[Text | Reasoning], text: str) -> None:
        last = self._blocks[-1] if self._blocks else None
        if isinstance(last, tuple) and last[0] is kind:
            last[1].append(text)
        elif text:
            self._blocks.append((kind, [text]))

    def _parts(self, call_id: str) -> Iterator[Part]:
        for block in self._blocks:
            if isinstance(block, Opaque):
                yield block
            elif isinstance(block, int):
                name, pieces = self._calls[block]
                # Empty means no arguments; any other invalid JSON is for the agent to correct.
                arguments = ''.join(pieces) or '{}'
                yield ToolCall(id=f'{call_id}-{block + 1}', name=name, arguments=arguments)
            else:
                kind, texts = block
                yield kind(text=''.join(texts))


MAX_REFUSED = 500
"""Maximum number of characters quoted from the text a provider sent instead of an answer."""
