"""TokenFile: tokens and registration from signing in to an MCP server; only its owner can read it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from engine.models.secret_filter import SecretFilter, secret_filter

SECRET = ('access_token', 'refresh_token', 'client_secret')


class TokenFile:
    """Tokens, the registered client and the authorization server's addresses, as JSON values by name.

    Args:
        path: the file; created, with its folder, by the first `write`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Any] | None = None

    def read(self) -> dict[str, Any]:
        """Return all values; empty if nobody has signed in, or the file cannot be read."""
        if self._values is None:
            try:
                content = json.loads(self._path.read_text('utf-8'))
            except (OSError, ValueError):
                content = {}
            self._values = content if isinstance(content, dict) else {}
        return self._values

    def write(self, **values: Any) -> None:
        """Replace these values; None removes one."""
        merged = {**self.read(), **values}
        self._values = {name: value for name, value in merged.items() if value is not None}
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._path.with_suffix('.new')
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w') as file:
            json.dump(self._values, file)
        fresh.replace(self._path)

    @property
    def secret_filter(self) -> SecretFilter:
        """A filter that removes the tokens from text."""
        parts = [part for part in self.read().values() if isinstance(part, dict)]
        return secret_filter(
            tuple(str(part[name]) for part in parts for name in SECRET if part.get(name)), ()
        )
