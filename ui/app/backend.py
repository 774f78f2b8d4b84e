"""Backend: gives pages access to the conductor, each caller through their own guard."""

from __future__ import annotations

import asyncio

from engine import Conductor, LocalConductor
from engine.agents import ToolPlayground
from engine.errors import NotAllowed, SignedOut
from engine.operations import Role
from ui.app.access.access import Access
from ui.app.access.caller import ANYONE, IDENTITY, Caller, Identity
from ui.app.access.operations import AccountOperations, guard_accounts
from ui.app.fleet import FleetView
from ui.app.presence import Presence
from ui.app.services.guard import guard_services
from ui.app.services.operations import ServiceOperations
from ui.app.services.services import Services
from ui.app.services.tools import PERSON
from ui.app.settings import ServerPaths


class Backend:
    """Gives pages access to the conductor, which opens after the pages are registered."""

    def __init__(self, places: ServerPaths | None = None) -> None:
        """`places` are the paths of this process's data; None if everything is in memory."""
        self.places = places
        self.access: Access | None = None
        """Access control; None if there is no login."""
        self._conductor: LocalConductor | None = None
        self.fleet: FleetView | None = None
        self._services: Services | None = None
        self.presence = Presence()

    def open(
        self,
        conductor: LocalConductor,
        access: Access | None = None,
        fleet: FleetView | None = None,
        services: Services | None = None,
    ) -> None:
        """Give pages access to the conductor, and to the `fleet` if workers drive the runs.

        The caller has to start the services.
        """
        self._conductor, self.access, self.fleet, self._services = conductor, access, fleet, services

    @property
    def is_open(self) -> bool:
        """Whether pages have access."""
        return self._conductor is not None

    async def close(self, grace: asyncio.Future[None] | None = None) -> None:
        """Release the runs and close the journal, if the conductor was ever opened; see `Conductor.close`."""
        if self._services is not None:
            await self._services.close()
        if self.access:
            await self.access.audit.close()
        if self._conductor is not None:
            await self._conductor.close(grace)

    @property
    def root(self) -> LocalConductor:
        """The unguarded conductor, for the server's own work. Raises `RuntimeError` before the start."""
        if self._conductor is None:
            raise RuntimeError('the server has not started yet')
        return self._conductor

    @property
    def caller(self) -> Caller:
        """The current caller, as last seen. Raises `SignedOut` if nobody is logged in."""
        return ANYONE if self.access is None else _current_identity().last_caller

    def __call__(self) -> Conductor:
        """Return the conductor for the current caller.

        Raises:
            RuntimeError: the server has not started yet.
            SignedOut: login is required, and nobody is logged in.
        """
        if self.access is None:
            return self.root
        return self.access.guard(self.root, _current_identity())

    @property
    def root_services(self) -> Services:
        """Inbox, notifications and schedules, for the server itself. Raises the same errors as `root`."""
        if self._services is None:
            self._services = Services(self.root)
        return self._services

    @property
    def services(self) -> ServiceOperations:
        """The same for the current caller. Raises the same errors as calling the backend."""
        if self.access is None:
            return self.root_services
        return guard_services(self.root_services, _current_identity(), self.access.audit.write)

    @property
    def accounts(self) -> AccountOperations:
        """The accounts, for the current caller. Raises the same errors as calling the backend.

        Without a login there are none: `NotAllowed`.
        """
        if self.access is None:
            raise NotAllowed('this server has no accounts: create the first one with `hemicycle user add`')
        return guard_accounts(self.access, _current_identity())

    def playground(self, person: str) -> ToolPlayground:
        """Return a person's folder for trying tools, kept while the server runs. Raises `NotAllowed`."""
        self.caller.require(Role.OPERATOR, 'tools.call')
        key = f'{PERSON}{self.caller.name}' if self.access else person
        return self.root_services.tools.playground(key)


def _current_identity() -> Identity:
    identity = IDENTITY.get()
    if identity is None:
        raise SignedOut('nobody is logged in here')
    return identity
