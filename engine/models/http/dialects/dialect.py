"""The interface of a dialect: path, headers, request body and event decoder."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import orjson

from engine.errors import ModelError
from engine.models.endpoint import DialectName, Endpoint
from engine.models.protocol import Completed, ModelEvent, ModelRequest
from engine.records import Usage
from engine.records.jsonable import clip

Reason = Literal['stop', 'tools', 'length', 'filter']
REASONS: dict[str, Reason] = {
    'length': 'length',
    'model_length': 'length',
    'max_tokens': 'length',
    'max_output_tokens': 'length',
    'token_limit': 'length',
    'pause_turn': 'length',
    'continuation': 'length',
    'model_context_window_exceeded': 'length',
    'refusal': 'filter',
    'safety': 'filter',
    'recitation': 'filter',
    'blocklist': 'filter',
    'prohibited_content': 'filter',
    'sensitive': 'filter',
    'spii': 'filter',
    'image_safety': 'filter',
    'image_prohibited_content': 'filter',
    'image_recitation': 'filter',
    'model_armor': 'filter',
    'escalation': 'filter',
    'pup_limited_disabled': 'filter',
    'language': 'filter',
    'guardrail_intervened': 'filter',
    'tool_use': 'tools',
}
"""Providers' finish reasons; any not listed means that the answer is complete."""
FAILED_FINISH = re.compile(
    r'error|fail|malformed|abort|cancel|insufficient|timeout|timed_out|unavailable|unfinished|not_finished'
    r'|overload|interrupt|rate_limit|unexpected_tool|too_many_tool|missing_thought|no_image|image_other'
    r'|^(other|incomplete|in_progress|queued|time_limit)$'
)
"""Matches finish reasons that report a failure: the answer is incomplete."""


def reason_for(finish: str) -> Reason:
    """Return why an answer ended, from the provider's finish reason."""
    word = finish.lower()
    return 'filter' if word.startswith('content_filter') else REASONS.get(word, 'stop')


def is_failure(finish: str) -> bool:
    """Return whether a provider's finish reason says that the answer is incomplete."""
    return FAILED_FINISH.search(finish.lower()) is not None


class Decoder(ABC):
    """Decodes one answer: a stream of events or a single JSON object.

    Args:
        endpoint: where it comes from; opaque data goes back there.
    """

    dialect: ClassVar[DialectName]
    whole_fields: tuple[str, ...]
    """A whole answer, sent as one JSON object, has at least one of these fields."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.provider = endpoint.name
        self.finish = ''
        """The provider's finish reason."""
        self.begun = False
        """Whether any part of an answer has arrived."""
        self.ended = False
        """Whether the end marker has arrived, after which nothing follows."""
        self.failure: ModelError | None = None
        """The error reported by the provider; usage may still follow."""
        self.usage: Usage | None = None
        """The usage reported so far."""

    @abstractmethod
    def feed(self, event: str, data: str) -> list[ModelEvent]:
        """Process the next event or a whole answer. Raises `ModelError` if it cannot be parsed."""

    @abstractmethod
    def close(self) -> list[ModelEvent]:
        """Return the final events of a complete answer. Raises `ModelError` if it reported a failure."""

    def refuse_others(self, payload: Mapping[str, Any]) -> None:
        """Raise `ModelError` if an event is of another dialect."""
        kind = str(payload.get('type') or '')
        dialect = (
            'anthropic' if kind == 'message_start' else 'responses' if kind == 'response.created' else ''
        )
        dialect = dialect or (
            'openai' if 'choices' in payload else 'gemini' if 'candidates' in payload else ''
        )
        if dialect and dialect != self.dialect:
            problem = f'it answers in the dialect {dialect!r}, not {self.dialect!r}: is `dialect` right?'
            raise ModelError(problem, kind='bad response')

    @property
    def complete(self) -> bool:
        """Whether the answer is complete: a finish reason, the end marker or an error has arrived."""
        return bool(self.finish) or self.ended or self.failure is not None

    def finish_with(self, word: str) -> None:
        """Record the provider's finish reason, unless an earlier one was more specific."""
        word = word[:MAX_EXCERPT]
        if is_failure(word):
            self.finish = word
            self.fail(ModelError(f'it broke off: {word}', kind='server', retryable=True, code=word))
        elif reason_for(self.finish) not in ('length', 'filter') or reason_for(word) != 'stop':
            self.finish = word

    def fail(self, error: ModelError) -> None:
        """Record an error from the provider; a more specific error replaces a vaguer one."""
        if self.failure is None or self.failure.code == self.finish:
            self.failure = error

    def make_end(self, *, calls: bool, cost: float | None = None) -> Completed:
        """Return the event that ends the answer. Raises `ModelError` if the answer failed or is empty."""
        if self.failure is not None:
            raise self.failure
        if not self.begun:
            raise ModelError('its answer ended without any content', kind='truncated', retryable=True)
        reason = reason_for(self.finish)
        if reason == 'stop' and calls:
            reason = 'tools'
        usage = self.usage or Usage(source='missing')
        return Completed(reason=reason, usage=usage, finish=self.finish, cost=cost)


