"""Assembles parallel tool calls from fragments, whatever providers do to indexes, ids and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.models.http.dialects.dialect import (
    as_mapping,
    as_text,
    as_word,
    join_surrogates,
    refuse_many,
)
from engine.models.protocol import ArgumentPiece, CallStarted, ModelEvent, OpaquePiece

MARKS = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
"""Tokens that decide where a JSON value ends."""


@dataclass(slots=True, kw_only=True)
class PartialCall:
    """A call as received so far."""

    place: int
    index: int | None
    id: str
    name: str = ''
    arguments: list[str] = field(default_factory=list)
    held: str = ''
    """A lone surrogate that awaits its other half."""
    named_again: bool = False
    """The name came again after the call's end: a repetition, or the start of another call of this tool."""

    scanned: int = 0
    """How many argument pieces `full` has scanned; the fields below are its state after them."""
    depth: int = 0
    opened: bool = False
    """Whether any bracket has been opened."""
    spoiled: bool = False
    """Whether the brackets closed around something other than an object; more pieces cannot repair it."""
    inside: bool = False
    """Whether the scan is inside a string."""
    split: str = ''
    """The first half of an escape sequence, split at the end of a piece."""

    @property
    def full(self) -> bool:
        """Whether the arguments are a complete object, to which nothing can be added.

        Called for each fragment if names repeat, so each piece is scanned once, and the whole is parsed only
        when all brackets are closed.
        """
        for piece in self.arguments[self.scanned :]:
            text = self.split + piece
            self.split = '\\' * ((len(text) - len(text.rstrip('\\'))) % 2)
            for mark in MARKS.findall(text.removesuffix(self.split)):
                if mark == '"':
                    self.inside = not self.inside
                elif not self.inside and len(mark) == 1:
                    self.depth += 1 if mark in '{[' else -1
                    self.opened = True
        self.scanned = len(self.arguments)
        if self.inside or self.depth or self.spoiled or not self.opened:
            return False
        try:
            self.spoiled = not isinstance(orjson.loads(''.join(self.arguments)), dict)
        except ValueError:
            self.spoiled = True
        return not self.spoiled


class ToolCallAssembler:
    """Assembles the tool calls of one OpenAI-dialect stream.

    By the spec, a fragment names its call by `index`, and the first one has `id` and `name`. In practice
    the index may be missing or always 0, ids missing, empty, repeated or new each time, and names repeated.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._slots: list[PartialCall] = []

    def __bool__(self) -> bool:
        return any(slot.name or slot.arguments for slot in self._slots)

    def close(self) -> Iterator[ModelEvent]:
        """Yield the calls that have arguments but never got a name, for the model to be told."""
        for slot in self._slots:
            if slot.arguments and not slot.name:
                yield CallStarted(index=slot.place, name='', id=slot.id)
                yield ArgumentPiece(index=slot.place, text=''.join(slot.arguments))

    def _add(self, index: int | None, ident: str) -> PartialCall:
        refuse_many(len(self._slots))
        self._slots.append(partial_call := PartialCall(place=len(self._slots), index=index, id=ident))
        return partial_call

    def feed(self, fragment: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Add one fragment of a call; yield what is new."""
        function = as_mapping(fragment.get('function'))
        name = as_word(function.get('name'))
        text = as_text(function.get('arguments'))
        slot = self._slot(fragment.get('index'), as_word(fragment.get('id')), name, text)
        if slot.named_again and text:  # It was the start of another call.
            slot.named_again, name = False, slot.name
            slot = self._add(slot.index, slot.id)
        elif name and name == slot.name and not text and slot.full:
            slot.named_again = True
        if name and not slot.name:
            slot.name = name
            yield CallStarted(index=slot.place, name=name, id=slot.id)
            if slot.arguments:
                yield ArgumentPiece(index=slot.place, text=''.join(slot.arguments))
        if text:
            text, slot.held = join_surrogates(slot.held + text)
            slot.arguments.append(text)
            if slot.name and text:
                yield ArgumentPiece(index=slot.place, text=text)
        if extra := fragment.get('extra_content'):  # A signature; without it the next request is rejected.
            yield OpaquePiece(provider=self._provider, data={'call': slot.place, 'extra_content': extra})

    def _slot(self, index: Any, ident: str, name: str, text: str) -> PartialCall:
        index = index if isinstance(index, int) else None
        near = self._slots if index is None else [slot for slot in self._slots if slot.index == index]
        same = [slot for slot in near if ident and slot.id == ident]
        partial_call = (same or near)[-1] if near else None
        if partial_call is None or _begins(partial_call, ident, name, text):
            partial_call = self._add(index, ident)
        return partial_call


def _begins(previous: PartialCall, ident: str, name: str, text: str) -> bool:
    """Return whether a fragment with the index of `previous` starts a new call, by its other fields."""
    if not name or not previous.name:
        return False
    other_id = bool(ident) and bool(previous.id) and ident != previous.id
    return other_id or name != previous.name or (bool(text) and previous.full)
