"""TokenFile: tokens and registration from signing in to an MCP server; only its owner can read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.host.private_file import change_private, read_private
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
            self._values = read_private(self._path)
        return self._values

    def write(self, **values: Any) -> None:
        """Replace these values; None removes one."""
        self._values = change_private(self._path, values)

    @property
    def secret_filter(self) -> SecretFilter:
        """A filter that removes the tokens from text."""
        parts = [part for part in self.read().values() if isinstance(part, dict)]
        return secret_filter(
            tuple(str(part[name]) for part in parts for name in SECRET if part.get(name)), ()
        )
