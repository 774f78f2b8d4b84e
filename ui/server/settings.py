"""Settings of a server: who may use it and where, and what it shares with the processes beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from engine import LocalConductor
from ui.app.access.oidc import ProviderSettings
from ui.app.fleet import FleetView
from ui.app.settings import Locks, ServerPaths
from ui.server.metrics import Metrics

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server serves; the defaults are those of one that is alone on this machine."""

    places: ServerPaths | None = None
    """The paths of this process's data."""
    locks: Locks | None = None
    """The locks of processes that use the database; this server adopts the runs of killed ones."""
    origins: Collection[str] = ()
    """Other sites whose pages may use the API and the MCP server."""
    metrics: Metrics = field(default_factory=Metrics)
    """The metrics updated by the conductor's journal."""
    grace: float = 0.0
    """Seconds for live model calls to finish when the server shuts down."""
    fleet: Callable[[LocalConductor], FleetView] | None = None
    """Creates the view of the fleet whose workers drive the runs; by default, this process does."""
    dev: bool = False
    """Whether it also serves the page of the house style, for who changes the pages."""
    access: AccessSettings = OPEN_TO_THIS_MACHINE
    """Who may use the server; login is required if they say so or an account exists."""
