"""The interface of a dialect: path, headers, request body and event decoder."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, Protocol

import orjson

from engine.errors import ModelError
from engine.models.http.endpoint import Endpoint
from engine.models.protocol import Completed, ModelEvent, ModelRequest
from engine.records import Usage

Reason = Literal['stop', 'tools', 'length', 'filter']
REASONS: dict[str, Reason] = {
    'length': 'length',
    'model_length': 'length',
    'max_tokens': 'length',
    'max_output_tokens': 'length',
    'model_context_window_exceeded': 'length',
    'refusal': 'filter',
    'safety': 'filter',
    'recitation': 'filter',
    'blocklist': 'filter',
    'prohibited_content': 'filter',
    'sensitive': 'filter',
    'tool_use': 'tools',
}
"""Providers' finish reasons; any not listed means that the answer is complete."""
FAILED_FINISH = re.compile(r'error|fail|malformed|abort|cancel|insufficient|timeout|timed_out|unavailable')
"""Matches finish reasons that report a failure: the answer is incomplete."""


class Decoder(ABC):
    """Decodes one answer: a stream of events or a single JSON object.

    Args:
        provider: the provider that opaque data goes back to.
    """

    whole_fields: tuple[str, ...]
    """A whole answer, sent as one JSON object, has at least one of these fields."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.finish = ''
        """The provider's word for why it stopped."""
        self.begun = False
        """Whether anything of an answer has come."""
        self.ended = False
        """Whether the end mark has come: nothing follows."""
        self.failure: ModelError | None = None
        """The error that the provider has told of; its usage may still follow."""
        self.usage: Usage | None = None
        """What the provider has reported up to now."""

    @abstractmethod
    def feed(self, event: str, data: str) -> list[ModelEvent]:
        """Process the next event or a whole answer. Raises `ModelError` if it cannot be parsed."""

    @abstractmethod
    def close(self) -> list[ModelEvent]:
        """The final events of a complete answer. Raises `ModelError` if it reported a failure."""

    @property
    def complete(self) -> bool:
        """Whether the answer is complete: a finish reason, the end mark or an error has arrived."""
        return bool(self.finish) or self.ended or self.failure is not None

    def finish_with(self, word: str) -> None:
        """Record the provider's finish reason."""
        self.finish = word
        if FAILED_FINISH.search(word.lower()):
            self.fail(ModelError(f'it broke off: {word}', kind='server', retryable=True, code=word))

    def fail(self, error: ModelError) -> None:
        """Record an error from the provider; a more specific error replaces a vaguer one."""
        if self.failure is None or self.failure.code == self.finish:
            self.failure = error

    def completed(self, *, calls: bool, cost: float | None = None) -> Completed:
        """The event that ends the answer. Raises `ModelError` if the answer failed or is empty."""
        if self.failure is not None:
            raise self.failure
        if not self.begun:
            raise ModelError('it ended its answer without saying anything', kind='truncated', retryable=True)
        word = self.finish.lower()
        reason = 'filter' if word.startswith('content_filter') else REASONS.get(word, 'stop')
        if reason == 'stop' and calls:
            reason = 'tools'
        usage = self.usage or Usage(source='missing')
        return Completed(reason=reason, usage=usage, finish=self.finish, cost=cost)


class Dialect(Protocol):
    """A provider API dialect."""

    path: str
    """Appended to the endpoint's URL."""

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Headers sent with every request, including the key."""

    def body(self, model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """The request as JSON values."""

    def effort_problem(self, model: str, effort: str, endpoint: Endpoint) -> str:
        """Why a model does not take a reasoning effort, or ''."""

    def decoder(self, endpoint: Endpoint) -> Decoder:
        """A decoder for the answer."""


def parse_object(data: str) -> dict[str, Any]:
    """Parse an event's JSON object. Raises `ModelError`."""
    try:
        value = orjson.loads(data)
    except ValueError:
        try:
            value = json.loads(data)  # Accepts what the fast parser does not: lone surrogates, NaN.
        except (ValueError, RecursionError):
            raise unreadable_error(data) from None
    if not isinstance(value, dict):
        raise unreadable_error(data)
    return value


def unreadable_error(data: str) -> ModelError:
    """The error for data that does not follow the dialect."""
    shown = data if len(data) <= MOST_SHOWN else f'{data[:MOST_SHOWN]}…'
    return ModelError(f'it sent what cannot be read: {shown!r}', kind='bad response', retryable=True)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty mapping; some providers send null."""
    return value if isinstance(value, dict) else {}


def token_count(value: Any) -> int:
    """Parse a token count; some providers send null, floats or strings."""
    number = amount(value)
    return int(number) if number is not None else 0


def amount(value: Any) -> float | None:
    """A non-negative number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def join_surrogates(text: str) -> tuple[str, str]:
    """Join surrogate pairs; returns the text and a trailing lone surrogate that awaits its other half."""
    held = ''
    if text and '\ud800' <= text[-1] <= '\udbff':
        text, held = text[:-1], text[-1]
    if any('\ud800' <= char <= '\udfff' for char in text):
        text = text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
    return text, held


MOST_SHOWN = 300
"""Maximum characters shown of an unreadable answer."""
