"""What a dialect is to the client: a path, headers, the body of a request, and a decoder of events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from engine.errors import ModelError
from engine.model import Completed, ModelEvent, ModelRequest
from engine.records import Usage
from engine.wire.endpoint import Endpoint


class Decoder(Protocol):
    """Reads one stream."""

    @property
    def complete(self) -> bool:
        """Whether a finish reason or the end mark has come: all that is needed is there."""

    @property
    def ended(self) -> bool:
        """Whether the end mark has come: nothing follows."""

    @property
    def usage(self) -> Usage | None:
        """What the provider has reported up to now."""

    def feed(self, event: str, data: str) -> list[ModelEvent]:
        """Take the next event in. Raises `ModelError` for one that tells of an error, or is none."""

    def last(self) -> list[ModelEvent]:
        """What can be told at the end only."""

    def completed(self) -> Completed:
        """The end, once it is complete."""


class Dialect(Protocol):
    """One way of speaking with models."""

    path: str

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """What goes along with each request, the key among it."""

    def body(self, model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """The request as JSON values."""

    def decoder(self, endpoint: Endpoint) -> Decoder:
        """A reader for the answer."""


def parsed(data: str) -> dict[str, Any]:
    """The JSON object in an event. Raises `ModelError`."""
    try:
        value = orjson.loads(data)
    except ValueError:
        try:
            value = json.loads(data)  # Takes what the fast one does not: halves of emoji, NaN.
        except (ValueError, RecursionError):
            raise unreadable(data) from None
    if not isinstance(value, dict):
        raise unreadable(data)
    return value


def unreadable(data: str) -> ModelError:
    """The provider sent something that is not the dialect."""
    shown = data if len(data) <= MOST_SHOWN else f'{data[:MOST_SHOWN]}…'
    return ModelError(f'it sent what cannot be read: {shown!r}', kind='bad response', retryable=True)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object; nothing otherwise, for providers send null for it."""
    return value if isinstance(value, dict) else {}


def count(value: Any) -> int:
    """A number of tokens; providers send null for it, too."""
    return value if isinstance(value, int) and value > 0 else 0


def whole(text: str) -> tuple[str, str]:
    """The text with the halves of emoji put together, and a half at its end that waits for the other."""
    held = ''
    if text and '\ud800' <= text[-1] <= '\udbff':
        text, held = text[:-1], text[-1]
    if any('\ud800' <= char <= '\udfff' for char in text):
        text = text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
    return text, held


MOST_SHOWN = 300
"""Characters of an unreadable answer that are shown."""
