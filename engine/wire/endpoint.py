"""Endpoints: where models are reached, in which dialect, and what is peculiar about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

Structure = Literal['schema', 'schema alone', 'tool', 'text']
"""How a structured answer is asked for: by the provider's strict schema (`alone`: not beside tools), as the
arguments of a tool, or in plain words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One provider's address and ways. Its keys are never shown: not by `repr`, not in an error."""

    name: str
    url: str
    """All before `/chat/completions` or `/messages`."""
    dialect: Literal['openai', 'anthropic'] = 'openai'
    key: str = field(default='', repr=False)
    key_header: str = ''
    """Where the key goes if not where the dialect has it."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Whatever else of it is secret."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """What is added to each request, over what we write ourselves."""
    structure: Structure = 'schema'
    strict_tools: bool = False
    """Whether it takes strict schemas for tools, and so makes no call that does not fit."""
    at_once: int = 8
    """How many calls may be under way."""
    most_tokens: int | None = None
    """The longest reply where the request does not say."""
    limit_field: str = 'max_tokens'
    usage_option: bool = True
    """Whether usage has to be asked for, and may be (`stream_options`)."""
    short_ids: bool = False
    """Whether call ids must be nine letters and digits."""
    models: tuple[str, ...] = ()
    """Those to offer; where empty, the provider's own list."""

    def hide(self, text: str) -> str:
        """`text` without the endpoint's secrets: some providers repeat the key they refuse.

        Nor with the beginning of a key: where a long text was cut, there may be no more of it.
        """
        words = [value.rpartition(' ')[2] for value in self.headers.values()]  # `Bearer` is no secret
        for secret in (self.key, *self.secrets):
            if len(secret) >= SHORTEST_SECRET:
                text = _without(text, secret)
        for value in (*self.headers.values(), *words):
            if len(value) >= SHORTEST_SECRET:
                text = text.replace(value, '[hidden]')
        return text


def _without(text: str, secret: str) -> str:
    head, *rest = text.split(secret[:TELLING])
    for part in rest:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(part, secret[TELLING:], strict=False))
        head += f'[hidden]{part[len(list(same)) :]}'
    return head


SHORTEST_SECRET, TELLING = 6, 8
"""Characters: a secret that is shorter occurs in texts by itself; so do fewer of its first ones."""