def _list_data(answer: Mapping[str, Any]) -> list[str] | None:
    """Return the ids of the models in `data`, where most dialects list them."""
    models = answer.get('data')
    if not isinstance(models, list):
        return None
    return [str(model['id']) for model in map(as_mapping, models) if model.get('id')]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A provider API dialect."""

    path: Callable[[str], str]
    """Returns where a model is called; appended to the endpoint's URL."""
    headers: Callable[[Endpoint], dict[str, str]]
    """Returns the headers of every request, including the key."""
    build_body: Callable[[str, ModelRequest, Endpoint, str], dict[str, Any]]
    """Returns the request as JSON values, for a model and a reasoning effort that it accepts, or ''."""
    effort_problem: Callable[[str, str, Endpoint], str]
    """Returns why a model does not accept a reasoning effort, or ''."""
    decoder: Callable[[Endpoint], Decoder]
    """Returns a decoder for the answer."""
    models_path: str = '/models'
    """Where the models are listed; appended to the endpoint's URL."""
    listed_models: Callable[[Mapping[str, Any]], list[str] | None] = _list_data
    """Returns the names in a list of models; None if the answer is not one."""

    def body(self, model: str, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """Return the request as JSON values, with its effort or, if the model accepts it, the endpoint's own.

        Raises:
            ModelError: the model does not accept the requested effort.
        """
        effort = request.effort or endpoint.effort
        if effort and (problem := self.effort_problem(model, effort, endpoint)):
            if request.effort:
                raise ModelError(f'reasoning effort: {problem}', kind='bad request')
            effort = ''
        return self.build_body(model, request, endpoint, effort)


def _parse(data: str) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        try:
            return json.loads(data)  # Accepts what the fast parser does not: lone surrogates, NaN.
        except (ValueError, RecursionError):
            raise unreadable_error(data) from None


def parse_object(data: str) -> dict[str, Any]:
    """Parse an event's JSON object. Raises `ModelError`."""
    value = _parse(data)
    if isinstance(value, list) and len(value) == 1 and as_mapping(value[0]).get('error'):
        value = value[0]  # As Google wraps errors.
    if not isinstance(value, dict) or _is_too_deep(value, data):
        raise unreadable_error(data)
    return value


def parse_objects(data: str) -> list[dict[str, Any]]:
    """Parse one JSON object, or a list of them. Raises `ModelError`."""
    value = _parse(data)
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in values) or _is_too_deep(values, data):
        raise unreadable_error(data)
    return values


MAX_LEVELS = 100
"""Maximum depth of nesting; deeper values cannot be journaled."""


def _is_too_deep(value: Any, data: str) -> bool:
    if data.count('[') + data.count('{') <= MAX_LEVELS:
        return False
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [
            part
            for item in level
            for part in (item.values() if isinstance(item, dict) else item)
            if isinstance(part, dict | list)
        ]
        if not level:
            return False
    return True


def unreadable_error(data: str) -> ModelError:
    """Return the error for data that does not follow the dialect."""
    excerpt = clip(data, MAX_EXCERPT)
    return ModelError(f'it sent data that cannot be read: {excerpt!r}', kind='bad response', retryable=True)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty mapping; some providers send null."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_word(value: Any) -> str:
    """Return a name, an id or a reason as text; '' if it is neither text nor an integer."""
    if isinstance(value, str):
        return value.encode('utf-8', 'replace').decode()  # Without lone surrogates.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ''


def as_text(value: Any) -> str:
    """Return text; arguments or a structured answer that a server sends as a value are returned as JSON."""
    if isinstance(value, str):
        return value
    return '' if value is None else json.dumps(value, ensure_ascii=False)


def item_index(value: Any) -> int | str | None:
    """Return the index of an item or a content block as a dictionary key."""
    return value if value is None or isinstance(value, int | str) else repr(value)


MAX_TOOL_CALLS = 1_000
"""Maximum number of tool calls in one answer."""


def refuse_many(calls: int) -> None:
    """Raise `ModelError` if an answer with this many calls may not have another."""
    if calls >= MAX_TOOL_CALLS:
        raise ModelError(f'it called more than {MAX_TOOL_CALLS:,} tools in one answer', kind='bad response')


MAX_TOKENS = 10**9
"""Maximum plausible token count; much larger ones would not even fit in the database."""


def token_count(value: Any) -> int:
    """Parse a token count; some providers send null, floats, strings or nonsense."""
    number = amount(value)
    return int(number) if number is not None and number <= MAX_TOKENS else 0


def count_input(read: Any, cached: int) -> int:
    """Return the input tokens, including those from the cache.

    If more tokens are cached than read in all, a proxy counts them separately; without adding them, the cost
    of the rest would be negative.
    """
    count = token_count(read)
    return count + cached if cached > count else count


def amount(value: Any) -> float | None:
    """Parse a non-negative number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def join_surrogates(text: str) -> tuple[str, str]:
    """Join surrogate pairs; returns the text and a trailing lone surrogate that awaits its other half."""
    if not SURROGATES.search(text):
        return text, ''
    held = ''
    if '\ud800' <= text[-1] <= '\udbff':
        text, held = text[:-1], text[-1]
    return text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace'), held


SURROGATES = re.compile('[\ud800-\udfff]')


MAX_EXCERPT = 300
"""Maximum characters shown of an unreadable answer."""
