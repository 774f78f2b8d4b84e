"""Takes secrets out of what is exported: those that are configured here, and what looks like a key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from engine.catalog import Catalog

HIDDEN = '[hidden]'
NAMED = re.compile(r'(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$')
"""How environment variables end that hold something secret."""
SHORTEST = 12
"""Characters of an environment variable that is secret: shorter ones may be words."""
KEYS = re.compile(
    r'\bsk-[A-Za-z0-9_-]{20,}'
    r'|\bgh[oprsu]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}|\bglpat-[\w-]{20,}'
    r'|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}'
    r'|\b(?:secret|ntn)_[A-Za-z0-9]{40,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}'
    r'|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----',
    re.DOTALL,
)
"""Keys as the well-known services make them: nothing else looks so."""


class Redaction:
    """Takes secrets out of texts, and counts the texts in which it found any.

    Args:
        hides: each takes some secrets out of a text.
    """

    def __init__(self, hides: Iterable[Callable[[str], str]] = ()) -> None:
        self._hides = tuple(hides)
        self.found = 0
        self.renamed: dict[str, str] = {}
        """The digests of contents that were changed, and those that they have without their secrets."""

    @classmethod
    def of(cls, catalog: Catalog, environment: Mapping[str, str] | None = None) -> Redaction:
        """What this process knows of: its endpoints, its MCP servers, its environment."""
        known = os.environ if environment is None else environment
        secrets = [
            value
            for name, value in known.items()
            if NAMED.search(name.upper()) and len(value) >= SHORTEST and not re.search(r'[\s/]', value)
        ]
        servers = catalog.configured.servers.values()
        endpoints = catalog.configured.endpoints.values()
        return cls(
            [*(one.hide for one in endpoints), *(one.hide for one in servers), *map(_without, secrets)]
        )

    def text(self, text: str) -> str:
        """A text without secrets."""
        hidden = self.hide(text)
        if hidden != text:
            self.found += 1
        return self._named_anew(hidden)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, names included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def content(self, data: bytes) -> bytes:
        """A file without secrets, not counted; bytes that are no text stay as they are."""
        text = data.decode('utf-8', 'surrogateescape')
        hidden = self._named_anew(self.hide(text))
        return data if hidden == text else hidden.encode('utf-8', 'surrogateescape')

    def hide(self, text: str) -> str:
        """A text without secrets, not counted."""
        if len(text) < SHORTEST // 2:
            return text
        for hide in self._hides:
            text = hide(text)
        return KEYS.sub(HIDDEN, text)

    def _named_anew(self, text: str) -> str:
        for digest, other in self.renamed.items():
            text = text.replace(digest, other)
        return text


def _without(secret: str) -> Callable[[str], str]:
    return lambda text: text.replace(secret, HIDDEN)
