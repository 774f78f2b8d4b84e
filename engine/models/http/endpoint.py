"""Endpoints: a provider's address, dialect and quirks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from engine.models.secret_filter import SecretFilter, secret_filter

StructureMode = Literal['schema', 'schema alone', 'tool', 'text', 'by model']
"""How to ask for a structured answer: by the provider's strict schema (`alone`: not together with tools), as
the arguments of a tool, or in plain words; `by model`, for Anthropic: by schema if supported, else
by a tool."""
ReasoningMode = Literal['effort', 'object', 'google', 'off']
"""How the OpenAI dialects ask for reasoning: by a `reasoning_effort`, by OpenRouter's `reasoning` object, by
Google's `thinking_config` for numbers of tokens, or not at all."""
DialectName = Literal['openai', 'responses', 'anthropic', 'gemini']
ImageMode = Literal['by model', 'always', 'never']
"""Whether models are sent images; `by model`: if the name is that of a model that sees."""
CacheMode = Literal['off', '5m', '1h']
"""Prompt caching as Anthropic offers it: five minutes, or an hour for a higher price of writing."""
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
    """Its other secrets."""
    ca: str = ''
    """A file of certificates to trust in place of the system's."""
    certificate: str = ''
    """The client certificate's file; it may hold the private key as well."""
    certificate_key: str = ''
    """The private key's file, if it is another."""
    certificate_password: str = field(default='', repr=False)
    """What the private key is encrypted with."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Added to every request; overrides what we write ourselves."""
    structure: StructureMode = 'schema'
    bounds: Bounds = 'none'
    strict_tools: bool = False
    """Whether it accepts strict tool schemas, so that calls always match them."""
    reasoning: ReasoningMode = 'effort'
    effort: str = ''
    """Reasoning effort of its models if the run asks for none; ignored for models that do not take it."""
    images: ImageMode = 'by model'
    store: bool = False
    """For Responses: whether the provider keeps responses, and requests continue them by their id."""
    cache: CacheMode = 'off'
    """How long the provider keeps a prompt's repeated beginning, where it has to be asked for that."""
    at_once: int = 8
    """Maximum number of calls in flight; like the limits per minute, in all that share a database."""
    requests_per_minute: int | None = None
    """Maximum number of calls started within any minute, over all runs."""
    tokens_per_minute: int | None = None
    """Maximum number of tokens of those calls, input and output."""
    attempts: int | None = None
    """Maximum number of attempts per call; None means the agent's own setting."""
    patience: float | None = None
    """The longest wait it may ask for, in seconds; None means the agent's own setting."""
    first_seconds: float | None = None
    """Timeout for the first event, in seconds; None means 300."""
    idle_seconds: float | None = None
    """Timeout between two events, in seconds; None means 120."""
    total_seconds: float | None = None
    """Timeout for the whole call, in seconds; None means 3600."""
    down_seconds: float = 60.0
    """How long it is skipped after a connection failure, in seconds, if there is another model."""
    most_tokens: int | None = None
    """Reply limit, in tokens, if the request sets none."""
    limit_field: str = 'max_tokens'
    usage_option: bool = True
    """Whether usage must be requested with `stream_options`, and may be."""
    short_ids: bool = False
    """Whether call ids must be nine letters and digits."""
    models: tuple[str, ...] = ()
    """Models to offer; if empty, the provider's own list."""

    @property
    def secret_filter(self) -> SecretFilter:
        """Removes its secrets from texts: some servers echo what they were sent."""
        found = URL_LOGIN.match(self.url)
        login = (unquote(found[1]), unquote(found[2])) if found else ()
        words = (value.rpartition(' ')[2] for value in self.headers.values())  # `Bearer` is not a secret.
        keys = (self.key, self.certificate_password, *self.secrets, *login)
        return secret_filter(keys, (*self.headers.values(), *words))

    def hide(self, text: str) -> str:
        """`text` without the endpoint's secrets."""
        return self.secret_filter.text(text)


URL_LOGIN = re.compile(r'\w+://([^/@:]*:([^/@]*))@')
