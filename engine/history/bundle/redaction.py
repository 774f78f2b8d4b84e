"""Removes secrets from exports: those configured here, and anything that looks like a key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from engine.configuration.catalog import Catalog
from engine.records.jsonable import map_texts

HIDDEN = '[hidden]'
SECRET_NAME = re.compile(r'(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$')
"""Suffixes of environment variables that hold secrets."""
MIN_SECRET = 12
"""Minimum characters of a secret environment variable's value: shorter ones may be ordinary words."""
KEY_PATTERN = re.compile(
    r'\bsk-[A-Za-z0-9_-]{20,}'
    r'|\bgh[oprsu]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}|\bglpat-[\w-]{20,}'
    r'|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}'
    r'|\b(?:secret|ntn)_[A-Za-z0-9]{40,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}'
    r'|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----',
    re.DOTALL,
)
"""Keys in well-known services' formats that nothing else resembles."""


class Redaction:
    """Removes secrets from strings, and counts those in which it found any.

    Args:
        hides: functions that each remove some secrets from a string.
    """

    def __init__(self, hides: Iterable[Callable[[str], str]] = ()) -> None:
        self._hides = tuple(hides)
        self.found = 0
        self.renamed: dict[str, str] = {}
        """The new digests of redacted contents, by their original digest."""

    @classmethod
    def for_catalog(cls, catalog: Catalog, environment: Mapping[str, str] | None = None) -> Redaction:
        """Create it for the secrets this process knows: of its endpoints, MCP servers and environment."""
        variables = os.environ if environment is None else environment
        secrets = [
            value
            for name, value in variables.items()
            if SECRET_NAME.search(name.upper())
            and len(value) >= MIN_SECRET
            and not re.search(r'[\s/]', value)
        ]
        servers = catalog.configuration.servers.values()
        endpoints = catalog.configuration.endpoints.values()
        return cls(
            [
                *(source.hide for source in endpoints),
                *(source.hide for source in servers),
                *map(_make_remover, secrets),
            ]
        )

    def redact_text(self, text: str) -> str:
        """Remove the secrets from a string, and count it if there were any."""
        hidden = self.hide(text)
        if hidden != text:
            self.found += 1
        return self._rename_objects(hidden)

    def redact_value(self, value: Any) -> Any:
        """Remove the secrets from a JSON value, including its keys."""
        return map_texts(value, self.redact_text)

    def redact_content(self, data: bytes) -> bytes:
        """Remove the secrets from a file's content without counting; all other bytes are unchanged."""
        text = data.decode('utf-8', 'surrogateescape')
        hidden = self._rename_objects(self.hide(text))
        return data if hidden == text else hidden.encode('utf-8', 'surrogateescape')

    def hide(self, text: str) -> str:
        """Remove the secrets from a string without counting."""
        if len(text) < MIN_SECRET // 2:
            return text
        for hide in self._hides:
            text = hide(text)
        return KEY_PATTERN.sub(HIDDEN, text)

    def _rename_objects(self, text: str) -> str:
        for digest, other in self.renamed.items():
            text = text.replace(digest, other)
        return text


def _make_remover(secret: str) -> Callable[[str], str]:
    return lambda text: text.replace(secret, HIDDEN)
