"""Who may come in: whether people log in, by what names the server is called, and the provider."""

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
    """The names by which it may be called (`Host`)."""
    url: str = ''
    """How people reach it through a proxy, or ''."""
    provider: ProviderSettings | None = None
    """The identity provider, if one is configured."""
