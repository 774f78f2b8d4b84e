"""Opens the services around runs for a command, and finds one of their records by its name or id."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

from engine import Conductor, InvalidInput, LocalConductor
from engine.errors import JournalUnavailable
from ui.app.services.operations import ServiceOperations
from ui.app.services.services import Services
from ui.cli.conductors import open_conductor
from ui.cli.remote import server_at_work
from ui.cli.session import Session


class Named(Protocol):
    """A record with an id and a name."""

    @property
    def id(self) -> str:
        """Unique among the records of its kind."""

    @property
    def name(self) -> str:
        """Chosen by a person; several records may share it."""


ADDRESS = 'HEMICYCLE_URL', 'HEMICYCLE_ROOT_PATH'
"""The variables that make up the public address of the server, for links in notifications."""
N = TypeVar('N', bound=Named)
T = TypeVar('T')


@asynccontextmanager
async def open_services(session: Session, *, starts_runs: bool = False) -> AsyncIterator[ServiceOperations]:
    """Open the services of the server that is named or serves the database, or those in the database.

    Notifications to send are sent before this ends.

    Args:
        session: names the database.
        starts_runs: whether runs are started, which a server has to continue.

    Raises:
        JournalUnavailable: no server serves the database, and runs are started.
    """
    if starts_runs and not server_at_work(session):
        raise JournalUnavailable('no server serves this database: start `hemicycle serve`, then try again')
    async with open_conductor(session) as conductor:
        services = services_of(conductor)
        try:
            yield services
        finally:
            if isinstance(services, Services):
                await services.notifications.try_all()
                await services.close()


def with_services(
    session: Session, work: Callable[[ServiceOperations], Awaitable[T]], *, starts_runs: bool = False
) -> T:
    """Return the result of work with the services, which are open meanwhile; see `open_services`."""

    async def run() -> T:
        async with open_services(session, starts_runs=starts_runs) as services:
            return await work(services)

    return asyncio.run(run())


def services_of(conductor: Conductor) -> ServiceOperations:
    """Return the services around a conductor, of this process or of a server."""
    if isinstance(conductor, LocalConductor):
        url = ''.join(os.environ.get(name, '').strip().rstrip('/') for name in ADDRESS)
        return Services(conductor, url=url)
    from ui.api.client import HttpConductor

    assert isinstance(conductor, HttpConductor)
    return conductor.server_services


def find_named(items: Sequence[N], name: str, what: str) -> N:
    """Return the record of this name or id. Raises `InvalidInput`; `what` is its kind, such as `schedule`."""
    matches = [item for item in items if name in (item.id, item.name)]
    if len(matches) == 1:
        return matches[0]
    names = ', '.join(item.name for item in items) or 'none'
    problem = (
        f'{len(matches)} {what}s are called {name!r}: give the id: {", ".join(item.id for item in matches)}'
        if matches
        else f'there is no {what} {name!r}; available: {names}'
    )
    raise InvalidInput({what.upper(): problem})
