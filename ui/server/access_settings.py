"""Access settings: whether login is required, the server's host names, and the identity provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ui.access.oidc import ProviderSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Settings for access to a server."""

    required: bool
    """Whether people have to log in even if no account exists."""
    names: Sequence[str]
    """The host names it accepts (`Host`)."""
    url: str = ''
    """The URL at which people reach it through a proxy, or ''."""
    provider: ProviderSettings | None = None
    """The identity provider, if one is configured."""
