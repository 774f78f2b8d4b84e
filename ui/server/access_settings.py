"""Access settings: whether login is required, the server's host names, and the identity provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ui.app.access.oidc import ProviderSettings

LOCAL_NAMES = ('localhost', '127.0.0.1', '::1', '[::1]')
"""The host names used by browsers on this machine. Any other may belong to a site that points here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """How people reach a server and log in."""

    required: bool = False
    """Whether people have to log in even if no account exists."""
    names: Sequence[str] = LOCAL_NAMES
    """The host names it accepts (`Host`)."""
    url: str = ''
    """The URL at which people reach it through a proxy, or ''."""
    root_path: str = ''
    """The path below which a proxy serves it, such as `/hemicycle`, or ''."""
    provider: ProviderSettings | None = None
    """The identity provider, if one is configured."""


OPEN_TO_THIS_MACHINE = AccessSettings()
"""Anyone on this machine may use the server, until there is an account."""
