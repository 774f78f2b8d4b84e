"""Endpoints: a provider's address, dialect and quirks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from engine.models.secret_filter import SecretFilter, secret_filter

StructureMode = Literal['schema', 'schema alone', 'tool', 'text', 'by model']
"""How to ask for a structured answer: with the provider's strict schema (`alone`: not together with tools),
as the arguments of a tool, or in plain text. `by model`, for Anthropic: with a schema if supported, otherwise
with a tool."""
ReasoningMode = Literal['effort', 'object', 'google', 'off']
"""How the OpenAI dialects ask for reasoning: with `reasoning_effort`, with OpenRouter's `reasoning` object,
with Google's `thinking_config` for numbers of tokens, or not at all."""
DialectName = Literal['openai', 'responses', 'anthropic', 'gemini']
ImageMode = Literal['by model', 'always', 'never']
"""Whether to send images to models; `by model`: if the name is that of a vision model."""
CacheMode = Literal['off', '5m', '1h']
"""Anthropic's prompt caching: for five minutes, or for an hour at a higher price of writing."""
Bounds = Literal['none', 'numbers', 'all']
"""Schema bounds that an endpoint enforces: on numbers and list lengths, or on strings too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider's address and quirks. Its keys are never shown, neither by `repr` nor in errors."""

    name: str
    url: str
    """Everything before `/chat/completions`, `/responses`, `/messages` or `/models`."""
    dialect: DialectName = 'openai'
    key: str = field(default='', repr=False)
    key_header: str = ''
    """Header for the key, if not the dialect's usual one."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Its other secrets, such as those in the query and the headers."""
    ca: str = ''
    """A file of certificates to trust in place of the system's."""
    certificate: str = ''
    """The client certificate's file; it may hold the private key as well."""
    certificate_key: str = ''
    """The private key's file, if it is a separate one."""
    certificate_password: str = field(default='', repr=False)
    """The password that encrypts the private key."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Fields added to every request; they override our own."""
    structure: StructureMode = 'schema'
    bounds: Bounds = 'none'
    strict_tools: bool = False
    """Whether it accepts strict tool schemas, so that calls always match them."""
    reasoning: ReasoningMode = 'effort'
    effort: str = ''
    """Reasoning effort of its models if the run sets none; ignored for models that do not accept it."""
    images: ImageMode = 'by model'
    store: bool = False
    """For Responses: whether the provider stores responses, so that requests continue them by id."""
    cache: CacheMode = 'off'
    """How long the provider caches a prompt's repeated prefix, if it must be asked to."""
    at_once: int = 8
    """Maximum calls in flight; like the limits per minute, over all processes that share a database."""
    requests_per_minute: int | None = None
    """Maximum number of calls started within any minute, over all runs."""
    tokens_per_minute: int | None = None
    """Maximum number of tokens of those calls, input and output."""
    attempts: int | None = None
    """Maximum number of attempts per call; None means the agent's own setting."""
    patience: float | None = None
    """Maximum wait it may ask for, in seconds; None means the agent's own setting."""
    first_seconds: float | None = None
    """Timeout for the first event, in seconds; None means 300."""
    idle_seconds: float | None = None
    """Timeout between two events, in seconds; None means 120."""
    total_seconds: float | None = None
    """Timeout for the whole call, in seconds; None means 3600."""
    down_seconds: float = 60.0
    """How long to skip it after a connection failure, in seconds, if there is another model."""
    most_tokens: int | None = None
    """Reply limit, in tokens, if the request sets none."""
    limit_field: str = 'max_tokens'
    usage_option: bool = True
    """Whether to request usage with `stream_options`."""
    short_ids: bool = False
    """Whether call ids must be nine letters and digits."""
    models: tuple[str, ...] = ()
    """Models to offer; if empty, the provider's own list."""
    small_models: tuple[str, ...] = ()
    """Cheap and quick models to test it with, by the beginnings of their names, the preferred first."""

    @property
    def secret_filter(self) -> SecretFilter:
        """Removes its secrets from text: some servers echo requests."""
        match = URL_LOGIN.match(self.url)
        login = (unquote(match[1]), unquote(match[2])) if match else ()
        words = (value.rpartition(' ')[2] for value in self.headers.values())  # `Bearer` is not a secret.
        keys = (self.key, self.certificate_password, *self.secrets, *login)
        return secret_filter(keys, (*self.headers.values(), *words))

    def hide(self, text: str) -> str:
        """`text` without the endpoint's secrets."""
        return self.secret_filter.redact_text(text)


URL_LOGIN = re.compile(r'\w+://([^/@:]*:([^/@]*))@')
