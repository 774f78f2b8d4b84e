"""Tells parallel tool calls apart, whatever a provider makes of their indexes, ids and names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.model import ArgumentPiece, CallStarted, ModelEvent, OpaquePiece
from engine.wire.dialect import mapping, whole


@dataclass(slots=True, kw_only=True)
class Slot:
    """One call as far as it has come."""

    place: int
    index: int | None
    id: str
    name: str = ''
    arguments: list[str] = field(default_factory=list)
    held: str = ''
    """Half a character that waits for its other half."""
    named_again: bool = False
    """Its name has come once more after its end: the same again, or the head of another call of this tool."""

    @property
    def full(self) -> bool:
        """Whether its arguments are a whole object, to which nothing can be added."""
        try:
            return isinstance(orjson.loads(''.join(self.arguments)), dict)
        except ValueError:
            return False


class Calls:
    """The tool calls of one stream of the OpenAI dialect.

    By the book, a fragment names its call by `index`, and the first one brings `id` and `name`. In the wild
    the index is missing or always 0, ids are missing, empty, repeated or made anew, and names come each time.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._slots: list[Slot] = []

    def __bool__(self) -> bool:
        return bool(self._slots)

    def feed(self, fragment: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Take one fragment of a call."""
        function = mapping(fragment.get('function'))
        name = function.get('name') or ''
        arguments = function.get('arguments')
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        text = arguments if isinstance(arguments, str) else ''
        slot = self._slot(fragment.get('index'), str(fragment.get('id') or ''), name, text)
        if slot.named_again and text:  # It was the head of another.
            slot.named_again, name = False, slot.name
            slot = Slot(place=len(self._slots), index=slot.index, id=slot.id)
            self._slots.append(slot)
        elif name and name == slot.name and not text and slot.full:
            slot.named_again = True
        if name and not slot.name:
            slot.name = name
            yield CallStarted(index=slot.place, name=name, id=slot.id)
            if slot.arguments:
                yield ArgumentPiece(index=slot.place, text=''.join(slot.arguments))
        if text:
            text, slot.held = whole(slot.held + text)
            slot.arguments.append(text)
            if slot.name and text:
                yield ArgumentPiece(index=slot.place, text=text)
        if extra := fragment.get('extra_content'):  # A signature, without which the next request is refused.
            yield OpaquePiece(provider=self._provider, data={'call': slot.place, 'extra_content': extra})

    def _slot(self, index: Any, ident: str, name: str, text: str) -> Slot:
        index = index if isinstance(index, int) else None
        near = self._slots if index is None else [slot for slot in self._slots if slot.index == index]
        same = [slot for slot in near if ident and slot.id == ident]
        known = (same or near)[-1] if near else None
        if known is None or _begins(known, ident, name, text):
            known = Slot(place=len(self._slots), index=index, id=ident)
            self._slots.append(known)
        return known


def _begins(known: Slot, ident: str, name: str, text: str) -> bool:
    """Whether a fragment, by all but its index one of `known`, is the first of another call."""
    if not name or not known.name:
        return False
    other_id = bool(ident) and bool(known.id) and ident != known.id
    return other_id or name != known.name or (bool(text) and known.full)
