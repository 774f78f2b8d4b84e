"""AnswerEvents: what every dialect's answers pass, between its decoder and the caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.errors import ModelError
from engine.models.answer_text import AnswerText
from engine.models.http.dialects.structured_output import AnswerUnwrapper
from engine.models.http.dialects.written_calls import read_written_call
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelEvent,
    Started,
    TextPiece,
    ToolSpec,
    UsageReport,
)

CALLS = frozenset({'tool_calls', 'tool_use', 'function_call'})
"""Finish reasons that announce tool calls."""


class AnswerEvents:
    """Separates reasoning and calls from the text of one answer, and unwraps the call of the answer tool.

    Args:
        tools: the tools offered.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = tools
        self._text, self._unwrapper = AnswerText(), AnswerUnwrapper()
        self._calls = 0

    def turn(self, event: ModelEvent) -> Iterable[ModelEvent]:
        """Return what an event of the decoder means.

        Raises:
            ModelError: the answer ends to call a tool, but calls none.
        """
        if isinstance(event, UsageReport | Started):
            return (event,)
        if isinstance(event, TextPiece) and self._text.is_plain(event.text):
            return (event,)
        return self._turn(event)

    def _turn(self, event: ModelEvent) -> Iterator[ModelEvent]:
        for separated in self._separate(event):
            if turned := self._unwrapper.turn(separated):
                yield turned

    def _separate(self, event: ModelEvent) -> Iterator[ModelEvent]:
        match event:
            case TextPiece(text=text):
                yield from self._text.feed(text)
            case Completed():
                yield from self._text.close()
                yield from self._complete(event)
            case ArgumentPiece():
                yield event
            case _:
                if isinstance(event, CallStarted):
                    self._calls = max(self._calls, event.index + 1)
                yield from self._text.flush()
                yield event

    def _complete(self, end: Completed) -> Iterator[ModelEvent]:
        for call in self._text.calls:
            for name, arguments in read_written_call(call, self._tools):
                yield CallStarted(index=self._calls, name=name)
                yield ArgumentPiece(index=self._calls, text=arguments)
                self._calls += 1
        if not self._calls and end.finish.lower() in CALLS:
            problem = f'it ended its answer to call a tool ({end.finish}), but called none'
            raise ModelError(problem, kind='bad response', retryable=True, usage=end.usage)
        yield replace(end, reason='tools') if self._calls and end.reason == 'stop' else end
