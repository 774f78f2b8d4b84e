"""Access settings: whether people log in, the host names of the server, and the identity provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ui.access.oidc import ProviderSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """How a server is reached."""

    required: bool
    """Whether people have to log in even if there is no account."""
    names: Sequence[str]
    """The host names it accepts (`Host`)."""
    url: str = ''
    """The address at which people reach it through a proxy, or ''."""
    provider: ProviderSettings | None = None
    """The identity provider, if one is configured."""
